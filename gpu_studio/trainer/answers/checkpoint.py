"""Rebuild a run's model in one piece, on one device, with the weights of a checkpoint.

A checkpoint uses the same names and shapes for the weights under every strategy, also for split
layers, so the plain Keras model takes them as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio import plan as plans
from gpu_studio.common.regular_files import opened
from gpu_studio.contract.checkpoints import WEIGHTS_FILE
from gpu_studio.trainer.environment import settle
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures import explain

Progress = Callable[[str], None]
Answer = tuple[dict[str, Any], bool]
HOST = plans.DeviceSettings(visible=("CPU:0",))
POLITE = 10
"""So much lower is the priority beside a run that trains."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The plan, its data, the Keras model with the checkpoint's weights, and its device's name."""

    plan: plans.Plan
    dataset: Any
    model: Any
    device: str


def rebuilt(about: Mapping[str, Any], progress: Progress) -> Rebuilt:
    """Rebuild what `about` describes.

    `about` has the `plan` (its files absolute), the path of the `checkpoint`, the `precision`, and
    whether to build on the `host`. Otherwise the model is built on the first of the plan's cards,
    whose memory is taken as needed. With `polite`, this process gives way to others. Raises
    TrainerError, and what Keras raises.
    """
    if about["polite"]:
        os.nice(POLITE)
    plan = plans.loads(about["plan"])
    seen = (
        HOST
        if about["host"]
        else plans.DeviceSettings(visible=plan.devices.visible, memory_growth=True)
    )
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
