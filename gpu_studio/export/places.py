"""On which device each layer of a placed model is, those that the plan leaves out included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpu_studio.export.errors import ExportError
from gpu_studio.export.models.piece import Feeds, Piece
from gpu_studio.plan.problems import choose_one, shown

_NAME = re.compile(r'\bname="(\w+)"')


def feeds_of(piece: Piece) -> Feeds:
    """The layers of a model in the order in which they run, and for each the layers that it takes its inputs from."""
    found = dict(piece.feeds) or _chain(_NAME.findall(piece.layers))
    return found | {"outputs": tuple(found)[-1:]}


def places(feeds: Feeds, layers: Mapping[str, tuple[str, ...]], default: str) -> dict[str, list[str]]:
    """The names of the layers by the device that each is on.

    As in a run, a layer that the plan leaves out goes where the first of its inputs is, one before all that are placed
    goes where its output is taken, and one that nothing decides to `default`. Raises ExportError for a layer that the
    model does not have.
    """
    for name in layers:
        if name not in feeds:
            advice = choose_one(name, feeds)
            raise ExportError(f"The model has no layer {shown(name)}: {advice}{'' if advice.endswith('?') else '.'}")
    homes = {name: devices[0] for name, devices in layers.items()}
    takers = {name: [other for other, inputs in feeds.items() if name in inputs] for name in feeds}
    _follow(feeds, feeds, homes)
    _follow(reversed(list(feeds)), takers, homes)
    _follow(feeds, feeds, homes)
    found: dict[str, list[str]] = {}
    for name in feeds:
        found.setdefault(homes.get(name, default), []).append(name)
    return found


def _follow(order: Iterable[str], neighbours: Mapping[str, Iterable[str]], homes: dict[str, str]) -> None:
    for name in order:
        near = next((homes[other] for other in neighbours[name] if other in homes), None)
        if near is not None:
            homes.setdefault(name, near)


def _chain(names: list[str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(names[max(0, place - 1) : place]) for place, name in enumerate(names)}
