"""The forecast of a step under a placement, from measured times if there are any, and in words.

Durations are in seconds where layers were timed, else relative to a single device.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural
from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.placement.block_memory import replica_bytes
from gpu_studio.placement.correction import MeasuredPeak, held_in
from gpu_studio.placement.estimate import Estimate, estimated
from gpu_studio.placement.plan_facts import ModelFacts, ModelGraph
from gpu_studio.placement.schedule import (
    StageTask,
    StepTimeline,
    common_share,
    covered,
    even_bubble,
    timeline_of_parts,
)
from gpu_studio.placement.suggestion import (
    Alternative,
    NothingFits,
    mirrored_seconds,
    one_device_seconds,
)
from gpu_studio.placement.transfers import Transfer, transfers
from gpu_studio.placement.work import (
    Device,
    Times,
    Work,
    chosen_devices,
    links_in,
    places,
    recomputing,
    times_in,
    work_of,
    workers,
)
from gpu_studio.plan import (
    MIRRORED,
    ONE_DEVICE,
    Machine,
    Placed,
    Plan,
    PlannedDevice,
    listed,
    logical_devices,
    strategy_named,
)
from gpu_studio.ui.kit.device_place import places as device_places
from gpu_studio.ui.plan.layers.board import running_on

THREADS = "TF_NUM_INTRAOP_THREADS"
NO_FIGURES = MachineFigures()
NOTABLE = 0.98
"""Another way is worth saying where it takes less than this share of the time."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """All numbers of a step except its timeline.

    The timeline can take long where a model changes devices hundreds of times. `placement` has the
    places among `devices` of each layer of `work`; `measured` says whether times are in seconds or
    only relative. They may be seconds by `estimate`, which says at what pace they were estimated.
    """

    work: Work
    devices: tuple[Device, ...]
    placement: tuple[tuple[int, ...], ...]
    micro_batches: int
    workers: int
    measured: bool
    others: tuple[Alternative, ...]
    crossing: tuple[Transfer, ...]
    colours: Mapping[str, int]
    """The place of each device by its name, which gives it its colour."""
    estimate: str = ""

    @property
    def timed(self) -> bool:
        """Whether every layer was timed."""
        return self.measured and not self.estimate

    @property
    def tasks(self) -> int:
        """The approximate number of tasks in its timeline."""
        changes = sum(
            one != other for one, other in zip(self.placement, self.placement[1:], strict=False)
        )
        return (changes + 1) * (2 * self.micro_batches + 1)

    @property
    def used(self) -> tuple[int, ...]:
        """The places of the devices that have a layer."""
        return tuple(sorted({place for where in self.placement for place in where}))

    @property
    def shares(self) -> dict[str, float]:
        """Each layer's share of the time of all layers, by name; empty if no layer takes any."""
        seconds = self.work.seconds(1) + self.work.update
        taken = {name: float(seconds[on[0], at]) for at, (name, on) in enumerate(self._layers())}
        whole = sum(taken.values())
        return {name: each / whole for name, each in taken.items()} if whole else {}

    @property
    def shared_cores(self) -> bool:
        """Whether it was measured how the devices with layers share the machine's cores."""
        return common_share(self.work, self.used) is not None

    @property
    def one(self) -> Alternative | None:
        """The best single device."""
        return next(
            (other for other in self.others if strategy_named(other.strategy).devices == "one"),
            None,
        )

    @property
    def crossing_bytes(self) -> int:
        """The bytes sent between devices in a step."""
        return sum(each.bytes for each in self.crossing)

    def timeline(self) -> StepTimeline:
        """The predicted step."""
        return timeline_of_parts(
            self.work, self.devices, self.placement, self.micro_batches, self.workers
        )

    def _layers(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        return zip(self.work.names, self.placement, strict=True)


def forecast(
    plan: Plan,
    machine: Machine,
    model: ModelFacts,
    measured: Measurement | None,
    figures: MachineFigures = NO_FIGURES,
) -> Forecast | None:
    """Return the numbers of a step of `plan`.

    Where its layers were not timed, they go by their FLOPs at what benchmarks measured of the
    machine, if they did. None if the model, or the device of a layer, is not known.
    """
    graph, logical = model.graph, logical_devices(plan, machine)
    if graph is None or not graph.layers:
        return None
    order = {device.name: place for place, device in enumerate(logical)}
    running = running_on(plan, machine, graph)
    if any(device not in order for devices in running.values() for device in devices):
        return None
    placed = plan.distribution.placed or Placed()
    times, links, estimate = times_for(plan, model, logical, measured, figures)
    devices = places(logical, machine, links)
    work = work_of(model, devices, batch := max(1, plan.training.batch_size), times)
    placement = tuple(tuple(order[device] for device in running[layer]) for layer in work.names)
    used = {place for where in placement for place in where}
    choice = sorted(used | _chosen(plan, machine, order))
    share = common_share(work, choice)
    turns = at_once(choice, logical, machine) if share is None else max(1, round(1 / share))
    return Forecast(
        recomputing(work) if placed.recompute else work,
        tuple(devices),
        placement,
        max(1, placed.micro_batches),
        at_once(used, logical, machine),
        estimate is None or estimate.in_seconds,
        _others(work, devices, choice, graph, turns),
        transfers(graph, running, batch),
        device_places(logical, machine),
        pace_in_words(estimate, figures),
    )


def _chosen(plan: Plan, machine: Machine, order: Mapping[str, int]) -> set[int]:
    """The places of the devices that the plan chooses, as far as they exist."""
    chosen = (device.name for device in chosen_devices(plan, machine))
    return {order[name] for name in chosen if name in order}


def times_for(
    plan: Plan,
    model: ModelFacts,
    devices: Sequence[PlannedDevice],
    measured: Measurement | None,
    figures: MachineFigures,
) -> tuple[Mapping[str, Times], Mapping[str, float], Estimate | None]:
    """Return the times of the layers by device, the bytes/s to physical devices, how estimated.

    They are measured if all of these devices were; an estimate is not mixed with them.
    """
    if measured and all(each.name in measured.times for each in devices):
        return measured.times, measured.links, None
    tf32 = plan.training.tf32
    found = estimated(model, devices, figures.flops, figures.links, tf32=tf32)
    return found.times, found.links, found


def pace_in_words(estimate: Estimate | None, figures: MachineFigures) -> str:
    """Say at what pace an estimate goes; empty for what was measured, or is only relative."""
    if estimate is None or not estimate.in_seconds:
        return ""
    return f"{figures.known} in {estimate.kind}: {figures.in_words(estimate.kind)}"


def at_once(used: Iterable[int], logical: Sequence[PlannedDevice], machine: Machine) -> int:
    """How many of the devices at these places work at once, with this process's threads."""
    threads = os.environ.get(THREADS, "")
    return workers(
        [logical[place] for place in used], machine, int(threads) if threads.isdecimal() else 0
    )


def better(found: Forecast, step: StepTimeline) -> Alternative | None:
    """Return a notably faster way to train the model that fits into memory, if there is one."""
    fits = (other for other in found.others if _other_fits(found, other))
    return next((other for other in fits if other.seconds < NOTABLE * step.seconds), None)


def _others(
    work: Work, devices: Sequence[Device], choice: Sequence[int], graph: ModelGraph, turns: int
) -> tuple[Alternative, ...]:
    """The same step on one of the devices each, and mirrored on them all, the fastest first."""
    found = [
        Alternative(ONE_DEVICE.name, (devices[place].name,), one_device_seconds(work, place))
        for place in choice
    ]
    if len(choice) > 1:
        some = [devices[place] for place in choice]
        gradients = sum(layer.trainable_bytes for layer in graph.layers)
        seconds = mirrored_seconds(_rows(work, choice), some, gradients, turns)
        found.append(Alternative(MIRRORED.name, tuple(each.name for each in some), seconds))
    return tuple(sorted(found, key=lambda other: other.seconds))


def _rows(work: Work, choice: Sequence[int]) -> Work:
    """The work on some of the devices."""
    rows = list(choice)
    share = tuple(work.share[row] for row in rows) if work.share else ()
    return replace(
        work,
        fixed=work.fixed[rows],
        per_sample=work.per_sample[rows],
        update=work.update[rows],
        share=share,
    )


def _other_fits(found: Forecast, other: Alternative) -> bool:
    """Return whether each device can hold the whole model and its share of the batch."""
    each = replica_bytes(found.work, len(other.devices))
    limits = {device.name: device.limit for device in found.devices}
    return all(limit is None or each <= limit for limit in (limits[name] for name in other.devices))


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of layers by logical device and layer, and the bytes/s between physical devices.

    `held` is what a step held on each device that was measured.
    """

    times: Mapping[str, Times]
    links: Mapping[str, float] = field(default_factory=dict)
    held: Mapping[str, MeasuredPeak] = field(default_factory=dict)


def measurement_in(answer: Mapping[str, Any], devices: Sequence[PlannedDevice]) -> Measurement:
    """Return the trainer's answer about these devices.

    Raises ValueError if it is no such answer.
    """
    return Measurement(times_in(answer, devices), links_in(answer, devices), held_in(answer))


def step_in_words(found: Forecast, step: StepTimeline) -> str:
    """Say how long a step takes."""
    one = found.one
    if found.measured:
        alone = f" · one device {figures.span(one.seconds)}" if one else ""
        return f"a step {figures.span(step.seconds)}{alone}"
    return (
        f"a step {ratio(step.seconds / one.seconds)} one device"
        if one and one.seconds
        else "a step takes no time"
    )


def ratio(value: float) -> str:
    """Return a ratio of two times: `1.13 ×`, `24 ×`."""
    return f"{value:.0f} ×" if value >= 10 else f"{value:.2f} ×"


def crossing_in_words(found: Forecast) -> str:
    """Say how much is sent from device to device in a step."""
    total = found.crossing_bytes
    return f"{figures.size(total)} crosses" if total else "nothing crosses"


def edge_in_words(edge: Transfer) -> tuple[str, str]:
    """Describe an edge between devices: from where, to where, and how much per step."""
    layers = edge.source if edge.source == edge.target else f"{edge.source} → {edge.target}"
    return f"{edge.from_device} → {edge.to_device}", f"{layers} · {figures.size(edge.bytes)} a step"


def bubble_tip(found: Forecast) -> str:
    """Explain the bubble, and say what it would be at best."""
    stages, parts = len(found.used), found.micro_batches
    even = figures.share(even_bubble(stages, parts))
    said = (
        f"The part of the devices' time in which they wait. {plural(stages, 'even stage')} "
        f"would leave {even}."
    )
    if found.shared_cores:
        said += " These devices share the machine's cores, as it was measured."
    elif found.workers < stages:
        turns = "takes turns" if found.workers == 1 else f"has {found.workers} at work at a time"
        said += f" An operation on a CPU takes all cores: this placement {turns}."
    return said


def faster_in_words(other: Alternative, step: StepTimeline) -> str:
    """Say that another way is faster, and by how much."""
    known = strategy_named(other.strategy)
    where = f", {other.devices[0]}," if known.devices == "one" else " over all devices"
    what = f"{known.title}{where}"
    less = figures.share(1 - other.seconds / step.seconds)
    return f"{what} would be faster: a step takes {less} less time."


def label_of(other: Alternative) -> str:
    """Return the text of the button that chooses another way."""
    return f"Use {strategy_named(other.strategy).title.lower()}"


def nothing_fits_in_words(found: NothingFits) -> str:
    """Say why there is no placement, and what to do."""
    missing = listed(
        [f"{lack.device} lacks {figures.size(round(lack.missing))}" for lack in found.lacks]
    )
    if found.recomputed is not None:
        return (
            f"With its activations kept the model fits in no way: {missing}. "
            "It fits if they are recomputed."
        )
    return (
        f"The model fits in no way: {missing}. Give the device more, take "
        "more devices, or a smaller batch."
    )


def task_in_words(task: StageTask, found: Forecast) -> str:
    """Say what a device does and, if that is known in seconds, when."""
    names = [found.work.names[layer] for layer in task.layers]
    layers = (
        names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({grouped(len(names))} layers)"
    )
    which = "" if task.micro_batch < 0 else f" of micro-batch {task.micro_batch + 1}"
    when = f", {figures.span(task.begin)} to {figures.span(task.end)}" if found.measured else ""
    return f"{task.what}{which}: {layers}{when}"


def row_in_words(place: int, found: Forecast, step: StepTimeline) -> str:
    """Describe a device's part of a step."""
    spent = covered((task.begin, task.end) for task in step.tasks if task.device == place)
    busy = spent / step.seconds if step.seconds else 0.0
    layers = sum(place in where for where in found.placement)
    name = found.devices[place].name
    return f"{name}: {plural(layers, 'layer')}, busy {figures.share(busy)} of a step"
