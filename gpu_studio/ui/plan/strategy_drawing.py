"""What the small drawing of a strategy shows: where variables, gradients and batches go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpu_studio.common.figures import grouped, plural
from gpu_studio.plan import (
    Cluster,
    Machine,
    Placed,
    Plan,
    cluster_of,
    default_devices,
    effective,
    in_all,
    logical_devices,
    parameter_home,
    replicas,
    shares_of,
    strategy_of,
)
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.plan.strategies.strategy import Picture
from gpu_studio.ui.kit.device_place import places

Kind = Literal["batches", "gradients", "variables", "activations"]
MOST_BOXES = 4
"""Boxes side by side; of more, the last says how many are left out."""
MOST_PARTS = 16


@dataclass(frozen=True, slots=True)
class Box:
    """A device, or a box that spans the row (`wide`).

    `place` gives its colour; a `faint` one does nothing. A wide box is divided into `parts`, each a
    device's place or None.
    """

    title: str
    lines: tuple[str, ...] = ()
    place: int | None = None
    faint: bool = False
    wide: bool = False
    parts: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """What goes from one box to another.

    Each box is given by its row and its number in it. `both` means there and back.
    """

    kind: Kind
    start: tuple[int, int]
    end: tuple[int, int]
    both: bool = False


@dataclass(frozen=True, slots=True)
class StrategyDrawing:
    """Rows of boxes from top to bottom, the links, and a description in words."""

    rows: tuple[tuple[Box, ...], ...]
    links: tuple[Link, ...]
    words: str = ""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of links in it, each once."""
        return tuple(dict.fromkeys(link.kind for link in self.links))


def drawing_of(plan: Plan, machine: Machine) -> StrategyDrawing:
    """The picture of the plan's strategy on the devices that it uses of this machine."""
    draw = _DRAWN[strategy_of(plan).picture]
    return replace(draw(plan, machine), words=_words(plan, machine))


def _alone(plan: Plan, machine: Machine) -> StrategyDrawing:
    replica_names = replicas(plan, machine)
    others = [
        name
        for name in default_devices(logical_devices(plan, machine))
        if name not in replica_names
    ]
    busy = _boxes(plan, machine, replica_names, "variables", "gradients")
    idle = [replace(box, faint=True) for box in _boxes(plan, machine, others, "idle")]
    row = _few([*busy, *idle])
    return StrategyDrawing((_batch(plan, 1), row), (Link("batches", (0, 0), (1, 0)),))


def _mirrored(plan: Plan, machine: Machine) -> StrategyDrawing:
    devices = _few(_boxes(plan, machine, replicas(plan, machine), "variables", "gradients"))
    way = effective(plan, machine).replace("_", " ")
    places = _places(plan, machine, replicas(plan, machine))
    return _summed(_batch(plan, len(places), places), devices, f"gradients summed: {way}")


def _central(plan: Plan, machine: Machine) -> StrategyDrawing:
    replica_names = replicas(plan, machine)
    devices = _few(_boxes(plan, machine, replica_names, "gradients"))
    home = parameter_home(plan, machine) or ""
    hub = Box(f"{home}: variables", place=_places(plan, machine, (home,))[0], wide=True)
    places = _places(plan, machine, replica_names)
    links = [link for column in range(len(devices)) for link in _to_hub(column)]
    return StrategyDrawing((_batch(plan, len(places), places), devices, (hub,)), tuple(links))


def _workers(plan: Plan, machine: Machine) -> StrategyDrawing:
    cluster = cluster_of(plan) or Cluster()
    count = cluster.workers_counted
    every = in_all(plan, replicas(plan, machine))
    mine = plural(every // count, "replica")
    where = "this machine" if cluster.start == "local" else "its machine"
    workers = _few([Box(f"worker {each}", (where, mine, "variables")) for each in range(count)])
    way = effective(plan, machine).replace("_", " ")
    batch = tuple(
        replace(box, parts=(None,) * min(count, MOST_PARTS)) for box in _batch(plan, every)
    )
    return _summed(batch, workers, f"gradients summed: {way}")


def _servers(plan: Plan, _machine: Machine) -> StrategyDrawing:
    cluster = cluster_of(plan) or Cluster(servers=1)
    count, together = cluster.workers_counted, cluster.updates == "sync"
    each = "its part of a step" if together else "steps of its own"
    workers = _few([Box(f"worker {number}", (each, "gradients")) for number in range(count)])
    what = "shares each batch out" if together else "gives each the next batch"
    chief = Box(f"chief: {what}", wide=True, parts=(None,) * min(count, MOST_PARTS))
    held = plural(cluster.servers, "parameter server")
    servers = Box(f"{held}: variables", wide=True, parts=(None,) * min(cluster.servers, MOST_PARTS))
    links = tuple(link for column in range(len(workers)) for link in _to_hub(column))
    return StrategyDrawing(((chief,), workers, (servers,)), links)


def _tpu(plan: Plan, _machine: Machine) -> StrategyDrawing:
    cores = tuple(Box(f"core {each}", ("variables", "gradients")) for each in range(MOST_BOXES))
    return _summed(_batch(plan, MOST_BOXES), cores, "gradients summed over the TPU's links")


def _placed(plan: Plan, machine: Machine) -> StrategyDrawing:
    part = plan.distribution.placed or Placed()
    count = max(1, part.micro_batches)
    named = tuple(dict.fromkeys(name for names in part.layers.values() for name in names))
    devices = _few(
        _boxes(plan, machine, named or replicas(plan, machine)[:1], "its layers", "their slots")
    )
    cut = f"{grouped(count)} micro-batch{'' if count == 1 else 'es'}"
    title = f"{plural(sum(shares_of(plan, 1)), 'sample')} in {cut}"
    batch = Box(title, wide=True, parts=(None,) * min(count, MOST_PARTS))
    forward = [
        Link("activations", (1, column), (1, column + 1)) for column in range(len(devices) - 1)
    ]
    back = [Link("gradients", (1, column + 1), (1, column)) for column in range(len(devices) - 1)]
    return StrategyDrawing(((batch,), devices), (Link("batches", (0, 0), (1, 0)), *forward, *back))


def _summed(batch: tuple[Box, ...], devices: tuple[Box, ...], sum_: str) -> StrategyDrawing:
    down = [Link("batches", (0, 0), (1, column)) for column in range(len(devices))]
    across = [Link("gradients", (1, column), (2, 0), both=True) for column in range(len(devices))]
    return StrategyDrawing((batch, devices, (Box(sum_, wide=True),)), (*down, *across))


def _to_hub(column: int) -> tuple[Link, ...]:
    return (
        Link("batches", (0, 0), (1, column)),
        Link("gradients", (1, column), (2, 0)),
        Link("variables", (2, 0), (1, column)),
    )


def _batch(plan: Plan, count: int, places: Sequence[int | None] = ()) -> tuple[Box, ...]:
    total = sum(shares_of(plan, max(1, count)))
    parts = tuple(places) or (None,) * min(count, MOST_PARTS)
    return (Box(f"batch of {plural(total, 'sample')}", wide=True, parts=parts),)


def _boxes(plan: Plan, machine: Machine, names: Sequence[str], *lines: str) -> list[Box]:
    places = _places(plan, machine, names)
    return [Box(name, lines, place) for name, place in zip(names, places, strict=True)]


def _places(plan: Plan, machine: Machine, names: Sequence[str]) -> tuple[int | None, ...]:
    known = places(logical_devices(plan, machine), machine)
    return tuple(known.get(name) for name in names)


def _few(boxes: Sequence[Box]) -> tuple[Box, ...]:
    if len(boxes) <= MOST_BOXES:
        return tuple(boxes)
    left = len(boxes) - MOST_BOXES + 1
    return (*boxes[: MOST_BOXES - 1], Box(f"{left} more", boxes[-1].lines, faint=boxes[-1].faint))


def _words(plan: Plan, machine: Machine) -> str:
    facts = BY_NAME.get(plan.distribution.strategy)
    if facts is None:
        return ""
    where = ", ".join(replicas(plan, machine))
    said = f"Variables: {facts.variables}. Gradients: {facts.gradients}. Batches: {facts.batches}."
    return f"{facts.title} on {where}. {said}" if where else said


_DRAWN: Mapping[Picture, Callable[[Plan, Machine], StrategyDrawing]] = {
    "alone": _alone,
    "summed": _mirrored,
    "central": _central,
    "workers": _workers,
    "servers": _servers,
    "cores": _tpu,
    "stages": _placed,
}
