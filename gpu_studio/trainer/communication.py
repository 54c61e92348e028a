"""How much of a step the devices spend on communication, from TensorFlow's profile of it.

A device's time is divided as in Holistic Trace Analysis ("Temporal Breakdown", hta.readthedocs.io):
the device *computes* while any of its operations computes; its communication is *exposed* while it
communicates and computes nothing; otherwise it is *idle*. Communication hidden behind computing
costs nothing. The step as a whole computes while any of its devices does, so that a replica that
waits in an all-reduce for one that still computes counts as waiting.

Communication is what carries tensors between devices (sends, copies, collectives, NCCL's kernels),
and what sums up and packs the replicas' results, which is recognised by a scope of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Any, Final

import tensorflow as tf

from gpu_studio.contract import Communication, DeviceTimes
from gpu_studio.placement.schedule import Span, covered
from gpu_studio.trainer.step_recording import (
    RECEIVES,
    SENDS,
    Executed,
    Recorded,
    devices_in,
    if_possible,
    watched_graphs,
)

SCOPE: Final = "between_replicas"
_SCOPED: Final = re.compile(rf"(?:^|/){SCOPE}(?:_\d+)?/")
_COLLECTIVE: Final = re.compile(r"^(?:Collective|Nccl|nccl)")
_EDGE: Final = "edge_"
"""TensorFlow names a copy from device to device after the edge of its graph."""
_BETWEEN_CARDS: Final = "MemcpyP2P"
_NO_WORK: Final = frozenset(
    {"IteratorGetNext", "MultiDeviceIteratorGetNextFromShard", "OptionalGetValue"}
    | {
        "While",
        "StatelessWhile",
        "If",
        "StatelessIf",
        "Case",
        "PartitionedCall",
        "StatefulPartitionedCall",
    }
)
"""What waits for data, and what only holds other operations."""


@contextmanager
def between_replicas() -> Iterator[None]:
    """Enter a scope whose operations count as communication between replicas."""
    with tf.name_scope(SCOPE):
        yield


class CommunicationMeter:
    """Makes the event about the recorded steps of a run on `devices`, such as `GPU:0`."""

    def __init__(self, devices: Iterable[str], replicas: int) -> None:
        self._devices, self._replicas = list(dict.fromkeys(devices)), replicas
        self._where: Mapping[str, str] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Learn, from the first call, on which device each operation is."""
        with if_possible(watched_graphs, list[Any]()) as graphs:
            yield
        self.learn(graphs)

    def learn(self, graphs: Iterable[Any]) -> None:
        """Take note of the graphs that TensorFlow runs."""
        self._where = devices_in(graphs)

    def read(self, recorded: Recorded) -> Communication | None:
        """Return the event about recorded steps; None if no device was seen working.

        What was learnt about the graphs is released.
        """
        where, self._where = self._where, {}
        return communication_of(recorded, where, self._devices, self._replicas)


@dataclass(slots=True)
class _Work:
    """When a device, or any of some devices, computed and communicated."""

    compute: list[Span] = field(default_factory=list)
    communication: list[Span] = field(default_factory=list)
    collectives: list[Span] = field(default_factory=list)

    @property
    def exposed(self) -> float:
        return covered(self.compute + self.communication) - covered(self.compute)


def communication_of(
    recorded: Recorded, where: Mapping[str, str], devices: Sequence[str], replicas: int
) -> Communication | None:
    """How the time of the recorded steps was spent on `devices`.

    None if none of them was seen at work.

    `where` has the device of each operation by its name. What is not in it belongs to other
    functions, as those that read data ahead.
    """
    work = _work(recorded.executed, where, devices)
    every = _Work()
    for one in work.values():
        every.compute += one.compute
        every.communication += one.communication
    if not every.compute:
        return None
    steps, spans = recorded.steps, every.compute + every.communication
    seconds = max(end for _, end in spans) - min(begin for begin, _ in spans)
    waiting = _waiting(work)
    return Communication(
        step=recorded.step,
        steps=steps,
        replicas=replicas,
        seconds=seconds / steps,
        input_seconds=recorded.input_seconds / steps,
        compute=covered(every.compute) / steps,
        exposed=every.exposed / steps,
        devices=[_device(name, work[name], seconds, steps, waiting.get(name)) for name in devices],
    )


def _device(
    name: str, work: _Work, seconds: float, steps: int, waiting: float | None
) -> DeviceTimes:
    compute = covered(work.compute)
    return DeviceTimes(
        device=name,
        compute=compute / steps,
        communication=covered(work.communication) / steps,
        exposed=work.exposed / steps,
        idle=max(0.0, seconds - compute - work.exposed) / steps,
        waiting=None if waiting is None else waiting / steps,
    )


def communicates(each: Executed) -> bool:
    """Whether an operation, or a kernel, is communication between devices."""
    return (
        each.kind in SENDS
        or each.kind in RECEIVES
        or _is_collective(each)
        or each.kernel == _BETWEEN_CARDS
        or each.name.startswith(_EDGE)
        or _SCOPED.search(each.name) is not None
    )


def _is_collective(each: Executed) -> bool:
    return any(_COLLECTIVE.match(name) for name in (each.kind, each.kernel))


def _work(
    executed: Iterable[Executed], where: Mapping[str, str], devices: Sequence[str]
) -> dict[str, _Work]:
    found = {device: _Work() for device in devices}
    seen = _undisturbed([each for each in executed if each.kind not in _NO_WORK])
    cards = _cards(seen, where)
    for each in seen:
        device = where.get(each.name) or cards.get(each.card, "")
        # Of a card the kernels count, and not what the host does to launch them.
        if device not in found or (device.startswith("GPU") and not each.card):
            continue
        work, span = found[device], (each.begin, each.end)
        if not communicates(each):
            work.compute.append(span)
            continue
        work.communication.append(span)
        if _is_collective(each):
            work.collectives.append(span)
    return found


def _undisturbed(executed: Sequence[Executed]) -> list[Executed]:
    """Cut each host operation to the median duration of its executions.

    A thread that loses its core in the middle of a send of microseconds seems to send for
    milliseconds.
    """
    took: dict[str, list[float]] = defaultdict(list)
    for each in executed:
        took[each.name].append(each.end - each.begin)
    usual = {name: median_low(times) for name, times in took.items()}
    return [
        each if each.card else replace(each, end=min(each.end, each.begin + usual[each.name]))
        for each in executed
    ]


def _cards(executed: Iterable[Executed], where: Mapping[str, str]) -> dict[str, str]:
    """The logical device of each card in the profile that has only one.

    NCCL names no operation of the graph.
    """
    on: dict[str, set[str]] = defaultdict(set)
    for each in executed:
        if each.card and where.get(each.name, "").startswith("GPU"):
            on[each.card].add(where[each.name])
    return {card: next(iter(devices)) for card, devices in on.items() if len(devices) == 1}


def _waiting(work: Mapping[str, _Work]) -> dict[str, float]:
    """Return the seconds that each device waited in collectives for the last device to arrive.

    Empty unless at least two devices have such operations, and equally many of them.
    """
    taking_part = {
        device: sorted(one.collectives) for device, one in work.items() if one.collectives
    }
    if len(taking_part) < 2 or len({len(spans) for spans in taking_part.values()}) > 1:
        return {}
    last = [
        max(begin for begin, _ in together) for together in zip(*taking_part.values(), strict=True)
    ]
    return {
        device: sum(
            max(0.0, min(end, all_in) - begin)
            for (begin, end), all_in in zip(spans, last, strict=True)
        )
        for device, spans in taking_part.items()
    }
