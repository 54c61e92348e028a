"""Explain that a device had no memory left: which one, for which layer, what it held, what to do.

What a device lacked is in the words of the error, and in those of its allocator in the run's log.
What would help is asked of the prediction, before anything is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any

from gpu_studio.common import practice
from gpu_studio.common.figures import size
from gpu_studio.contract import DeviceMemory, Failed, Memory, StateChanged
from gpu_studio.contract.events import SuggestedChange
from gpu_studio.contract.failure_mends import against_want_of_memory, change_to, offered
from gpu_studio.contract.failure_texts import (
    NO_MEMORY_FOR_COPY,
    AllocationRefusal,
    device_in,
    device_without_memory,
    layer_of,
    library_failure_in,
    operations_in,
    refusal_of_disk,
)
from gpu_studio.placement.memory_remedies import MARGIN, Needs, memory_remedies
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Plan, strategy_of
from gpu_studio.trainer.failures import library_memory
from gpu_studio.trainer.failures.failure_context import (
    FailureContext,
    failing_layer,
    found_in_frames,
)
from gpu_studio.trainer.failures.machine_recording import machine_seen

_OOM = re.compile(r"OOM when allocating tensor with shape\[([\d,]*)\] and type (\w+)")
_BYTES = {
    "float": 4,
    "half": 2,
    "bfloat16": 2,
    "double": 8,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "bool": 1,
}
# A function compiled by XLA allocates its memory in one piece.
_WHOLE = re.compile(r"Out of memory while trying to allocate (\d+) bytes")
# CUDA's libraries allocate outside of TensorFlow's memory, which is nearly all of a card.
_BESIDE = re.compile(r"(?:CUDNN|CUBLAS)_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY")
HOST = "host"

_SMALLER_BATCH = (
    "Make training.batch_size smaller: half of it needs about half the memory for activations."
)
_LARGER_SLICE = "Give the device more: a larger slice in devices.carve, fewer slices, or no carve."
_OPTIMIZER = (
    "Choose an optimizer that keeps less for each weight: sgd keeps nothing, adam twice the weight."
)
_WITHOUT_XLA = (
    "Set training.jit_compile to false: XLA asks for a step's temporary tensors in one piece."
)
_OTHERS = "Look who else uses the card: nvidia-smi."
_CLOSE_OTHERS = "Close other programs that need much memory."
_BESIDE_OTHERS = (
    "Leave room on the card for CUDA's libraries: set devices.memory_growth "
    "to true, or make the slices smaller."
)


def is_out_of_memory(error: BaseException, context: FailureContext) -> bool:
    """Return whether TensorFlow's words say that a device had no memory left.

    Those of a library of CUDA's may not say it: then what is known of the run does. A full disk
    raises an error of the same type, and does not count.
    """
    if refusal_of_disk(error):
        return False
    text = str(error)
    return (
        type(error).__name__ == "ResourceExhaustedError"
        or "OOM when allocating" in text
        or NO_MEMORY_FOR_COPY in text
        or bool(_BESIDE.search(text))
        or library_memory.lacked(text, context)
    )


def out_of_memory(error: BaseException, context: FailureContext, trace: str) -> Failed:
    """The `failed` event, from the error and from what is known of the run."""
    text = str(error)
    refused = library_memory.refusals(text, context)
    last = refused[0].device if refused else None
    device = device_without_memory(text) or last or device_in(text)
    device = device or library_memory.device_of(text, context)
    lacked = next((each for each in refused if each.device in (device, None)), None)
    shape = _shape(text)
    layers = context.layers(error)
    layer = failing_layer(error, layers, shape) or _asking(lacked, layers)
    memory = context.memory()
    if memory:
        # The last figures before: without them a run that never trained a step would show none.
        context.tell(Memory(devices=list(memory)))
    asked = _most_asked(refused)
    asked[device] = max(asked.get(device, 0), _asked(text))
    outlook = outlook_of(context, error, device, shown_needs(asked, memory, context.plan))
    part = f"the layer {layer}" if layer else _update(text, lacked, context)
    message = f"Out of memory{_where(device, part)}{_wanted(text, lacked, context)}."
    return Failed(
        message=f"{message}{_held(device, context, memory)}{_alone(outlook)}",
        suggestions=list(_advice(text, device, context, outlook)),
        traceback=trace,
        device=device,
        kind="out_of_memory",
        layer=layer,
        mends=_mends(text, context, outlook),
    )


def _asking(refusal: AllocationRefusal | None, layers: Sequence[Any]) -> str | None:
    """The layer whose operation was refused, in the words of the allocator."""
    return layer_of(refusal.operation, {each.name for each in layers}) if refusal else None


def _update(text: str, refusal: AllocationRefusal | None, context: FailureContext) -> str:
    """Name the optimizer's update if it is one of its operations that was refused, else ""."""
    name = getattr(context.session and context.session.optimizer, "name", None)
    asked = [*operations_in(text), *([refusal.operation] if refusal else [])]
    found = name and any(layer_of(operation, {name}) for operation in asked)
    return "the optimizer's update of the weights" if found else ""


def _most_asked(refused: Sequence[AllocationRefusal]) -> dict[str | None, int]:
    """The most that was refused on each device, in bytes: several may lack room at one time."""
    most = dict[str | None, int]()
    for each in refused:
        most[each.device] = max(most.get(each.device, 0), each.bytes)
    return most


def shown_needs(
    asked: Mapping[str | None, int], memory: Sequence[DeviceMemory], plan: Plan | None
) -> dict[str, int]:
    """What devices have proved to need at least, in bytes, by what was refused on them.

    With as much beyond its limit a device would have had room. What was free below it does not
    count: it was in pieces, none of them large enough. What grows may not have come to its limit.
    """
    grows = plan is not None and plan.devices.memory_growth
    return {
        row.device: max(row.peak, 0 if grows else row.limit or 0) + asked[row.device]
        for row in memory
        if row.source == "allocator" and row.device in asked
    }


def _beside(text: str) -> str:
    """Return the words in which a CUDA library says that it got no memory; empty if none does."""
    found = _BESIDE.search(text)
    if found:
        return found[0] if not _OOM.search(text) else ""
    failed = library_failure_in(text)
    return failed.words if failed and failed.task == "product" else ""


def _advice(
    text: str, device: str | None, context: FailureContext, outlook: MemoryOutlook
) -> Iterator[str]:
    """What to try, as far as it suits the plan and the prediction does not speak against it."""
    if _beside(text):
        yield _BESIDE_OTHERS
    yield from library_memory.advice(text, context)
    if not library_memory.never_began(text):
        yield from _less_or_more(device, context, outlook)


def _less_or_more(
    device: str | None, context: FailureContext, outlook: MemoryOutlook
) -> Iterator[str]:
    """How a run needs less memory, or has more."""
    plan = context.plan
    if context.cuts_batches and _helps("training.batch_size", context, outlook):
        yield _SMALLER_BATCH
    limited = any(each.name == device and each.limit_mib for each in context.logical)
    if limited or plan is None:
        yield _LARGER_SLICE
    if context.session is not None and context.session.program.by_xla:
        yield _WITHOUT_XLA
    if _helps("training.mixed_precision", context, outlook):
        yield "Set training.mixed_precision to true."
    yield _smaller_model(plan, device)
    if plan is not None and plan.training.optimizer != "sgd":
        yield _OPTIMIZER
    if (device or "").startswith("CPU"):
        yield _CLOSE_OTHERS
    elif not limited and practice.chosen() is None:
        yield _OTHERS


def _helps(field: str, context: FailureContext, outlook: MemoryOutlook) -> bool:
    """Whether the prediction says so; without one, whether it may, once there are steps."""
    return field in outlook.fields if outlook.known else context.session is not None


def _smaller_model(plan: Plan | None, device: str | None) -> str:
    if plan is not None and strategy_of(plan).places_layers:
        there = device or "that device"
        return f"Choose a smaller model, or put fewer of its layers on {there}."
    return (
        "Choose a smaller model, or spread its layers over the devices with "
        "distribution.strategy = placed."
    )


def _mends(text: str, context: FailureContext, outlook: MemoryOutlook) -> list[SuggestedChange]:
    """Changes of the plan that help by the prediction; without one, those that may help a step."""
    if context.plan is None:
        return []
    growth = (
        [SuggestedChange(text="Memory growth", field="devices.memory_growth", value=True)]
        if _beside(text)
        else []
    )
    unknown = (
        against_want_of_memory(context.plan, cut=context.cuts_batches)
        if context.session and not outlook.known
        else []
    )
    helps = [
        each
        for each in outlook.mends
        if context.cuts_batches or each.field != "training.batch_size"
    ]
    return [*offered(context.plan, growth), *helps, *unknown]


def _where(device: str | None, part: str) -> str:
    return f" on {device or 'a device'}" + (f", in {part}" if part else "")


def _shape(text: str) -> tuple[int, ...] | None:
    found = _OOM.search(text)
    return tuple(int(size) for size in found[1].split(",") if size) if found else None


def _asked(text: str) -> int:
    """The bytes that could not be had, by the error's words; 0 if they do not say it."""
    found = _OOM.search(text)
    shaped = prod(_shape(text) or ()) * _BYTES.get(found[2], 0) if found else 0
    return max(shaped, library_memory.asked(text))


def _wanted(text: str, lacked: AllocationRefusal | None, context: FailureContext) -> str:
    found = _OOM.search(text)
    if not found and (said := library_memory.wanted(text, lacked, context)):
        return said
    if not found and lacked is not None and lacked.bytes:
        return f": there was no room for another {size(lacked.bytes)}"
    if not found:
        whole = _WHOLE.search(text)
        asked = f": there was no room for another {size(int(whole[1]))}" if whole else ""
        beside = (
            f": CUDA's libraries found no room beside TensorFlow's ({_beside(text)})"
            if _beside(text)
            else ""
        )
        return asked or beside
    shape, kind = found.groups()
    count = prod(_shape(text) or ())
    amount = size(count * _BYTES[kind]) if kind in _BYTES else f"{count} numbers"
    return f": there was no room for another {amount} (a tensor of shape [{shape}], {kind})"


def _held(device: str | None, context: FailureContext, memory: Sequence[DeviceMemory]) -> str:
    rows = {row.device: row for row in memory}
    mine = rows.get(device or "")
    arena = mine if mine is not None and mine.source == "allocator" else rows.get(HOST)
    if arena is None:
        return ""
    whole = f" of its {size(arena.limit)}" if arena.limit else ""
    where = "of the computer's memory" if arena.source == HOST else "there"
    weights = _weights(device, context)
    part = (
        f"; {size(weights)} of it are the weights and the optimizer's state on {device}"
        if weights
        else ""
    )
    return f" At most {size(arena.peak)}{whole} were in use {where}{part}."


def _alone(outlook: MemoryOutlook) -> str:
    if outlook.weights_alone is None:
        return ""
    weights, usable = outlook.weights_alone
    return f" The weights alone, {size(weights)}, do not fit into {size(usable)}."


def _weights(device: str | None, context: FailureContext) -> int:
    if context.session is None:
        return 0
    from gpu_studio.trainer.devices import bytes_by_device

    return bytes_by_device(context.session.program.storage).get(device or "", 0)


MOST_MENDS = 6


@dataclass(frozen=True, slots=True)
class MemoryOutlook:
    """What the prediction says: the changes that help, the best first, if it is `known` at all.

    `weights_alone` are the bytes of the device's weights, and those it has, if not even they fit.
    """

    known: bool = False
    mends: tuple[SuggestedChange, ...] = ()
    weights_alone: tuple[int, int] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the plan whose change helps."""
        return tuple(mend.field for mend in self.mends)


def outlook_of(
    context: FailureContext, error: BaseException, device: str | None, shown: Mapping[str, int]
) -> MemoryOutlook:
    """Return what is predicted for the plan that failed on `device`, and for changes of it.

    `shown` are the bytes that devices have proved to need at least.
    """
    if context.plan is None or context.hurried() or (device or "").startswith("CPU"):
        return MemoryOutlook()  # the host's memory has no limit that could be predicted against
    if library_memory.never_began(str(error)):
        return MemoryOutlook()  # others hold the memory, and a model could not be built here
    context.tell(StateChanged(state="stopping", reason="looking for a plan that fits"))
    try:
        return _outlook(context, context.plan, _dataset(context, error), device, shown)
    except Exception:  # noqa: BLE001  (the failure must be reported, whatever goes wrong here)
        return MemoryOutlook()


def _outlook(
    context: FailureContext,
    plan: Plan,
    dataset: Any,
    device: str | None,
    shown: Mapping[str, int],
) -> MemoryOutlook:
    if dataset is None:
        return MemoryOutlook()
    machine = machine_seen(context)
    facts = _facts(context, plan, dataset)
    needs = Needs(plan, machine, facts, margin=MARGIN, shown=shown)
    remedies = memory_remedies(needs, lambda changed: _facts(context, changed, dataset))
    mends = [change_to(plan, each.make(plan), each.label) for each in islice(remedies, MOST_MENDS)]
    return MemoryOutlook(
        known=True,
        mends=tuple(offered(plan, mends)),
        weights_alone=needs.weights_alone(device or ""),
    )


def _dataset(context: FailureContext, error: BaseException) -> Any:
    """The data of the run; those that were loaded when its model could not be built."""
    if context.session is not None:
        return context.session.dataset
    loaded: Sequence[Any] = found_in_frames(error, "gpu_studio.trainer.data", "Dataset")
    return loaded[0] if loaded else None


def _facts(context: FailureContext, plan: Plan, dataset: Any) -> PlanFacts:
    """What a step of the plan holds, from a copy of its model that stays in the host's memory."""
    import tensorflow as tf

    from gpu_studio.trainer import devices
    from gpu_studio.trainer.answers import building
    from gpu_studio.trainer.answers.rewriting_apart import rewritten_apart

    own = plan.model.python is not None
    devices.set_precision(plan.training.mixed_precision, context.replicas, own=own)
    with tf.device("CPU:0"):
        model = building.model_of(plan, dataset)
        loaded = building.from_file(plan.model)
        # What rewrites graphs may end a process, and this one's failure is not reported yet.
        facts = building.facts_of(
            plan.training, dataset, model, loaded=loaded, rewriting=rewritten_apart
        )
    return PlanFacts(model=facts)
