"""What went wrong, in a plain sentence, with what to try and with changes of the plan that may help."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence

from gpu_studio.runs.events import Failed
from gpu_studio.runs.failures.failure_texts import NO_ROOM_TO_LOAD, ROOM_TO_LOAD
from gpu_studio.runs.failures.full_disk import advice_for, refusal_of_disk
from gpu_studio.runs.failures.lost_device import lost_device_in
from gpu_studio.trainer.errors import NotFiniteError, TrainerError, UserCodeError
from gpu_studio.trainer.failures.device_lost import device_lost
from gpu_studio.trainer.failures.not_finite import not_finite
from gpu_studio.trainer.failures.out_of_memory import is_out_of_memory, out_of_memory
from gpu_studio.trainer.failures.scene import Scene

_LAYER = re.compile(r"Exception encountered when calling (?:layer ['\"]?)?([\w./]+)")


def explain(error: BaseException, scene: Scene | None = None) -> Failed:
    """The `failed` event for an exception that ended the run; `scene` is what is known of that run."""
    scene = scene or Scene()
    if isinstance(error, UserCodeError):
        return _user_code(error, scene)
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, NotFiniteError):
        return not_finite(error, scene, trace)
    if isinstance(error, TrainerError):
        return Failed(
            message=error.message,
            suggestions=list(error.suggestions),
            traceback=trace,
            kind=error.kind,
            mends=list(error.mends),
        )
    if is_out_of_memory(error):
        return out_of_memory(error, scene, trace)
    lost = lost_device_in(str(error))
    if lost is not None:
        return device_lost(error, lost, scene, trace)
    if refusal := refusal_of_disk(error):
        message = f"A disk took no more ({refusal}): {_first_line(error)}"
        return Failed(message=message, suggestions=[advice_for(refusal)], traceback=trace, kind="disk")
    kind, message, suggestions = _plain(error)
    return Failed(message=message, suggestions=list(suggestions), traceback=trace, kind=kind)


def _user_code(error: UserCodeError, scene: Scene) -> Failed:
    cause = error.__cause__
    if cause is not None and _is_the_machines(cause):
        return explain(cause, scene)  # what the machine did to it is the better explanation
    return Failed(
        message=error.message, suggestions=list(error.suggestions), traceback=error.trace or str(error), kind=error.kind
    )


def _is_the_machines(cause: BaseException) -> bool:
    return is_out_of_memory(cause) or lost_device_in(str(cause)) is not None or bool(refusal_of_disk(cause))


def _plain(error: BaseException) -> tuple[str, str, Sequence[str]]:
    if isinstance(error, MemoryError):
        return (
            "host_memory",
            "The machine ran out of memory (RAM) in the trainer.",
            (
                "Close other programs, or train on fewer samples.",
                "Make training.batch_size smaller.",
            ),
        )
    if isinstance(error, OSError):
        advice = ("Look whether the disk is full, and whether the files can be read.",)
        return "system", f"The system refused: {error}.", advice
    if isinstance(error, ImportError) and re.search(NO_ROOM_TO_LOAD, str(error)):
        return "host_memory", f"There was not enough memory to load a library: {error}.", ROOM_TO_LOAD
    if isinstance(error, ImportError):
        advice = ("Install what is missing into the Python that trains.",)
        return "import", f"The trainer could not start: {error}.", advice
    layer = _LAYER.search(str(error))
    first = _first_line(error)
    if layer:
        return (
            "layer",
            f"The layer {layer.group(1)} could not compute: {first}",
            (
                "Hold the shape of the data against the model's input.",
                "The traceback names the line.",
            ),
        )
    return "", f"Training ended with {type(error).__name__}: {first}", ("The traceback and trainer.log say where.",)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
