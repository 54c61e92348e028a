"""Explain what went wrong: a plain sentence, what to try, and changes of the plan that may help."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence

from msgspec.structs import replace

from gpu_studio.contract import Failed, StateChanged
from gpu_studio.contract.failure_mends import against_divergence, without_device, without_xla
from gpu_studio.contract.failure_texts import (
    MEMORY_TO_LOAD,
    MORE_THREADS,
    NO_MEMORY_TO_LOAD,
    NO_MORE_THREADS,
    NO_THREADS,
    LostDevice,
    advice_for,
    device_in,
    lost_device_in,
    refusal_of_disk,
)
from gpu_studio.trainer.errors import (
    NotFiniteError,
    TrainerError,
    UserCodeError,
    WorkerFailed,
)
from gpu_studio.trainer.failures.failure_context import (
    FailureContext,
    NotFiniteFinding,
    failing_layer,
)
from gpu_studio.trainer.failures.library_memory import words_of_library
from gpu_studio.trainer.failures.out_of_memory import is_out_of_memory, out_of_memory
from gpu_studio.trainer.user_code.remedies import advice_on
from gpu_studio.trainer.user_code.telling import (
    begins_in,
    in_own_code,
    line_named,
    root_words,
    uncompiled_words,
)

_LAYER = re.compile(r"Exception encountered when calling (?:layer ['\"]?)?([\w/]+)")


def explain(error: BaseException, context: FailureContext | None = None) -> Failed:
    """Return the `failed` event for the exception that ended the run that `context` describes."""
    context = context or FailureContext()
    if isinstance(error, WorkerFailed):
        return error.failure
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
    if is_out_of_memory(error, context):
        return out_of_memory(error, context, trace)
    if _UNCOMPILED.search(str(error)):
        return _uncompiled(error, context, trace)
    lost = lost_device_in(str(error))
    if lost is not None:
        return device_lost(error, lost, context, trace)
    if refusal := refusal_of_disk(error):
        message = f"A disk took no more ({refusal}): {root_words(error)}"
        return Failed(
            message=message, suggestions=[advice_for(refusal)], traceback=trace, kind="disk"
        )
    if not isinstance(error, MemoryError) and (own := in_own_code(error)):
        layer = failing_layer(error, context.layers(error))
        return replace(_user_code(own, context), layer=layer)
    kind, message, suggestions = _plain(error, context)
    return Failed(message=message, suggestions=list(suggestions), traceback=trace, kind=kind)


_UNCOMPILED = re.compile(r"\bXLA_[CG]PU_JIT\b|tf2xla conversion failed")


def _uncompiled(error: BaseException, context: FailureContext, trace: str) -> Failed:
    """Return the failure of a step that XLA could not compile: what it lacks, and where."""
    layer, said = failing_layer(error, context.layers(error)), uncompiled_words(error)
    where = f", in the layer {layer}" if layer else ""
    mends = without_xla(context.plan) if context.plan else []
    advice = ["Set training.jit_compile to false: the step is TensorFlow's own then."]
    made = line_named(error)
    if made:
        advice.append(f"Line {made[1]} of {made[0]} made it: look for another way there.")
    return Failed(
        message=f"XLA could not compile the step{where}: {said}",
        suggestions=advice,
        traceback=trace,
        kind="layer" if layer else "",
        layer=layer,
        mends=mends,
    )


def _not_finite(error: NotFiniteError, context: FailureContext, trace: str) -> Failed:
    """Return the failure, with the findings of repeating the last steps."""
    rate, advice = _rate_as_compiled(context), list(error.suggestions)
    if rate is not None:
        advice[:2] = [
            f"Compile the model with a learning rate smaller than {rate:g}.",
            "Clip the gradients: give the optimizer there global_clipnorm=1.0.",
        ]
    finding = _inquire(error, context)
    return Failed(
        message=f"{error.message} {finding.words}" if finding else error.message,
        suggestions=advice,
        traceback=trace,
        kind=error.kind,
        layer=finding.look.layer if finding else None,
        mends=against_divergence(context.plan, rate is not None) if context.plan else [],
    )


def _rate_as_compiled(context: FailureContext) -> float | None:
    """Return the learning rate that counts, where it is none of the plan's."""
    if context.session is None:
        return None
    from gpu_studio.trainer.failures.step_examination import rate_as_compiled

    return rate_as_compiled(context.session)


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
    if cause is not None and _is_the_machines(cause, context):
        return explain(cause, context)  # what the machine did to the run explains it better
    return Failed(
        message=error.message,
        suggestions=list(error.suggestions),
        traceback=error.trace or str(error),
        kind=error.kind,
    )


def _is_the_machines(cause: BaseException, context: FailureContext) -> bool:
    return (
        is_out_of_memory(cause, context)
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
    if isinstance(error, RuntimeError) and re.search(NO_THREADS, str(error)):
        return "system", NO_MORE_THREADS, MORE_THREADS
    if isinstance(error, OSError):
        advice = ("Look whether the disk is full, and whether the files can be read.",)
        return "system", f"The system refused: {error}.", advice
    if isinstance(error, ImportError) and re.search(NO_MEMORY_TO_LOAD, str(error)):
        return (
            "host_memory",
            f"There was not enough memory to load a library: {error}.",
            MEMORY_TO_LOAD,
        )
    if isinstance(error, ImportError):
        advice = ("Install what is missing into the Python that trains.",)
        return "import", f"The trainer could not start: {error}.", advice
    return _in_the_model(error, context)


def _in_the_model(error: BaseException, context: FailureContext) -> tuple[str, str, Sequence[str]]:
    named, said = _LAYER.search(str(error)), root_words(error)
    layer = failing_layer(error, context.layers(error)) or (named and named.group(1))
    advice = advice_on(said)
    keeping = next((e.name for e in context.layers(error) if getattr(e, "stateful", False)), None)
    if keeping and layer in (None, keeping) and _OTHER_BATCH.search(said):
        keeps = f"The layer {keeping} keeps a state of each sample of a batch (stateful=True)"
        return "layer", f"{keeps}, and met a batch of another size: {said}", _OF_ONE_SIZE
    library = words_of_library(str(error))
    if library is not None:
        said, advice = library
    if layer:
        own = next((each for each in context.layers(error) if each.name == layer), None)
        return (
            "layer",
            f"The layer {layer} could not compute: {said}",
            (
                advice or "Hold the shape of the data against the model's input.",
                *begins_in(getattr(type(own), "call", None)),
                _WHERE,
            ),
        )
    return (
        "",
        f"Training ended with {type(error).__name__}: {said}",
        tuple(filter(None, (advice, "The traceback and trainer.log say where."))),
    )


_OTHER_BATCH = re.compile(r"ncompatible shapes: \[(\d+),([\d,]+)\] vs\. \[(?!\1,)\d+,\2\]")
"""Two shapes that differ in their first axis only."""
_OF_ONE_SIZE = (
    "Let the data drop a last batch that is smaller: .batch(…, drop_remainder=True).",
    "Or set training.steps_per_epoch to the number of whole batches.",
)
_WHERE = "The traceback names the line."


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
