"""Rebuild the model of a checkpoint, and evaluate it or export it as one `.keras` file.

It is rebuilt in one piece, on one device that trained it; only layers that were placed on several
devices are placed there again, for no device need hold all of them. A checkpoint uses the
same names and shapes for the weights under every strategy, also for split layers, so the plain
Keras model takes them as they are. A plan without a test split is evaluated on the validation
split.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio import plan as plans
from gpu_studio.common.figures import grouped
from gpu_studio.common.safe_files import open_regular, opened
from gpu_studio.contract import STATE_FILE, WEIGHTS_FILE, Warned, read_json
from gpu_studio.plan import CPU, DeviceLike, default_devices
from gpu_studio.trainer.environment import limit_memory, settle
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures import explain

Progress = Callable[[str], None]
Answer = tuple[dict[str, Any], bool]
HOST = plans.DeviceSettings(visible=("CPU:0",))
POLITE = 10
"""So much lower is the priority beside a run that trains."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The plan, its data, and the Keras model with the checkpoint's weights.

    The model is on the only one of `devices`; if they are several, on the host, to be placed on
    them. `known` are all logical devices.
    """

    plan: plans.Plan
    dataset: Any
    model: Any
    devices: tuple[str, ...]
    known: tuple[str, ...]


def rebuilt(about: Mapping[str, Any], progress: Progress) -> Rebuilt:
    """Rebuild what `about` describes.

    `about` has the `plan` (its files absolute), the path of the `checkpoint`, the `precision`, and
    whether to build on the `host`. Otherwise the model is built on what the plan trains it on: no
    other card is touched, and without a carve memory is taken as needed. With `polite`, this
    process gives way to others. Raises TrainerError, and what Keras raises.
    """
    if about["polite"]:
        os.nice(POLITE)
    plan = plans.loads(about["plan"])
    if about["host"]:
        plan = replace(plan, devices=HOST, distribution=plans.Distribution())
    settle(plan)
    progress("importing TensorFlow")
    import keras
    import tensorflow as tf

    from gpu_studio.trainer import devices
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.models import build_model
    from gpu_studio.trainer.user_code.earlier_fits import trained_in

    tf.get_logger().setLevel("ERROR")
    logical = devices.set_up(replace(plan, devices=_as_needed(plan.devices)))
    keras.mixed_precision.set_global_policy(about["precision"])
    chosen = _chosen(plan, logical)
    made_on = partial(tf.device, CPU if len(chosen) > 1 else chosen[0])
    with devices.on_host(), trained_in(made_on, lambda said: progress(said.rstrip("."))):
        progress("reading the data")
        dataset = load_data(plan.data, plan.training.seed, Path())
        progress("building the model")
        with made_on():
            # The checkpoint has all weights: those that it began with need not be there still.
            began_anew = replace(plan.model, weights=None)
            model = build_model(began_anew, dataset, Path(), plan.training.seed)
        load_weights(model, Path(about["checkpoint"]))
    return Rebuilt(plan, dataset, model, chosen, tuple(device.name for device in logical))


def _as_needed(settings: plans.DeviceSettings) -> plans.DeviceSettings:
    """Return the settings carved as far as the cards are here; without a carve memory grows."""
    from gpu_studio.trainer import devices

    there = devices.physical(settings)
    carve = tuple(each for each in settings.carve if each.device in there)
    return replace(settings, carve=carve, memory_growth=not carve, log_placement=False)


def _chosen(plan: plans.Plan, logical: Sequence[DeviceLike]) -> tuple[str, ...]:
    """Return the devices to rebuild the model on: several only where layers are placed.

    Where a device that trained it is not here, it is the first one.
    """
    names = [device.name for device in logical]
    strategy, chosen = plans.strategy_of(plan), plan.distribution
    used = strategy.replica_devices(chosen, chosen.devices or default_devices(logical))
    if not set(used) <= set(names):
        return (names[0],)
    return used if strategy.places_layers else used[:1]


def load_weights(model: Any, checkpoint: Path) -> None:
    """Give the model the weights in the folder `checkpoint`. Nothing is unpickled.

    Raises TrainerError.
    """
    weights = {f"model/{i}/{variable.path}": variable for i, variable in enumerate(model.weights)}
    for name, value in _read(checkpoint, list(weights)).items():
        if tuple(value.shape) != tuple(weights[name].shape):
            raise _another_model(checkpoint, name, weights[name])
        weights[name].assign(value)


def in_words(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what `answer` returns; if it raises, the `problem` as a sentence and the `advice`."""
    try:
        return answer()
    # Whatever TensorFlow raises, who asked must learn of it in words.
    except Exception as error:  # noqa: BLE001
        reported = explain(error)
        return {"problem": reported.message, "advice": list(reported.suggestions)}


def _read(checkpoint: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Read these arrays only: the optimizer's are larger."""
    try:
        with (
            opened(checkpoint / WEIGHTS_FILE) as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise _lacking(checkpoint, missing[0])
            return {name: archive[name] for name in names}
    except FileNotFoundError as error:
        raise TrainerError(
            f"The checkpoint {checkpoint.name} is no longer there: a run keeps its newest "
            "checkpoints and the best.",
            ["Choose another checkpoint.", "Keep more of them: training.checkpoint.keep."],
        ) from error
    except TrainerError:
        raise
    except Exception as error:  # zipfile, zlib, numpy and the disk each have their own
        raise TrainerError(
            f"The checkpoint {checkpoint.name} cannot be read: {error}.",
            ["Choose another checkpoint of the run."],
        ) from error


def _lacking(checkpoint: Path, name: str) -> TrainerError:
    return TrainerError(
        f"The checkpoint {checkpoint.name} is of another model: it has no {name}.",
        ["If the plan names a .keras file, put back the one that the run was started with."],
    )


def _another_model(checkpoint: Path, name: str, variable: Any) -> TrainerError:
    return TrainerError(
        f"The checkpoint {checkpoint.name} is of another model: its {name} is not of shape "
        f"{tuple(variable.shape)}.",
        ["If the plan names a .keras file, put back the one that the run was started with."],
    )


REPORTS = 20
"""How often progress is reported, at most: an evaluation is cut into so many calls."""
_FEW = 20
"""Batches of a call where nobody knows how many there are."""


def evaluate(about: dict[str, Any], progress: Progress) -> Answer:
    """Evaluate the checkpoint in `about`; also say whether the answer lasts while its files do.

    `batch` samples are evaluated at a time. The answer holds `split`, `metrics`, `samples`,
    `seconds`, `device` and `warning` (of data other than the checkpoint's, else empty), or
    `problem` and `advice`.
    """
    if about["host"]:
        limit_memory()
    reported = in_words(lambda: _evaluated(about, rebuilt(about, progress), progress))
    return reported, "problem" not in reported


def _evaluated(about: dict[str, Any], built: Rebuilt, progress: Progress) -> dict[str, Any]:
    from gpu_studio.trainer import devices

    name, split = held_out_split(built.dataset)
    began = time.perf_counter()
    with devices.on_host():
        results, samples = _results(built, split, about["batch"], progress)
    return {
        "split": name,
        "metrics": {
            metric: value if np.isfinite(value) else None for metric, value in results.items()
        },
        "samples": samples,
        "seconds": time.perf_counter() - began,
        "device": ", ".join(built.devices),
        "warning": other_data(Path(about["checkpoint"]), built.dataset),
    }


def other_data(checkpoint: Path, dataset: Any) -> str:
    """Return a warning if these are not the data of the run that wrote the checkpoint.

    An old checkpoint does not record its data, or not those of its test.
    """
    from gpu_studio.trainer.data.fingerprints import TEST, fingerprints

    state, now = read_json(checkpoint / STATE_FILE, json.loads), fingerprints(dataset)
    changed = {name for name, digest in now.items() if state.get(name, digest) != digest}
    if not changed:
        return ""
    if changed == {TEST}:
        return (
            f"The test samples are not those of the run that wrote {checkpoint.name}: these "
            "figures do not compare with the run's."
        )
    return (
        f"The data are not those that {checkpoint.name} was trained with: these figures do not "
        "compare with the run's, and samples that test the model now may have been trained on."
    )


def held_out_split(dataset: Any) -> tuple[str, Any]:
    """Return the test split and its name, else the validation split. Raises TrainerError."""
    if dataset.test:
        return "test", dataset.test
    if dataset.validation:
        return "validation", dataset.validation
    raise TrainerError(
        f"There is nothing to evaluate on: {dataset.name} has no test "
        "split, and the plan holds none out.",
        ["Train with data.test_fraction or data.validation_fraction above 0."],
    )


def _results(
    built: Rebuilt, split: Any, batch: int, progress: Progress
) -> tuple[dict[str, float], int]:
    """Compute the sums that a run computes, by the same compiled function, without a strategy.

    Return them, and of how many samples they are.
    """
    import tensorflow as tf

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.curves import curves_of
    from gpu_studio.trainer.passes import SplitReading, refuse_unended

    most = built.plan.training.validation_steps if split is built.dataset.validation else 0
    refuse_unended(built.dataset.name, split, "training.validation_steps", most, 1)
    cut = Cut(len(split), batch, 1)
    program = _program(built, cut)
    reading = SplitReading(tf.distribute.get_strategy(), split, cut, most)
    tally = program.tally()
    reading.begin(0)
    whole = reading.left
    at_once = _FEW if whole is None else -(-whole // REPORTS)
    while (left := reading.left) != 0:
        batches = f"{grouped(reading.done)} batches" if left is None or whole is None else ""
        progress(batches or f"{reading.done * 100 // (whole or 1)} %")
        count = at_once if left is None else min(left, at_once)
        call = program.evaluate(reading.iterator, reading.done, count)
        sizes = reading.sizes(call)
        tally.add(float(call.losses @ sizes), int(sizes.sum()), call.deltas)
    return curves_of(tally.results()), tally.samples


def _program(built: Rebuilt, cut: Any) -> Any:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer import keras_objects
    from gpu_studio.trainer.inner_metrics import InnerMetrics
    from gpu_studio.trainer.meters import Meters
    from gpu_studio.trainer.models.own_training import own_in_steps
    from gpu_studio.trainer.placed import PlacedProgram, place
    from gpu_studio.trainer.program import Program

    training, dataset, model = built.plan.training, built.dataset, built.model
    if own_in_steps(model):
        return _own_program(built)
    loss = keras_objects.make_objective(keras_objects.learners_of(training, dataset, model))
    meters = Meters(loss.heads, InnerMetrics(model))
    # Nothing is trained: this optimizer has no variables to hold.
    optimizer, seed = keras.optimizers.SGD(), training.seed
    placement, first = built.plan.distribution.placed, built.devices[0]
    if placement is not None and len(built.devices) > 1:
        placed = place(model, placement, built.known, first)
        return PlacedProgram(placed, optimizer, loss, meters, seed, cut, lambda _event: None)
    strategy = tf.distribute.get_strategy()
    return Program(strategy, model, optimizer, loss, meters, seed, device=first)


def _own_program(built: Rebuilt) -> Any:
    """The program of a model with steps of its own. Raises TrainerError if none evaluates."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.models.own_models import name_of
    from gpu_studio.trainer.models.own_training import compile_as_planned
    from gpu_studio.trainer.own_steps import OwnSteps

    training, model = built.plan.training, built.model
    compile_as_planned(name_of(built.plan.model), model, training, keras.optimizers.SGD)
    program = OwnSteps(tf.distribute.get_strategy(), model, training.seed, device=built.devices[0])
    said = program.prepare(built.dataset.train, built.dataset.train)
    noticed = [each for each in said if isinstance(each, Warned)]
    if not program.evaluates:
        raise TrainerError(noticed[-1].message, [noticed[-1].suggestion])
    return program


def export_file(about: dict[str, Any], progress: Progress) -> Answer:
    """Write the model of the checkpoint in `about` to the new file `path`.

    The answer holds its size in `bytes` and is never lasting. After a failure it holds `problem`
    and `advice`, and nothing is left at `path`.
    """
    limit_memory()
    return in_words(lambda: _written(about, progress)), False


def _written(about: dict[str, Any], progress: Progress) -> dict[str, Any]:
    model = rebuilt(about, progress).model
    progress("writing the file")
    return {"bytes": write(model, Path(about["path"]))}


def write(model: Any, path: Path) -> int:
    """Save `model` in the new file `path` (mode 0600) and flush it to disk; return its bytes.

    Raises TrainerError.
    """
    try:
        # Created before Keras opens it, so that nobody else can read it at any time.
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            model.save(path)
            os.fsync(descriptor)
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except NotImplementedError as error:
        path.unlink(missing_ok=True)
        raise TrainerError(
            "Keras cannot write this model as one file: a class of your own "
            "does not tell what it is made with.",
            [
                "Give it a get_config, as Keras' guide to custom layers shows.",
                "The checkpoint holds its weights.",
            ],
        ) from error
    except OSError as error:
        path.unlink(missing_ok=True)
        raise TrainerError(
            f"The model could not be written to {path.parent}: {error.strerror or error}.",
            [
                "Look whether there is room, and whether files can be made there.",
                "Or choose another folder.",
            ],
        ) from error
