"""When each device does what in one training step, with all micro-batches forward and back.

Stages are what TensorFlow's executor makes of a placement: consecutive layers on one device. A
stage starts on a micro-batch as soon as its input and its device are available, the earliest
possible first; the backward pass of a micro-batch begins when its forward pass has ended
(GPipe, Huang et al. 2019, figure 2c). With many micro-batches, a later one begins when an
earlier one has passed back through all stages (`stage_memory.at_once`), and goes on to a card when
it is its turn there (`turns_at_once`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpu_studio.placement.stage_memory import at_once, turns_at_once
from gpu_studio.placement.work import Array, Device, Work

NOWHERE = Device("no device")
"""Where the parts of a split layer pause: its devices take no turns."""
FULL = 1 - 1e-9
"""All cores are in use, allowing for rounding."""


@dataclass(frozen=True, slots=True)
class StageTask:
    """A stage at work, from `begin` to `end` seconds after the step's start.

    An update has micro-batch -1.
    """

    device: int
    layers: tuple[int, ...]
    micro_batch: int
    what: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class StepTimeline:
    """A step. `bubble` is the share of the time in which devices that have a stage wait.

    Tasks of one device overlap only if it shares the machine's cores with others.
    """

    tasks: tuple[StageTask, ...]
    seconds: float
    bubble: float


def even_bubble(stages: int, micro_batches: int) -> float:
    """The bubble if all stages take equal time: (K - 1) / (M + K - 1) (GPipe, section 2.3)."""
    return (stages - 1) / (micro_batches + stages - 1)


def timeline(
    work: Work,
    devices: Sequence[Device],
    placement: Sequence[int],
    micro_batches: int,
    workers: int | None = None,
) -> StepTimeline:
    """The step of `work` with layer l on device `placement[l]`.

    If it was measured how devices share the machine's cores (`work.share`), they share them
    accordingly. Otherwise each does one thing at a time, and at most `workers` of them work at
    once.
    """
    jobs = _jobs(work, devices, placement, micro_batches)
    share = common_share(work, placement)
    if share is None:  # On shared cores, as many run at once as keep the cores busy.
        _hold_back(jobs, work, stages_of(placement), micro_batches)
        if NOWHERE not in devices:
            _take_turns(jobs, devices, placement, micro_batches)
    tasks = (
        _run(jobs, len(devices), workers or len(devices))
        if share is None
        else _run_together(jobs, share)
    )
    seconds = max((task.end for task in tasks), default=0.0)
    return StepTimeline(tuple(tasks), seconds, bubble_of(busy_in(tasks).values(), seconds))


def busy_in(tasks: Sequence[StageTask]) -> dict[int, float]:
    """For each device that has a task, the seconds in which it has one."""
    return busy_seconds((task.device, (task.begin, task.end)) for task in tasks)


@dataclass(slots=True)
class _Job:
    """A piece of work on a device, ready some time after each job that it waits for has ended."""

    device: int
    layers: tuple[int, ...]
    micro_batch: int
    what: str
    seconds: float
    takers: list[tuple[int, float]] = field(default_factory=list)
    missing: int = 0


def stages_of(placement: Sequence[int]) -> list[tuple[int, ...]]:
    """The groups of consecutive layers on one device, as indices."""
    stages: list[list[int]] = []
    for layer, device in enumerate(placement):
        if stages and placement[stages[-1][-1]] == device:
            stages[-1].append(layer)
        else:
            stages.append([layer])
    return [tuple(stage) for stage in stages]


def _jobs(
    work: Work, devices: Sequence[Device], placement: Sequence[int], count: int
) -> list[_Job]:
    """Forward, backward and update of every stage.

    Job number 2 · (micro-batch · stages + stage) is a forward one.
    """
    stages = stages_of(placement)
    seconds = work.seconds(count)
    ahead = seconds * work.forward_share
    jobs: list[_Job] = []
    passes = []
    for stage in stages:
        device, layers = placement[stage[0]], list(stage)
        passes.append(
            (
                device,
                stage,
                float(ahead[device, layers].sum()),
                float(seconds[device, layers].sum()),
            )
        )
    for micro_batch in range(count):
        for device, stage, forward, both in passes:
            jobs.append(_Job(device, stage, micro_batch, "forward", forward))
            jobs.append(_Job(device, stage, micro_batch, "backward", both - forward))
    _wire(jobs, work, devices, stages, count)
    _add_updates(jobs, work, stages, count)
    return jobs


def _wire(
    jobs: list[_Job],
    work: Work,
    devices: Sequence[Device],
    stages: Sequence[Sequence[int]],
    count: int,
) -> None:
    """Make stages wait for their inputs on the way forward, and for their users on the way back."""
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
        # The loss, and with it any gradient, is known only after the whole forward pass.
        _then(jobs, first + 2 * len(stages) - 2, first + 2 * len(stages) - 1, 0.0)


def _hold_back(jobs: list[_Job], work: Work, stages: Sequence[Sequence[int]], count: int) -> None:
    """Start a micro-batch, in stages without other inputs, once an earlier one has passed back."""
    fed = {target for _, target in _sent(work, stages, count)}
    under_way = at_once(len({job.device for job in jobs}))
    for micro_batch in range(under_way, count):
        back = [
            2 * ((micro_batch - under_way) * len(stages) + stage) + 1
            for stage in range(len(stages))
        ]
        for begin in set(range(len(stages))) - fed:
            for ended in back:
                _then(jobs, ended, 2 * (micro_batch * len(stages) + begin), 0.0)


def _take_turns(
    jobs: list[_Job], devices: Sequence[Device], placement: Sequence[int], count: int
) -> None:
    """Start a micro-batch in a stage on a card once an earlier one has gone back from there."""
    stages = stages_of(placement)
    homes = [placement[stage[0]] for stage in stages]
    turns = turns_at_once([[devices[home].name] for home in homes])
    for place, home in enumerate(homes):
        at_once = turns.get(devices[home].name, count)
        for micro_batch in range(at_once, count):
            forward = 2 * (micro_batch * len(stages) + place)
            for other in (other for other, there in enumerate(homes) if there == home):
                back = 2 * ((micro_batch - at_once) * len(stages) + other) + 1
                _then(jobs, back, forward, 0.0)


def _add_updates(
    jobs: list[_Job], work: Work, stages: Sequence[tuple[int, ...]], count: int
) -> None:
    """Each stage is updated once its gradients of all micro-batches are complete."""
    for place, stage in enumerate(stages):
        device = jobs[2 * place].device
        seconds = sum(float(work.update[device, layer]) for layer in stage)
        jobs.append(_Job(device, stage, -1, "update", seconds))
        for micro_batch in range(count):
            _then(jobs, 2 * (micro_batch * len(stages) + place) + 1, len(jobs) - 1, 0.0)


def _sent(
    work: Work, stages: Sequence[Sequence[int]], count: int
) -> dict[tuple[int, int], tuple[float, float]]:
    """The bytes of a micro-batch sent between stages, and those of the gradients sent back."""
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
        sent[pair] = (
            samples * float(work.output_bytes[from_there].sum()),
            samples * float(returned[from_there].sum()),
        )
    return sent


def _travel(
    jobs: Sequence[_Job], source: int, target: int, carried: float, devices: Sequence[Device]
) -> float:
    there = jobs[target].device
    return 0.0 if jobs[source].device == there else carried / devices[there].bandwidth


def _then(jobs: list[_Job], first: int, second: int, delay: float) -> None:
    jobs[first].takers.append((second, delay))
    jobs[second].missing += 1


def _run(jobs: list[_Job], devices: int, workers: int) -> list[StageTask]:
    """Run all jobs: at each moment those that can begin first, the earlier micro-batches first."""
    came = [0.0] * len(jobs)
    ready = [(0.0, job.micro_batch, number) for number, job in enumerate(jobs) if not job.missing]
    heapq.heapify(ready)
    free, hands, tasks = [0.0] * devices, [0.0] * workers, []
    while ready:
        could, order, number = heapq.heappop(ready)
        job = jobs[number]
        begin = max(could, free[job.device], hands[0])
        if begin > could:
            # Others may be able to begin before this one: it is queued again for when it can.
            heapq.heappush(ready, (begin, order, number))
            continue
        end = begin + job.seconds
        free[job.device] = end
        heapq.heapreplace(hands, end)
        tasks.append(StageTask(job.device, job.layers, job.micro_batch, job.what, begin, end))
        for taker in _freed(jobs, number, end, came):
            heapq.heappush(ready, (came[taker], jobs[taker].micro_batch, taker))
    return tasks


def _run_together(jobs: list[_Job], share: float) -> list[StageTask]:
    """Run all jobs on shared cores, of which each takes `share`.

    Any thread takes any device's operation. Enough jobs start to keep the cores busy; if they want
    more than there is, each slows down accordingly. Updates take all cores: those of a device's
    layers are independent of each other, and run at once.
    """
    came, taken = [0.0] * len(jobs), 0.0
    ready = [(0.0, job.micro_batch, number) for number, job in enumerate(jobs) if not job.missing]
    heapq.heapify(ready)
    now, work, tasks = 0.0, 0.0, []
    # Ordered by the amount of work at which each ends; all running jobs progress equally.
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
        tasks.append(StageTask(job.device, job.layers, job.micro_batch, job.what, begin, now))
        for taker in _freed(jobs, number, now, came):
            heapq.heappush(ready, (came[taker], jobs[taker].micro_batch, taker))
    return tasks


def _share_of(job: _Job, share: float) -> float:
    return 1.0 if job.what == "update" else share


def _freed(jobs: list[_Job], number: int, end: float, came: list[float]) -> Iterator[int]:
    """The jobs that become ready as this one ends; `came` records when they can begin."""
    for taker, delay in jobs[number].takers:
        came[taker] = max(came[taker], end + delay)
        jobs[taker].missing -= 1
        if not jobs[taker].missing:
            yield taker


def common_share(work: Work, placement: Sequence[int]) -> float | None:
    """The part of the cores that a job takes, if all devices with a layer share them.

    Cards do not.
    """
    shares = [work.share[device] for device in set(placement) if device < len(work.share)]
    known = [share for share in shares if share]
    return sum(known) / len(known) if known and len(known) == len(set(placement)) else None


def timeline_of_parts(
    work: Work,
    devices: Sequence[Device],
    placement: Sequence[Sequence[int]],
    micro_batches: int,
    workers: int | None = None,
) -> StepTimeline:
    """The step of `work` with layer l on the devices `placement[l]`, in equal parts.

    Tasks name the layers of `work`, even for parts. The rest as in `timeline`.
    """
    if all(len(places) == 1 for places in placement):
        return timeline(work, devices, [places[0] for places in placement], micro_batches, workers)
    layers = _apart(placement)
    parts, homes = _in_parts(work, placement, layers)
    step = timeline(parts, [*devices, NOWHERE], homes, micro_batches, workers or len(devices))
    return _named(step, layers, len(devices))


def _apart(placement: Sequence[Sequence[int]]) -> list[int]:
    """The layer of each part, in order; -1 is a pause on no device.

    Consecutive layers on one device form a stage, which waits for all inputs of all its layers. A
    part must not wait for the inputs of neighbouring layers, so a pause before and after it ends
    the stage.
    """
    found: list[int] = []
    for layer, places in enumerate(placement):
        if len(places) == 1:
            found.append(layer)
        else:
            found += [-1, *(each for _ in places for each in (layer, -1))]
    return found


def _in_parts(
    work: Work, placement: Sequence[Sequence[int]], layers: Sequence[int]
) -> tuple[Work, list[int]]:
    """The work of the parts, and the device of each.

    A pause has an index beyond the last device.
    """
    here: dict[int, list[int]] = {}
    homes: list[int] = []
    for place, layer in enumerate(layers):
        homes.append(placement[layer][len(here.get(layer, ()))] if layer >= 0 else len(work.fixed))
        here.setdefault(layer, []).append(place)
    columns = np.maximum(np.array(layers), 0)
    share = np.array([1 / len(placement[layer]) if layer >= 0 else 0.0 for layer in layers])
    exists = np.sign(share)
    parts = Work(
        names=tuple(work.names[layer] if layer >= 0 else "" for layer in layers),
        inputs=tuple(
            tuple(part for name in work.inputs[layer] for part in here[name]) if layer >= 0 else ()
            for layer in layers
        ),
        # Each part takes the fixed time of a pass in full.
        fixed=_with_pause(work.fixed[:, columns] * exists),
        per_sample=_with_pause(work.per_sample[:, columns] * share),
        update=_with_pause(work.update[:, columns] * share),
        forward_share=work.forward_share[columns],
        output_bytes=work.output_bytes[columns] * share,
        kept_bytes=work.kept_bytes[columns] * share,
        passing_bytes=work.passing_bytes[columns] * share,
        taken_bytes=work.taken_bytes[columns] * exists,
        state_bytes=work.state_bytes[columns] * share,
        gradient_bytes=work.gradient_bytes[columns] * share,
        batch=work.batch,
        directions=tuple(work.directions[layer] if work.directions else 2 for layer in columns),
        share=(*work.share, work.share[0]) if work.share else (),
    )
    return parts, homes


def _with_pause(table: Array) -> Array:
    return np.vstack([table, np.zeros(table.shape[1])])


def _named(step: StepTimeline, layers: Sequence[int], devices: int) -> StepTimeline:
    """The step without the pauses, its tasks numbered by layer."""
    tasks = tuple(
        replace(task, layers=tuple(layers[part] for part in task.layers))
        for task in step.tasks
        if task.device < devices
    )
    return StepTimeline(tasks, step.seconds, bubble_of(busy_in(tasks).values(), step.seconds))


Span = tuple[float, float]
"""Begin and end, in seconds."""


def covered(spans: Iterable[Span]) -> float:
    """The seconds covered by at least one of the spans."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def busy_seconds(spells: Iterable[tuple[int, Span]]) -> dict[int, float]:
    """For each device (by index) the seconds in which it does anything."""
    by_device: dict[int, list[Span]] = {}
    for device, span in spells:
        by_device.setdefault(device, []).append(span)
    return {device: covered(spans) for device, spans in by_device.items()}


def bubble_of(busy: Iterable[float], seconds: float) -> float:
    """The share of a step of `seconds` in which the devices that do anything wait."""
    taken = list(busy)
    return 1 - sum(taken) / (len(taken) * seconds) if taken and seconds else 0.0
