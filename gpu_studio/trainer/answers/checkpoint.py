"""A run's model built again in one piece, on one device, with the weights of one of its checkpoints.

A checkpoint names and shapes the weights alike under every strategy, split layers included, so that the plain Keras
model takes them as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio import plan as plans
from gpu_studio.regular_files import opened
from gpu_studio.runs.checkpoints import WEIGHTS_FILE
from gpu_studio.trainer.environment import settle
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures import explain

Progress = Callable[[str], None]
Answer = tuple[dict[str, Any], bool]
HOST = plans.Devices(visible=("CPU:0",))
POLITE = 10
"""So much lower is the priority beside a run that trains."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The plan, its data, the Keras model with the checkpoint's weights, and the name of the device it is on."""

    plan: plans.Plan
    dataset: Any
    model: Any
    device: str


def rebuilt(about: Mapping[str, Any], progress: Progress) -> Rebuilt:
    """What `about` names: `plan` (its files absolute), `checkpoint` (a path), `precision`, and whether on the `host`.

    Off the host it is the first of the plan's cards, whose memory is taken as it is needed. Where it is to be `polite`,
    this process gives way to others. Raises TrainerError, and what Keras raises.
    """
    if about["polite"]:
        os.nice(POLITE)
    plan = plans.loads(about["plan"])
    seen = HOST if about["host"] else plans.Devices(visible=plan.devices.visible, memory_growth=True)
    settle(replace(plan, devices=seen))
    progress("importing TensorFlow")
    import keras
    import tensorflow as tf

    from gpu_studio.trainer import devices
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.models import build_model

    tf.get_logger().setLevel("ERROR")
    device = devices.set_up(seen)[0].name
    keras.mixed_precision.set_global_policy(about["precision"])
    progress("reading the data")
    dataset = load_data(plan.data, plan.training.seed, Path())
    progress("building the model")
    model = build_model(plan.model, dataset, Path(), plan.training.seed)
    load_weights(model, Path(about["checkpoint"]))
    return Rebuilt(plan, dataset, model, device)


def load_weights(model: Any, checkpoint: Path) -> None:
    """Give the model the weights in the folder `checkpoint`. Nothing is unpickled. Raises TrainerError."""
    weights = {f"model/{i}/{variable.path}": variable for i, variable in enumerate(model.weights)}
    for name, value in _read(checkpoint, list(weights)).items():
        if tuple(value.shape) != tuple(weights[name].shape):
            raise _another_model(checkpoint, name, weights[name])
        weights[name].assign(value)


def in_words(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `answer` gives; where it raises, the `problem` in a sentence and the `advice`."""
    try:
        return answer()
    except Exception as error:  # noqa: BLE001  (whatever TensorFlow raises, who asked must learn of it in words)
        told = explain(error)
        return {"problem": told.message, "advice": list(told.suggestions)}


def _read(checkpoint: Path, names: list[str]) -> dict[str, np.ndarray]:
    """These arrays, and not the optimizer's, which are larger."""
    try:
        with opened(checkpoint / WEIGHTS_FILE) as file, np.load(file, allow_pickle=False) as archive:
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise _lacking(checkpoint, missing[0])
            return {name: archive[name] for name in names}
    except FileNotFoundError as error:
        raise TrainerError(
            f"The checkpoint {checkpoint.name} is no longer there: a run keeps its newest checkpoints and the best.",
            ["Choose another checkpoint.", "Keep more of them: training.checkpoint.keep."],
        ) from error
    except TrainerError:
        raise
    except Exception as error:  # zipfile, zlib, numpy and the disk each have their own
        raise TrainerError(
            f"The checkpoint {checkpoint.name} cannot be read: {error}.", ["Choose another checkpoint of the run."]
        ) from error


def _lacking(checkpoint: Path, name: str) -> TrainerError:
    return TrainerError(
        f"The checkpoint {checkpoint.name} is of another model: it has no {name}.",
        ["If the plan names a .keras file, put back the one that the run was started with."],
    )


def _another_model(checkpoint: Path, name: str, variable: Any) -> TrainerError:
    return TrainerError(
        f"The checkpoint {checkpoint.name} is of another model: its {name} is not of shape {tuple(variable.shape)}.",
        ["If the plan names a .keras file, put back the one that the run was started with."],
    )
