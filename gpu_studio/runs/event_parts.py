"""What some events hold lists of: where layers were to be and where their stages were at work, and what crossed."""

from __future__ import annotations

import msgspec


class AskedPlace(msgspec.Struct, kw_only=True, frozen=True):
    """Where a layer was to be: several devices share its units where it is split, and one of all joins its output."""

    layer: str
    devices: list[str]
    joined_on: str = ""


class Crossing(msgspec.Struct, kw_only=True, frozen=True):
    """What goes from one device to another in a step: `tensors`, `bytes` in all; None where a shape is not known.

    `source` and `target` are the layers that make and take it; empty for what belongs to no layer: the data, the
    loss, the step counter. `way` is `forward`, `backward`, `update` or `other`.
    """

    source: str
    target: str
    way: str
    from_device: str
    to_device: str
    tensors: int
    bytes: int | None


class Stage(msgspec.Struct, kw_only=True, frozen=True):
    """Layers that follow each other on one device."""

    device: str
    layers: list[str]


class StageSpan(msgspec.Struct, kw_only=True, frozen=True, array_like=True):
    """A stage (its place in the list of stages) at work from `begin` to `end`.

    `way` is `forward`, `backward` or `update`; `micro_batch` -1 for an update, None where it cannot be told. `busy` are
    the seconds in which an operation of it was being executed.
    """

    stage: int
    way: str
    micro_batch: int | None
    begin: float
    end: float
    busy: float
