"""A model from a `.keras` file of one's own, loaded without running anything that the file brings along."""

from __future__ import annotations

import zipfile
from pathlib import Path

import keras

from gpu_studio.runs.failures.nearest_file import hint
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.models.meeting import check_meeting

_SAVE = "Save the whole model with model.save('model.keras') in Keras 3."


def load_file(path: Path, dataset: Dataset) -> keras.Model:
    """The model saved in `path`, if it fits the data.

    Raises ModelError if the file is missing, cut off, no `.keras` file, needs code of its own, or if the model's input
    or output does not fit.
    """
    if not path.is_file():
        advice = ["Put it back there, or change model.file in the plan; it is relative to the plan."]
        raise ModelError(f"There is no model file {path}{hint(path) or '.'}", advice)
    if path.suffix != ".keras" or not zipfile.is_zipfile(path):
        raise ModelError(f"{path} is no .keras file, or it is cut off.", [_SAVE, "If it was copied, copy it again."])
    model = _loaded(path)
    check_meeting(path.name, model, dataset)
    return model


def _loaded(path: Path) -> keras.Model:
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras lets through whatever a damaged file makes it stumble over
        raise _refused(path, error) from error


def _refused(path: Path, error: Exception) -> ModelError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "lambda" in str(error).lower():
        return ModelError(
            f"{path.name} holds a Lambda layer, Python code that would run when loaded; Keras' safe mode refuses it.",
            ["Replace Lambda layers by Keras' own layers or keras.ops and save the model again."],
        )
    return ModelError(
        f"Keras cannot load {path.name}: {reason}",
        [
            _SAVE,
            "Layers of your own classes cannot be loaded: their code is not in the file.",
            "The file may be damaged.",
        ],
    )
