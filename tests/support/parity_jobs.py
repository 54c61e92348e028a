"""Many small trainings in one TensorFlow process, by a strategy or by Keras' own `fit`.

The process has two logical CPUs.

`python parity_jobs.py` reads a way and cases from stdin, and writes a result for each as JSON. The
way is "fit", or settings of `distribution`. A case is a `model` of parity_models, `settings` of the
plan, for `fit` the optimizer as Keras' `get` takes it, under `placed` its `micro_batches`; with
`resumed`, its last steps are trained by a session that takes over. `callbacks` are a kind of
`recorded_callbacks`, whose records are what was `called`; with `card` the device passes for a real
one, with "later" only for a session that goes on; with `sized`, its steps know how many samples a
batch has, as those of longer runs do; with `left_after` so many steps, another
session goes on from a checkpoint. With `targets`, a kind of
`parity_targets`, the data are an `.npz` file with these, the loss is `loss` and the metrics are
`metrics`, as Keras' `get` takes them. With `structure`, data and model are those of
`parity_structures`, as a user's own file; `trainable` is what the reference sets of layers, and
`then` what it does before each further `fit`. A result has the measures of every epoch, of the test
split, the losses of the `steps`, the `weights`, and what was `reported`; or an `error`.

The reference shares nothing with the trainer but the data and the plan's order of the samples and
numbers of draws, which it computes by itself: an epoch's order is TensorFlow's stateless shuffle by
(seed, epoch); random states are [seed, 4096 · step], and in evaluation [seed, 4096 · (−1 − batch)].
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Case = Mapping[str, Any]
SEED = 3
BATCH, EPOCHS = 20, 2

PLAN = f"""
version = 1
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0]
[data]
name = "synthetic"
options = {{ shape = [12], samples = 90, classes = 4 }}
validation_fraction = 0.0
test_fraction = 0.0
[training]
epochs = {EPOCHS}
batch_size = {BATCH}
seed = {SEED}
optimizer = "sgd"
learning_rate = 0.1
metrics = []
steps_per_call = 5
"""


CLOSE = 1e-5
TWO = 'distribution.devices=["CPU:0", "CPU:1"]'
WAYS: dict[str, Any] = {
    "none": [],
    "one_device": ["distribution.strategy=one_device", 'distribution.devices=["CPU:1"]'],
    "mirrored": ["distribution.strategy=mirrored", TWO],
    "central_storage": ["distribution.strategy=central_storage", TWO],
    "placed": ["distribution.strategy=placed"],
}
VALIDATED = ["data.validation_fraction=0.3"]
TESTED = [*VALIDATED, "data.test_fraction=0.2"]
OURS = ("model.frozen", "training.phases")
WHOLE = "GPU_STUDIO_WHOLE_PARITY" in os.environ


class Trained(dict[str, dict[str, Any]]):
    """What became of every case in every way and by "fit".

    A way's cases are trained once it is asked for. What is `left_out`, `fit` does not train.
    """

    def __init__(
        self,
        folder: Path,
        cases: Callable[[str], Mapping[str, Case]],
        left_out: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._folder, self._cases, self._left_out = folder, cases, left_out

    def __missing__(self, way: str) -> dict[str, Any]:
        cases = self._cases(way) if way in WAYS else self._of_any_way()
        self[way] = results(WAYS.get(way, "fit"), cases, self._folder)
        return self[way]

    def _of_any_way(self) -> dict[str, Case]:
        """The cases that are held against `fit`: as they are without a strategy if they are."""
        cases = {name: case for way in reversed(WAYS) for name, case in self._cases(way).items()}
        return {name: case for name, case in cases.items() if name not in self._left_out}


def results(way: Any, cases: Mapping[str, Case], folder: Path) -> dict[str, Any]:
    """The result of every case under one way, computed in one process."""
    import warm_python

    command = [*warm_python.command(str(Path(__file__))), "run"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        command,
        input=json.dumps([way, cases]),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# In the process that trains


class Trainer:
    """Does cases with real sessions and the real loop.

    Only the devices are set up once for all of them.
    """

    def __init__(self, way: list[str]) -> None:
        from gpu_studio.plan import loads, with_settings
        from gpu_studio.trainer import devices, session, strategies

        self._session = session
        self._plan = with_settings(loads(PLAN), way)
        logical = devices.set_up(self._plan)
        vars(session)["devices"].set_up = lambda *_: logical
        spread = strategies.spread_over(self._plan.distribution, logical)
        # A strategy of TensorFlow's once a process; a placement is each plan's own.
        each = strategies.spread_over if spread.placement else lambda *_: spread
        vars(session)["strategies"].spread_over = each

    _before: Any = None
    """The state of the checkpoint that the next session goes on from."""

    def do(self, case: Case) -> dict[str, Any]:
        from gpu_studio.trainer.errors import TrainerError

        told: list[Any] = []
        self._pass_for_card(case.get("card") is True, None)
        try:
            made = self._made(case, told)
        except TrainerError as error:
            return {"error": error.message}
        if "left_after" in case:
            return self._taken_over(case, made, told)
        if not case.get("resumed"):
            return self._trained(made, told, case)
        states: list[Any] = []
        result = self._trained(made, told, case, after_epoch=states.append)
        return result | {"resumed": self._second_epoch(case, states[0])}

    def _pass_for_card(self, card: bool, before: Any) -> None:
        """Let the device of the next session be taken for a real card: XLA compiles for CPUs."""
        from dataclasses import replace

        from gpu_studio.trainer.xla import runs_on

        self._before = before
        as_card = lambda *given: replace(runs_on(*given), kind="card")  # noqa: E731
        vars(self._session)["runs_on"] = as_card if card else runs_on

    def _made(self, case: Case, told: list[Any]) -> Any:
        import parity_models

        from gpu_studio.plan import with_settings
        from gpu_studio.trainer.models import build_model

        plan = with_settings(self._plan, _settings(case))
        _let_know_sizes(bool(case.get("sized")))
        vars(self._session)["build_model"] = (
            build_model
            if "structure" in case
            else lambda *_: parity_models.made(case["model"], plan.training.seed)
        )
        if plan.distribution.strategy == "placed":
            model = _model_of(case, plan) or parity_models.made(case["model"], SEED)
            plan = _placed(plan, model, case.get("micro_batches", 2))
        made = self._session.build(plan, Path.cwd(), told.append, before=self._before)
        assert (type(made.program).__name__ == "SizedProgram") is bool(case.get("sized"))
        return made

    def _taken_over(self, case: Case, made: Any, told: list[Any]) -> dict[str, Any]:
        """What became of a case that another session goes on with after some steps.

        It knows no more than a checkpoint holds.
        """
        from gpu_studio.trainer.checkpoints import read, write_whole

        saved: list[Any] = []
        self._trained(made, told, case, until=case["left_after"], saved=saved)
        snapshot = saved[-1]
        state = {**snapshot.progress.as_dict(), "best_value": None, **snapshot.identity}
        write_whole(folder := Path.cwd() / "checkpoint", state, snapshot.arrays)
        self._pass_for_card(bool(case.get("card")), state)
        again = self._made(case, told)
        return self._trained(again, told, case, stored=read(folder))

    def _trained(
        self,
        made: Any,
        told: list[Any],
        case: Case,
        *,
        until: int | None = None,
        saved: list[Any] | None = None,
        stored: Any = None,
        after_epoch: Callable[[Any], object] | None = None,
    ) -> dict[str, Any]:
        import recorded_callbacks

        from gpu_studio.trainer.callbacks import Hooks
        from gpu_studio.trainer.callbacks.made import MadeCallback, settle_mode
        from gpu_studio.trainer.loop import Loop
        from gpu_studio.trainer.progress import Reached, TrainingProgress
        from gpu_studio.trainer.training import restore

        called: list[Any] = []
        given = recorded_callbacks.KINDS[case["callbacks"]](called) if "callbacks" in case else []
        for each in given:
            settle_mode(each, made.meters.metrics)
        hooks = Hooks(
            [MadeCallback(type(each).__name__, each) for each in given], made, told.append
        )
        reached = Reached()
        steps: list[float | None] = []
        telemetry: Any = SimpleNamespace(
            tell=told.append,
            epoch=told.append,
            steps=lambda event, _rate: steps.extend(event.losses),
        )
        control: Any = SimpleNamespace(
            take_checkpoint_wish=lambda: False, pausing=False, stopping=False
        )
        if after_epoch is not None:

            def epoch(event: Any) -> None:
                told.append(event)
                after_epoch(made.capture())

            telemetry.epoch = epoch
        if until is not None:
            telemetry.steps = lambda event, _rate: setattr(
                control, "stopping", event.first_step + len(event.losses) >= until
            )
        checkpoints: Any = SimpleNamespace(
            save=([] if saved is None else saved).append,
            wait=lambda: None,
            has=lambda _step: True,
        )
        if stored:
            reached.progress = TrainingProgress.from_dict(stored[0])
        loop = Loop(made, control, telemetry, checkpoints, reached, hooks)
        if stored:
            restore(loop, made, *stored)
            hooks.go_on(*stored)
        ended = loop.run()
        return {
            "epochs": [each.metrics for each in told if hasattr(each, "samples_per_second")],
            "test": ended.metrics,
            "steps": steps,
            "weights": _weights(made),
            # What was restored from a checkpoint is another list.
            "called": next((each.records for each in given if hasattr(each, "records")), []),
            "ended": [ended.reason, ended.by, ended.epoch, ended.step],
            "said": [each.message for each in told if hasattr(each, "message")],
            "told": [each.message for each in told if hasattr(each, "suggestion")],
            "advised": [each.suggestion for each in told if hasattr(each, "suggestion")],
            "xla": [each.compiles for each in told if hasattr(each, "compiles")],
            "words": [each.words for each in told if hasattr(each, "compiles")],
        }

    def _second_epoch(self, case: Case, state: Mapping[str, Any]) -> Any:
        """The losses of the second epoch, trained by another session from this state on."""
        again = self._made(case, [])
        count = again.cut.steps()
        again.restore(state)
        return again.program.train(again.training_stream(1, 0), count, count).losses.tolist()


def _model_of(case: Case, plan: Any) -> Any:
    """The model of a case of `parity_structures`; None of any other."""
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.models import build_model

    if "structure" not in case:
        return None
    dataset = load_data(plan.data, SEED, Path.cwd())
    return build_model(plan.model, dataset, Path.cwd(), SEED)


def _weights(made: Any) -> list[Any]:
    return [value.tolist() for name, value in made.capture().items() if name.startswith("model/")]


def _placed(plan: Any, model: Any, micro_batches: int) -> Any:
    """The plan with the layers that have weights on two devices in turn."""
    from dataclasses import replace

    from gpu_studio.plan import Placed
    from gpu_studio.trainer.model_layers import placeable_layers

    heavy = [each.path for each in placeable_layers(model) if each.layer.weights]
    layers = {path: (f"CPU:{(number + 1) % 2}",) for number, path in enumerate(heavy)}
    return replace(
        plan, distribution=replace(plan.distribution, placed=Placed(micro_batches, layers))
    )


class Fit:
    """Does cases by `fit` and `evaluate`."""

    def do(self, case: Case) -> dict[str, Any]:
        import keras
        import parity_models
        import recorded_callbacks

        from gpu_studio.plan import loads, with_settings
        from gpu_studio.trainer.data import load_data

        mean_as_traced()
        # What the plan freezes, the reference freezes by Keras' own means.
        settings = [each for each in _settings(case) if not each.startswith(OURS)]
        plan = with_settings(loads(PLAN), settings)
        dataset = load_data(plan.data, SEED, Path.cwd())
        model = _model_of(case, plan) or parity_models.made(case["model"], SEED)
        _set_trainable(model, case.get("trainable", {}))
        optimizer = keras.optimizers.get(
            case.get("fit", {"class_name": "SGD", "config": {"learning_rate": 0.1}})
        )
        logits = case.get("model") != "softmax"
        loss = keras.losses.get(case["loss"]) if "loss" in case else None
        loss = loss or keras.losses.SparseCategoricalCrossentropy(from_logits=logits)
        metrics = [keras.metrics.get(each) for each in case.get("metrics", ())]
        asked = {"loss": loss, "metrics": metrics}
        if "structure" in case:
            import parity_structures

            asked = parity_structures.compiled(case["structure"])
        model.compile(optimizer, run_eagerly=True, **asked)
        validation = dataset.validation and validation_batches(_samples(dataset.validation))
        called: list[Any] = []
        given = recorded_callbacks.KINDS[case["callbacks"]](called) if "callbacks" in case else []
        epochs = case.get("epochs", EPOCHS)
        first = case["then"][0]["after"] if "then" in case else epochs
        history = _fitted(model, dataset, validation, given, 0, first)
        for place, phase in enumerate(case.get("then", ())):
            _set_trainable(model, phase["trainable"])
            kind = case["fit"]["class_name"]
            optimizer = keras.optimizers.get(
                {"class_name": kind, "config": {"learning_rate": phase["learning_rate"]}}
            )
            model.compile(optimizer, run_eagerly=True, **asked)
            ends = [*(each["after"] for each in case["then"]), epochs]
            more = _fitted(model, dataset, validation, given, ends[place], ends[place + 1])
            history = {name: [*values, *more[name]] for name, values in history.items()}
        epochs = len(history["loss"])
        result = {
            "epochs": [
                {name: values[epoch] for name, values in history.items()} for epoch in range(epochs)
            ],
            "called": called,
            "weights": [value.tolist() for value in model.get_weights()],
        }
        if dataset.test is None:
            return {**result, "test": {}}
        callbacks = [_placing(states_of(model))]
        held = dict(zip(("x", "y", "sample_weight"), _samples(dataset.test), strict=False))
        tested = model.evaluate(
            **held, batch_size=BATCH, callbacks=callbacks, verbose=0, return_dict=True
        )
        return {**result, "test": {f"test_{name}": value for name, value in tested.items()}}


def mean_as_traced() -> None:
    """Let `fit`, where it runs eagerly, mean the losses of outputs as where it is traced.

    A step that is traced does not know how many samples a batch has (`y_pred.shape[0]`, by which
    Keras weighs these means), so that each batch counts once.
    """
    import keras

    if keras.src.metrics.Mean is not keras.metrics.Mean:
        return

    class Mean(keras.metrics.Mean):  # type: ignore[misc]
        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            weight = None if isinstance(sample_weight, int) else sample_weight
            super().update_state(values, sample_weight=weight)

    keras.src.metrics.Mean = Mean


def _set_trainable(model: Any, wanted: Mapping[str, bool]) -> None:
    for path, trains in wanted.items():
        layer = model
        for name in path.split("/"):
            layer = layer.get_layer(name)
        layer.trainable = trains


def _fitted(
    model: Any, dataset: Any, validation: Any, callbacks: list[Any], first: int, end: int
) -> dict[str, list[float]]:
    """The history of a `fit` from epoch `first` to `end`."""
    history: dict[str, list[float]] = model.fit(
        _batches(_samples(dataset.train), end, first),
        initial_epoch=first,
        epochs=end,
        steps_per_epoch=-(-len(dataset.train) // BATCH),
        validation_data=validation,
        callbacks=[_placing(states_of(model)), *callbacks],
        verbose=0,
    ).history
    return history


def _let_know_sizes(wanted: bool) -> None:
    from gpu_studio.trainer import sized_steps

    few, many = (0, 1) if wanted else (1 << 30, 1 << 30)
    vars(sized_steps).update(WORTH_TRACING=few, LONG_PASS=many)


def _settings(case: Case) -> list[str]:
    """The settings of a case; one with targets of its own has them in a file."""
    settings = [f"training.epochs={case.get('epochs', EPOCHS)}", *case.get("settings", ())]
    if "targets" in case:
        import parity_targets

        path = Path.cwd() / f"{case['targets']}.npz"
        parity_targets.save(case["targets"], path)
        settings += ["data.name=", "data.options=", f"data.file={path}"]
    if "structure" in case:
        import parity_structures

        from gpu_studio.contract.consent import allow_file

        # In a folder of its own: all that is imported from the folder of a user's file is theirs.
        path, name = Path.cwd() / "structures.py", case["structure"]
        path.write_bytes(Path(str(parity_structures.__file__)).read_bytes())
        allow_file(path, path.read_bytes())
        settings += ["data.name=", "data.options=", f"data.python={path}:{name}_data"]
        settings += [f"model.python={path}:{name}_model", *parity_structures.SETTINGS.get(name, ())]
    return settings


def _samples(split: Any) -> tuple[Any, ...]:
    """The samples of a split, the targets as they were given, and weights if there are any."""
    import keras
    from keras.src.trainers.data_adapters.array_slicing import convert_to_sliceable

    rows = slice(None) if split.rows is None else split.rows

    def as_fit_has_it(array: Any) -> Any:
        if array.dtype.kind == "U":  # Keras takes no texts of NumPy's.
            return array[rows].astype(object)
        return convert_to_sliceable(array[rows], target_backend="tensorflow")

    given = [part for part in (split.x, split.y, split.weights) if keras.tree.flatten(part)]
    return tuple(keras.tree.map_structure(as_fit_has_it, given))


def _batches(samples: Any, epochs: int, begun: int = 0) -> Any:
    """The samples of every epoch in the plan's order, but for those `begun` before."""
    import tensorflow as tf

    def of(epoch: int) -> Any:
        rows = tf.range(_count(samples), dtype="int64")
        order = tf.random.experimental.stateless_shuffle(rows, seed=[SEED, epoch])
        return _in_batches(samples, order.numpy())

    return functools.reduce(
        lambda one, other: one.concatenate(other), map(of, range(begun, epochs))
    )


def validation_batches(samples: Any) -> Any:
    """The samples in their order, as `fit` itself would put them into batches."""
    return _in_batches(samples, range(_count(samples)))


def _count(samples: Any) -> int:
    import keras

    return len(keras.tree.flatten(samples)[0])


def _in_batches(samples: Any, order: Sequence[int]) -> Any:
    """Batches of the samples as they are: nothing is traced, as for a generator or arrays."""
    import keras
    import tensorflow as tf

    whole = keras.tree.map_structure(lambda array: tf.convert_to_tensor(array[order]), samples)
    return tf.data.Dataset.from_tensor_slices(whole).batch(BATCH)


def states_of(model: Any) -> list[tuple[Any, int]]:
    """Every random state and the seed that it starts from: its own, or the plan's."""
    from keras.src.random.seed_generator import global_seed_generator

    shared = global_seed_generator().state
    own = [
        each
        for each in model.variables
        if each.name == "seed_generator_state" and each is not shared
    ]
    return [*((each, int(each.numpy()[0])) for each in own), (shared, SEED)]


def _placing(random: list[tuple[Any, int]]) -> Any:
    import keras

    class Placing(keras.callbacks.Callback):  # type: ignore[misc]
        """Puts the random states where each step's begin."""

        step = 0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._place(self.step)
            self.step += 1

        def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._place(-1 - batch)

        def _place(self, step: int) -> None:
            for state, seed in random:
                state.assign([seed, 4096 * step])

    return Placing()


def main() -> None:
    """Do the cases on stdin."""
    way, cases = json.load(sys.stdin)
    worker: Any = Fit() if way == "fit" else Trainer(way)
    print(json.dumps({name: _done(worker, case) for name, case in cases.items()}))


def _done(worker: Any, case: Case) -> dict[str, Any]:
    """What became of a case: a failure is the result of this one alone."""
    try:
        result: dict[str, Any] = worker.do(case)
    except Exception:  # noqa: BLE001 (whatever TensorFlow raises)
        return {"error": traceback.format_exc()}
    return result


if __name__ == "__main__":
    sys.path += os.environ["PYTHONPATH"].split(os.pathsep)
    main()
