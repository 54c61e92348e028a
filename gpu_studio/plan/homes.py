"""The devices of each layer of a placed model, and where the output of a split layer is joined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

Feeds = Mapping[str, Sequence[str]]
"""The layers of a model in the order in which they run, each with those that feed it."""

Devices = Mapping[str, tuple[str, ...]]
"""The logical devices of layers, by the layer's name; several where a layer's units are split."""


def devices_of_layers(
    feeds: Feeds, chosen: Devices, default: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The devices of every layer of `feeds`, in order: the plan's `chosen` ones, or else one.

    A layer that the plan does not name goes where its first input is. One that takes the model's
    input goes where the first layer is that takes its output, and if nothing is placed, to
    `default`. Layers in `chosen` that the model does not have are ignored.
    """
    found = {name: chosen[name] for name in feeds if chosen.get(name)}
    takers = takers_of(feeds)
    _follow(feeds, feeds, found)
    _follow(reversed(list(feeds)), takers, found)
    _follow(feeds, feeds, found)
    return {name: found.get(name, default) for name in feeds}


def homes_of_layers(feeds: Feeds, devices: Devices) -> dict[str, str]:
    """The device that holds the whole output of each layer of `feeds`.

    `devices` are those of every layer.
    """
    takers = takers_of(feeds)
    return {
        name: home_of(devices[name], [devices[taker] for taker in takers[name]]) for name in feeds
    }


def home_of(devices: Sequence[str], taken_on: Collection[tuple[str, ...]]) -> str:
    """The device that holds the whole output of a layer on `devices`.

    The parts of a split layer are joined on the device of the layers that take its output, if all
    of them are on the same one; else on the first device. `taken_on` are the devices of each of
    those layers.
    """
    places = set(taken_on)
    if len(devices) > 1 and len(places) == 1:
        (place,) = places
        if len(place) == 1:
            return place[0]
    return devices[0]


def takers_of(feeds: Feeds) -> dict[str, list[str]]:
    """For each layer, the layers that take its output, in the order in which they run."""
    takers: dict[str, list[str]] = {name: [] for name in feeds}
    for name, inputs in feeds.items():
        for each in takers.keys() & inputs:
            takers[each].append(name)
    return takers


def _follow(order: Iterable[str], neighbours: Feeds, found: dict[str, tuple[str, ...]]) -> None:
    """Give each unplaced layer of `order` the first device of its first neighbour that has one."""
    for name in order:
        near = next((found[other][:1] for other in neighbours[name] if other in found), None)
        if near is not None:
            found.setdefault(name, near)
