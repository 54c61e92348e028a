"""A predicted step in words.

Durations are in seconds where layers were timed, else relative to a single device.
"""

from __future__ import annotations

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural
from gpu_studio.placement.occupation import covered
from gpu_studio.placement.schedule import StageTask, StepTimeline, even_bubble
from gpu_studio.placement.suggestion import Alternative, NothingFits
from gpu_studio.placement.transfers import Transfer
from gpu_studio.plan.problems import listed
from gpu_studio.plan.strategies import strategy_named
from gpu_studio.ui.plan.layers.forecast import Forecast


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
