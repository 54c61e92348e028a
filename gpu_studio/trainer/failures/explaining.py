"""Explain what went wrong: a plain sentence, what to try, and changes of the plan that may help."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence

from gpu_studio.contract.events import Failed, StateChanged
from gpu_studio.contract.failure_mends import against_divergence, without_device
from gpu_studio.contract.failure_texts import (
    NO_ROOM_TO_LOAD,
    ROOM_TO_LOAD,
    LostDevice,
    advice_for,
    device_in,
    lost_device_in,
    refusal_of_disk,
)
from gpu_studio.trainer.errors import NotFiniteError, TrainerError, UserCodeError
from gpu_studio.trainer.failures.failure_context import (
    FailureContext,
    NotFiniteFinding,
    failing_layer,
)
from gpu_studio.trainer.failures.out_of_memory import is_out_of_memory, out_of_memory

_LAYER = re.compile(r"Exception encountered when calling (?:layer ['\"]?)?([\w/]+)")


def explain(error: BaseException, context: FailureContext | None = None) -> Failed:
    """Return the `failed` event for the exception that ended the run that `context` describes."""
    context = context or FailureContext()
    if isinstance(error, UserCodeError):
        return _user_code(error, context)
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, NotFiniteError):
        return _not_finite(error, context, trace)
    if isinstance(error, TrainerError):
        return Failed(
            message=error.message,
            suggestions=list(error.suggestions),
            traceback=trace,
            kind=error.kind,
            mends=list(error.mends),
        )
    if is_out_of_memory(error):
        return out_of_memory(error, context, trace)
    lost = lost_device_in(str(error))
    if lost is not None:
        return device_lost(error, lost, context, trace)
    if refusal := refusal_of_disk(error):
        message = f"A disk took no more ({refusal}): {root_words(error)}"
        return Failed(
            message=message, suggestions=[advice_for(refusal)], traceback=trace, kind="disk"
        )
    kind, message, suggestions = _plain(error, context)
    return Failed(message=message, suggestions=list(suggestions), traceback=trace, kind=kind)


def _not_finite(error: NotFiniteError, context: FailureContext, trace: str) -> Failed:
    """Return the failure, with the findings of repeating the last steps."""
    finding = _inquire(error, context)
    return Failed(
        message=f"{error.message} {finding.words}" if finding else error.message,
        suggestions=list(error.suggestions),
        traceback=trace,
        kind=error.kind,
        layer=finding.look.layer if finding else None,
        mends=against_divergence(context.plan) if context.plan else [],
    )


def _inquire(error: NotFiniteError, context: FailureContext) -> NotFiniteFinding | None:
    if context.session is None or context.run is None or context.hurried():
        return None
    from gpu_studio.trainer.failures.step_examination import examine_steps

    context.tell(StateChanged(state="stopping", reason="looking for the layer that gave way"))
    try:
        return examine_steps(
            context.session, context.run, context.base, error.step, context.hurried
        )
    except Exception:  # noqa: BLE001  (the failure must be reported, whatever goes wrong here)
        return None


def _user_code(error: UserCodeError, context: FailureContext) -> Failed:
    cause = error.__cause__
    if cause is not None and _is_the_machines(cause):
        return explain(cause, context)  # what the machine did to the run explains it better
    return Failed(
        message=error.message,
        suggestions=list(error.suggestions),
        traceback=error.trace or str(error),
        kind=error.kind,
    )


def _is_the_machines(cause: BaseException) -> bool:
    return (
        is_out_of_memory(cause)
        or lost_device_in(str(cause)) is not None
        or bool(refusal_of_disk(cause))
    )


def _plain(error: BaseException, context: FailureContext) -> tuple[str, str, Sequence[str]]:
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
        return (
            "host_memory",
            f"There was not enough memory to load a library: {error}.",
            ROOM_TO_LOAD,
        )
    if isinstance(error, ImportError):
        advice = ("Install what is missing into the Python that trains.",)
        return "import", f"The trainer could not start: {error}.", advice
    return _in_the_model(error, context)


def _in_the_model(error: BaseException, context: FailureContext) -> tuple[str, str, Sequence[str]]:
    named, said = _LAYER.search(str(error)), root_words(error)
    layer = failing_layer(error, context.layers(error)) or (named and named.group(1))
    advice = next((words for pattern, words in _ADVICE if pattern.search(said)), "")
    if layer:
        return (
            "layer",
            f"The layer {layer} could not compute: {said}",
            (advice or "Hold the shape of the data against the model's input.", _WHERE),
        )
    return (
        "",
        f"Training ended with {type(error).__name__}: {said}",
        tuple(filter(None, (advice, "The traceback and trainer.log say where."))),
    )


_WHERE = "The traceback names the line."
_ADVICE = (
    (
        re.compile(r"^indices\[.*\] = -?\d+ is not in \[0, \d+\)"),
        "The table has no row for that id: input_dim of an Embedding is the largest id + 1.",
    ),
    (
        re.compile(r"^Received a label value of -?\d+ which is outside the valid range"),
        "Give the model's last layer one unit for each class, or number the classes from 0.",
    ),
)
"""What helps, by TensorFlow's own words."""
_GRAPH, _TRACED = "Graph execution error:", "in user code:"
_LAYER_STOPPED = "Exception encountered when calling"
_NO_WORDS = re.compile(
    r"\s*$|Exception encountered when calling|\s*File \".*\", line \d+|Detected at node |"
    r"\d+ root error|\s*\[\[|<stack traces"
)
_MARKS = re.compile(r"\x1b\[\d*m|\{\{function_node [^}]*\}\} ?| ?\[Op:\w+\].*$")
"""What stands about a reason: Keras' bold, and the names of the operation in TensorFlow."""
_NUMBERED = re.compile(r"^\s*\(\d+\)\s+([A-Z_]+):\s*(.*)")


def _plain_text(line: str) -> str:
    return _MARKS.sub("", line)


def root_words(error: BaseException) -> str:
    """What TensorFlow itself says is wrong, without the lines around it that say where.

    An error of a graph begins with "Graph execution error:" and the stack that made the operation;
    several at once are numbered, and those that were only cancelled by another say nothing. One in
    a layer's call begins with the layer.
    """
    lines = str(error).strip().splitlines()
    if lines and lines[0].startswith(_TRACED):
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not lines or not lines[0].startswith((_GRAPH, _LAYER_STOPPED)):
        return _plain_text(lines[0]) if lines else type(error).__name__
    said = [line for line in map(_plain_text, lines[1:]) if not _NO_WORDS.match(line)]
    numbered = [found for line in said if (found := _NUMBERED.match(line))]
    words = [found[2] for found in numbered if found[1] != "CANCELLED"] or said
    return words[0].strip() if words else type(error).__name__


def device_lost(
    error: BaseException, found: LostDevice, context: FailureContext, trace: str
) -> Failed:
    """The failure of a card that `lost_device_in` found in the error."""
    device = device_in(str(error)) or _only_card(context)
    where = f"{device} failed" if device else "A card failed"
    return Failed(
        message=f"{where} while it trained: {found.why} ({found.words}).",
        suggestions=[_go_on(context), *found.suggestions],
        traceback=trace,
        device=device,
        kind="device_lost",
        layer=failing_layer(error, context.layers(error)),
        mends=without_device(context.plan, device, context.replicas)
        if context.plan and device
        else [],
    )


def _only_card(context: FailureContext) -> str | None:
    """Return the only card that takes part, where the error does not name one."""
    cards = [name for name in context.replicas if name.startswith("GPU")]
    return cards[0] if len(cards) == 1 else None


def _go_on(context: FailureContext) -> str:
    others = (
        "on the other devices"
        if len(context.replicas) > 1
        else "once the card answers again, or on the CPU"
    )
    return f"Resume from the last checkpoint {others}."
