"""When each device will do what in one training step: every micro-batch forward and back through the stages.

Stages are what TensorFlow's executor makes of a placement: layers that follow each other on one device. A stage starts
on a micro-batch as soon as its input is there and its device is free, the first that could start going first; the
backward pass of a micro-batch begins when its forward pass has ended (GPipe, Huang et al. 2019, figure 2c). Of many
micro-batches a later one begins when an earlier one has gone back through all stages (`stage_memory.at_once`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpu_studio.placement.occupation import bubble_of, busy_seconds
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.placement.work import Device, Work

FULL = 1 - 1e-9
"""The cores are all taken, whatever the rounding."""


@dataclass(frozen=True, slots=True)
class Task:
    """A stage at work, from `begin` to `end` seconds after the step began. An update has the micro-batch -1."""

    device: int
    layers: tuple[int, ...]
    micro_batch: int
    what: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """A step. `bubble` is the share of the devices' time in which those that have a stage wait.

    Tasks of one device overlap only where it shares the machine's cores with others.
    """

    tasks: tuple[Task, ...]
    seconds: float
    bubble: float


def even_bubble(stages: int, micro_batches: int) -> float:
    """The bubble where all stages take the same time: (K - 1) / (M + K - 1) (GPipe, section 2.3)."""
    return (stages - 1) / (micro_batches + stages - 1)


def timeline(
    work: Work, devices: Sequence[Device], placement: Sequence[int], micro_batches: int, workers: int | None = None
) -> Timeline:
    """The step of `work` with layer l on device `placement[l]`.

    Where it was measured how devices share the machine's cores (`work.share`), they share them so. Else each does one
    thing at a time, and at most `workers` of them do anything.
    """
    jobs = _jobs(work, devices, placement, micro_batches)
    share = common_share(work, placement)
    if share is None:  # Where the cores are shared, as many are under way as keep them busy.
        _hold_back(jobs, work, stages_of(placement), micro_batches)
    tasks = _run(jobs, len(devices), workers or len(devices)) if share is None else _run_together(jobs, share)
    seconds = max((task.end for task in tasks), default=0.0)
    return Timeline(tuple(tasks), seconds, bubble_of(busy_in(tasks).values(), seconds))


def busy_in(tasks: Sequence[Task]) -> dict[int, float]:
    """For each device that has a task the seconds in which it has one."""
    return busy_seconds((task.device, (task.begin, task.end)) for task in tasks)


@dataclass(slots=True)
class _Job:
    """Something to be done on a device, once what it waits for has come: job by job, each so long after its end."""

    device: int
    layers: tuple[int, ...]
    micro_batch: int
    what: str
    seconds: float
    takers: list[tuple[int, float]] = field(default_factory=list)
    missing: int = 0


def stages_of(placement: Sequence[int]) -> list[tuple[int, ...]]:
    """The layers that follow each other on one device, as places."""
    stages: list[list[int]] = []
    for layer, device in enumerate(placement):
        if stages and placement[stages[-1][-1]] == device:
            stages[-1].append(layer)
        else:
            stages.append([layer])
    return [tuple(stage) for stage in stages]


def _jobs(work: Work, devices: Sequence[Device], placement: Sequence[int], count: int) -> list[_Job]:
    """Forward, backward and update of every stage: job number 2 · (micro-batch · stages + stage) is a forward one."""
    stages = stages_of(placement)
    seconds = work.seconds(count)
    ahead = seconds * work.forward_share
    jobs: list[_Job] = []
    passes = []
    for stage in stages:
        device, layers = placement[stage[0]], list(stage)
        passes.append((device, stage, float(ahead[device, layers].sum()), float(seconds[device, layers].sum())))
    for micro_batch in range(count):
        for device, stage, forward, both in passes:
            jobs.append(_Job(device, stage, micro_batch, "forward", forward))
            jobs.append(_Job(device, stage, micro_batch, "backward", both - forward))
    _wire(jobs, work, devices, stages, count)
    _add_updates(jobs, work, stages, count)
    return jobs


def _wire(jobs: list[_Job], work: Work, devices: Sequence[Device], stages: Sequence[Sequence[int]], count: int) -> None:
    """Let each stage wait for its inputs on the way forward, and for their takers on the way back."""
    sent = _sent(work, stages, count)
    for micro_batch in range(count):
        first = 2 * micro_batch * len(stages)
        for (source, target), (carried, returned) in sent.items():
            ahead = _travel(jobs, first + 2 * source, first + 2 * target, carried, devices)
            _then(jobs, first + 2 * source, first + 2 * target, ahead)
            back = _travel(jobs, first + 2 * target, first + 2 * source, returned, devices)
            _then(jobs, first + 2 * target + 1, first + 2 * source + 1, back)
        for stage in range(len(stages)):
            _then(jobs, first + 2 * stage, first + 2 * stage + 1, 0.0)
        # The loss is known when the whole model has been gone through, and no gradient before.
        _then(jobs, first + 2 * len(stages) - 2, first + 2 * len(stages) - 1, 0.0)


def _hold_back(jobs: list[_Job], work: Work, stages: Sequence[Sequence[int]], count: int) -> None:
    """Let a micro-batch begin, in stages that no other feeds, once an earlier one has gone back through all."""
    fed = {target for _, target in _sent(work, stages, count)}
    under_way = at_once(len({job.device for job in jobs}))
    for micro_batch in range(under_way, count):
        back = [2 * ((micro_batch - under_way) * len(stages) + stage) + 1 for stage in range(len(stages))]
        for begin in set(range(len(stages))) - fed:
            for ended in back:
                _then(jobs, ended, 2 * (micro_batch * len(stages) + begin), 0.0)


def _add_updates(jobs: list[_Job], work: Work, stages: Sequence[tuple[int, ...]], count: int) -> None:
    """Each stage is updated once its gradients of all micro-batches are there."""
    for place, stage in enumerate(stages):
        device = jobs[2 * place].device
        seconds = sum(float(work.update[device, layer]) for layer in stage)
        jobs.append(_Job(device, stage, -1, "update", seconds))
        for micro_batch in range(count):
            _then(jobs, 2 * (micro_batch * len(stages) + place) + 1, len(jobs) - 1, 0.0)


def _sent(work: Work, stages: Sequence[Sequence[int]], count: int) -> dict[tuple[int, int], tuple[float, float]]:
    """The bytes of a micro-batch that go from one stage to another, and those of the gradients that come back."""
    stage_of = {layer: place for place, stage in enumerate(stages) for layer in stage}
    pairs: dict[tuple[int, int], set[int]] = {}
    for layer, inputs in enumerate(work.inputs):
        for producer in inputs:
            if stage_of[producer] != stage_of[layer]:
                pairs.setdefault((stage_of[producer], stage_of[layer]), set()).add(producer)
    samples = work.batch / count
    returned = work.sent_bytes - work.output_bytes
    sent = {}
    for pair, producers in pairs.items():
        from_there = list(producers)
        sent[pair] = samples * float(work.output_bytes[from_there].sum()), samples * float(returned[from_there].sum())
    return sent


def _travel(jobs: Sequence[_Job], source: int, target: int, carried: float, devices: Sequence[Device]) -> float:
    there = jobs[target].device
    return 0.0 if jobs[source].device == there else carried / devices[there].bandwidth


def _then(jobs: list[_Job], first: int, second: int, delay: float) -> None:
    jobs[first].takers.append((second, delay))
    jobs[second].missing += 1


def _run(jobs: list[_Job], devices: int, workers: int) -> list[Task]:
    """Do all jobs, at each moment the ones that could begin first, and of those the earlier micro-batch."""
    came = [0.0] * len(jobs)
    ready = [(0.0, job.micro_batch, number) for number, job in enumerate(jobs) if not job.missing]
    heapq.heapify(ready)
    free, hands, tasks = [0.0] * devices, [0.0] * workers, []
    while ready:
        could, order, number = heapq.heappop(ready)
        job = jobs[number]
        begin = max(could, free[job.device], hands[0])
        if begin > could:
            # Others may be able to begin before this one can: it takes its turn again when it can.
            heapq.heappush(ready, (begin, order, number))
            continue
        end = begin + job.seconds
        free[job.device] = end
        heapq.heapreplace(hands, end)
        tasks.append(Task(job.device, job.layers, job.micro_batch, job.what, begin, end))
        for taker in _freed(jobs, number, end, came):
            heapq.heappush(ready, (came[taker], jobs[taker].micro_batch, taker))
    return tasks


def _run_together(jobs: list[_Job], share: float) -> list[Task]:
    """Do all jobs on cores of which each takes `share`: TensorFlow's threads take any operation, of whatever device.

    So many begin as keep the cores busy; where they want more than there is, each goes on so much slower. Updates take
    all cores: those of a device's layers are independent of each other, and done at once.
    """
    came, taken = [0.0] * len(jobs), 0.0
    ready = [(0.0, job.micro_batch, number) for number, job in enumerate(jobs) if not job.missing]
    heapq.heapify(ready)
    now, work, tasks = 0.0, 0.0, []
    # By the work after which each ends, of which all that are running do as much.
    running: list[tuple[float, int, float]] = []
    while ready or running:
        while ready and ready[0][0] <= now and taken < FULL:
            number = heapq.heappop(ready)[2]
            heapq.heappush(running, (work + jobs[number].seconds, number, now))
            taken += _share_of(jobs[number], share)
        rate = min(1.0, 1 / taken) if running else 1.0
        ends = now + (running[0][0] - work) / rate if running else math.inf
        if ready and taken < FULL and ready[0][0] < ends:
            work, now = work + (ready[0][0] - now) * rate, ready[0][0]
            continue
        now = ends
        work, number, begin = heapq.heappop(running)
        job = jobs[number]
        taken -= _share_of(job, share)
        tasks.append(Task(job.device, job.layers, job.micro_batch, job.what, begin, now))
        for taker in _freed(jobs, number, now, came):
            heapq.heappush(ready, (came[taker], jobs[taker].micro_batch, taker))
    return tasks


def _share_of(job: _Job, share: float) -> float:
    return 1.0 if job.what == "update" else share


def _freed(jobs: list[_Job], number: int, end: float, came: list[float]) -> Iterator[int]:
    """The jobs that wait for nothing any more now that this one has ended; `came` is told when they could begin."""
    for taker, delay in jobs[number].takers:
        came[taker] = max(came[taker], end + delay)
        jobs[taker].missing -= 1
        if not jobs[taker].missing:
            yield taker


def common_share(work: Work, placement: Sequence[int]) -> float | None:
    """The part of the cores that a job takes, where all devices with a layer share them; cards do not."""
    shares = [work.share[device] for device in set(placement) if device < len(work.share)]
    known = [share for share in shares if share]
    return sum(known) / len(known) if known and len(known) == len(set(placement)) else None
