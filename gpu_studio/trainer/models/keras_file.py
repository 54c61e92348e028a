"""A model from a `.keras` file of one's own, loaded without running anything that the file brings along."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import keras

from gpu_studio.plan.problems import printable
from gpu_studio.runs.failures.nearest_file import hint
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.models.meeting import check_meeting

_LAMBDA = "Requested the deserialization of a"
"""How Keras 3 begins where its safe mode refuses a `Lambda` layer, or a lambda anywhere else."""
_INNERMOST = "Exception encountered:"
_OBJECTS = re.compile(
    r"^A total of \d+ objects could not be loaded\. Example error message for object (.+?):\s+(.+)", re.S
)
_ARRAYS = re.compile(r"\s*Target variable: .*", re.S)
_LONGEST = 300
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
    if str(error).startswith(_LAMBDA):
        return ModelError(
            f"{path.name} holds a Lambda layer, Python code that would run when loaded; Keras' safe mode refuses it.",
            ["Replace Lambda layers by Keras' own layers or keras.ops and save the model again."],
        )
    return ModelError(
        f"Keras cannot load {path.name}: {_reason(error)}",
        [
            _SAVE,
            "Layers of your own classes cannot be loaded: their code is not in the file.",
            "The file may be damaged.",
        ],
    )


def _reason(error: Exception) -> str:
    """What Keras stumbled over: the innermost of the errors in its message, without configurations and arrays."""
    message = str(error)
    if _INNERMOST in message:
        message = message.rpartition(_INNERMOST)[2]
    elif objects := _OBJECTS.match(message):
        message = f"{objects[1]}: {_ARRAYS.sub('', objects[2])}"
    words = printable(" ".join(message.split()))
    cut = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
    return cut or type(error).__name__
