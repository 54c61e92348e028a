"""When each device will do what in one training step: every micro-batch forward and back through the stages.

Stages are what TensorFlow's executor makes of a placement: layers that follow each other on one device. A stage starts
on a micro-batch as soon as its input is there and its device is free, the first that could start going first; the
backward pass of a micro-batch begins when its forward pass has ended (GPipe, Huang et al. 2019, figure 2c).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_studio.placement.work import Device, Work


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
    """A step. `bubble` is the share of the devices' time in which those that have a stage wait."""

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

    At most `workers` stages work at one time: the cores, where the devices are logical CPUs that share them.
    """
    jobs = _jobs(work, devices, placement, micro_batches)
    tasks = _run(jobs, len(devices), workers or len(devices))
    seconds = max((task.end for task in tasks), default=0.0)
    used = {task.device for task in tasks}
    busy = sum(task.end - task.begin for task in tasks)
    return Timeline(tuple(tasks), seconds, 1 - busy / (len(used) * seconds) if seconds else 0.0)


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
    jobs: list[_Job] = []
    for micro_batch in range(count):
        for stage in stages:
            device = placement[stage[0]]
            took = [float(seconds[device, layer]) for layer in stage]
            ahead = sum(t * float(work.forward_share[layer]) for t, layer in zip(took, stage, strict=True))
            jobs.append(_Job(device, stage, micro_batch, "forward", ahead))
            jobs.append(_Job(device, stage, micro_batch, "backward", sum(took) - ahead))
    _wire(jobs, work, devices, stages, count)
    _add_updates(jobs, work, stages, count)
    return jobs


def _wire(jobs: list[_Job], work: Work, devices: Sequence[Device], stages: Sequence[Sequence[int]], count: int) -> None:
    """Let each stage wait for its inputs on the way forward, and for their takers on the way back."""
    sent = _sent(work, stages, count)
    for micro_batch in range(count):
        first = 2 * micro_batch * len(stages)
        for (source, target), carried in sent.items():
            ahead = _travel(jobs, first + 2 * source, first + 2 * target, carried, devices)
            _then(jobs, first + 2 * source, first + 2 * target, ahead)
            back = _travel(jobs, first + 2 * target, first + 2 * source, carried, devices)
            _then(jobs, first + 2 * target + 1, first + 2 * source + 1, back)
        for stage in range(len(stages)):
            _then(jobs, first + 2 * stage, first + 2 * stage + 1, 0.0)
        # The loss is known when the whole model has been gone through, and no gradient before.
        _then(jobs, first + 2 * len(stages) - 2, first + 2 * len(stages) - 1, 0.0)


def _add_updates(jobs: list[_Job], work: Work, stages: Sequence[tuple[int, ...]], count: int) -> None:
    """Each stage is updated once its gradients of all micro-batches are there."""
    for place, stage in enumerate(stages):
        device = jobs[2 * place].device
        seconds = sum(float(work.update[device, layer]) for layer in stage)
        jobs.append(_Job(device, stage, -1, "update", seconds))
        for micro_batch in range(count):
            _then(jobs, 2 * (micro_batch * len(stages) + place) + 1, len(jobs) - 1, 0.0)


def _sent(work: Work, stages: Sequence[Sequence[int]], count: int) -> dict[tuple[int, int], float]:
    """The bytes of a micro-batch that go from one stage to another."""
    stage_of = {layer: place for place, stage in enumerate(stages) for layer in stage}
    pairs: dict[tuple[int, int], set[int]] = {}
    for layer, inputs in enumerate(work.inputs):
        for producer in inputs:
            if stage_of[producer] != stage_of[layer]:
                pairs.setdefault((stage_of[producer], stage_of[layer]), set()).add(producer)
    return {
        pair: sum(float(work.output_bytes[producer]) for producer in producers) * work.batch / count
        for pair, producers in pairs.items()
    }


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
        for taker, delay in job.takers:
            came[taker] = max(came[taker], end + delay)
            jobs[taker].missing -= 1
            if not jobs[taker].missing:
                heapq.heappush(ready, (came[taker], jobs[taker].micro_batch, taker))
    return tasks
