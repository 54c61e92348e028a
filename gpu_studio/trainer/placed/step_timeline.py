"""The timeline of one real step of a placed model, from TensorFlow's profiler.

It shows when each stage did what. The name of each operation gives its layer and pass
(`placed.devices`), and its micro-batch: gradients are computed micro-batch by micro-batch, and
TensorFlow numbers their scopes `gradients`, `gradients_1`, …. The scope after that is the one in
which the forward pass of the same micro-batch was traced, so that its number is known too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpu_studio.contract import StageSpan, Timeline
from gpu_studio.contract.events import Stage
from gpu_studio.placement.schedule import covered
from gpu_studio.trainer.placed.devices import PLUMBING, Mark, mark_of
from gpu_studio.trainer.placed.placing import LayerAssignment
from gpu_studio.trainer.step_recording import Executed

_GRADIENTS = re.compile(r"(?:^|/)gradients(?:_(\d+))?/(.*)")
_LOOP = re.compile(r"^(?:while/)?(?:body/_\d+/)?(?:while/)?")
_NO_WORK = PLUMBING | {"ReadVariableOp", "VarHandleOp", "Shape", "ShapeN"}
"""What is done long before or after a stage is at work, and takes no time."""
ONCE = -1
"""The micro-batch of an update."""
PAUSE = 0.01
"""A pause of this part of a step ends a task: what comes after it is another."""
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Placed:
    """An operation of a layer: its mark, its device, its micro-batch, and when it ran."""

    mark: Mark
    device: str
    micro_batch: int | None
    span: Span


def timeline_of(
    executed: Sequence[Executed], seats: Sequence[LayerAssignment], step: int, micro_batches: int
) -> Timeline | None:
    """Return the event about a step, given everything it executed; None if no layer was seen.

    `seats` are all of the model's, in the order of their numbers.
    """
    found = list(_placed(executed, seats, micro_batches))
    if not found:
        return None
    start = min(each.span[0] for each in found)
    stages = stages_of(seats)
    return Timeline(
        step=step,
        seconds=max(each.span[1] for each in found) - start,
        micro_batches=micro_batches,
        stages=[
            Stage(device=seats[numbers[0]].home, layers=[seats[n].path for n in numbers])
            for numbers in stages
        ],
        tasks=list(_tasks(found, stages, start)),
        busy=_busy(found),
    )


def stages_of(seats: Sequence[LayerAssignment]) -> list[list[int]]:
    """Group the numbers of the seats: seats that follow each other on one device form a stage."""
    stages: list[list[int]] = []
    for seat in seats:
        if stages and seats[stages[-1][-1]].home == seat.home:
            stages[-1].append(seat.number)
        else:
            stages.append([seat.number])
    return stages


def micro_batches_of(names: Iterable[str]) -> dict[str, int]:
    """Return the micro-batch of each scope in which a forward pass was traced.

    The names of its gradients give the number.
    """
    found: dict[str, int] = {}
    for name in names:
        match = _GRADIENTS.search(name)
        if match:
            found.setdefault(_root(match.group(2)), int(match.group(1) or 0))
    return found


def _placed(
    executed: Sequence[Executed], seats: Sequence[LayerAssignment], micro_batches: int
) -> Iterator[_Placed]:
    of_scope = micro_batches_of(each.name for each in executed)
    for each in executed:
        mark = mark_of(each.name)
        if mark is not None and mark.seat < len(seats) and each.kind not in _NO_WORK:
            number = 0 if micro_batches == 1 else _micro_batch(each.name, mark, of_scope)
            micro_batch = ONCE if mark.way == "update" else number
            yield _Placed(
                mark, _device(seats[mark.seat], mark), micro_batch, (each.begin, each.end)
            )


def _micro_batch(name: str, mark: Mark, of_scope: dict[str, int]) -> int | None:
    match = _GRADIENTS.search(name)
    if match:
        return int(match.group(1) or 0)
    return of_scope.get(_root(name)) if mark.way == "forward" else None


def _root(name: str) -> str:
    """Return the outermost scope, that of the model's call, without the loop over the steps."""
    return _LOOP.sub("", name).partition("/")[0]


def _device(seat: LayerAssignment, mark: Mark) -> str:
    part = int(mark.part) if mark.part.isdecimal() else None
    return seat.devices[part] if part is not None and part < len(seat.devices) else seat.home


def _tasks(
    found: Sequence[_Placed], stages: Sequence[Sequence[int]], start: float
) -> Iterator[StageSpan]:
    stage_of = {number: place for place, numbers in enumerate(stages) for number in numbers}
    spans: dict[tuple[int, str, int | None, str], list[Span]] = {}
    for each in found:
        spans.setdefault(
            (stage_of[each.mark.seat], each.mark.way, each.micro_batch, each.device), []
        ).append(each.span)
    pause = PAUSE * (max(each.span[1] for each in found) - start)
    bursts = [(burst, key) for key, mine in spans.items() for burst in bursts_of(mine, pause)]
    for burst, (stage, way, number, device) in sorted(bursts, key=lambda each: each[0][0]):
        begin, end = burst[0][0] - start, max(span[1] for span in burst) - start
        yield StageSpan(
            stage=stage,
            way=way,
            micro_batch=number,
            begin=begin,
            end=end,
            busy=covered(burst),
            device=device,
        )


def bursts_of(spans: Iterable[Span], pause: float) -> list[list[Span]]:
    """Return the spans in order, split wherever none of them runs for longer than `pause`.

    An optimizer's powers of a constant are computed long before the gradients are there: a single
    task from the first to the last operation of an update would seem to fill the step.
    """
    bursts: list[list[Span]] = []
    reached = 0.0
    for span in sorted(spans):
        if not bursts or span[0] - reached > pause:
            bursts.append([])
            reached = span[1]
        bursts[-1].append(span)
        reached = max(reached, span[1])
    return bursts


def _busy(found: Sequence[_Placed]) -> dict[str, float]:
    by_device: dict[str, list[Span]] = {}
    for each in found:
        by_device.setdefault(each.device, []).append(each.span)
    return {device: covered(spans) for device, spans in sorted(by_device.items())}
