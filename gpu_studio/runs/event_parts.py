"""What some events hold lists of: devices, layers, where these were to be and were, what devices held and did."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class LogicalDevice(msgspec.Struct, kw_only=True, frozen=True):
    """What TensorFlow sees: `name` is `GPU:0`; `physical` the device it was carved from; `limit_mib` None: no limit.

    `uuid` and `bus_id` (`0000:2d:00.0`) say which card that device is; None where it is none, or nobody told.
    """

    name: str
    physical: str
    limit_mib: int | None = None
    description: str = ""
    uuid: str | None = None
    bus_id: str | None = None


class Layer(msgspec.Struct, kw_only=True, frozen=True):
    """A layer of the model. `output_shape` leaves the batch out; `bytes` are those of its variables."""

    name: str
    kind: str
    output_shape: str
    parameters: int
    bytes: int


class AskedPlace(msgspec.Struct, kw_only=True, frozen=True):
    """Where a layer was to be: several devices share its units where it is split, and one of all joins its output.

    `by_plan` says whether the plan names the layer; one that it leaves out goes where its inputs are. None: not told.
    """

    layer: str
    devices: list[str]
    joined_on: str = ""
    by_plan: bool | None = None


class PartRow(msgspec.Struct, kw_only=True, frozen=True, array_like=True):
    """So many operations of a part of a layer were executed on a device, in a pass.

    `part` is the place of the part's device among those that were asked for the layer, `0` where it is not split; or
    `join`, where the outputs of the parts become one. `way` is `forward`, `backward` or `update`.
    """

    layer: str
    way: str
    part: str
    device: str
    operations: int


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
    """A stage (its place in the list of stages) at work from `begin` to `end`, without a longer pause.

    `way` is `forward`, `backward` or `update`; `micro_batch` -1 for an update, None where it cannot be told. `busy` are
    the seconds in which an operation of it was being executed. `device` is the one that was asked for it: for the
    parts of a split layer there is a span each; empty in runs that told the stage's device only.
    """

    stage: int
    way: str
    micro_batch: int | None
    begin: float
    end: float
    busy: float
    device: str = ""


class DeviceMemory(msgspec.Struct, kw_only=True, frozen=True):
    """Bytes in use on one device. `source` says what was counted.

    `allocator`: TensorFlow's allocator of this logical GPU; `host`: the arena that all logical CPUs share;
    `variables`: the bytes of the variables placed on this logical CPU, because TensorFlow counts no more there.
    """

    device: str
    current: int
    peak: int
    source: Literal["allocator", "host", "variables"]
    limit: int | None = None


class DeviceTimes(msgspec.Struct, kw_only=True, frozen=True):
    """What a device did in a step, in seconds of it: `compute` and `communication` may overlap, `exposed` is the rest.

    `exposed` is communication while it computed nothing; with `compute` and `idle` it makes up the step. `waiting` is
    what of its communication went by before the last replica had come to a collective operation; None where there is
    none that would tell.
    """

    device: str
    compute: float
    communication: float
    exposed: float
    idle: float
    waiting: float | None = None


class Mend(msgspec.Struct, kw_only=True, frozen=True):
    """A change of the run's plan that may help: `text` is on its button, `field` is where (`training.batch_size`).

    `value` is what stands there then, as a plan file has it.
    """

    text: str
    field: str
    value: Any
