"""The parts of events: devices, layers, requested and actual placement, memory and times."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gpu_studio.contract.numbers import Seconds, Whole


class LogicalDevice(msgspec.Struct, kw_only=True, frozen=True):
    """A device as TensorFlow sees it, such as `GPU:0`, carved from the `physical` device.

    `limit_mib` is None if there is no limit. `uuid` and `bus_id` (`0000:2d:00.0`) identify the
    card; None if the device is not a card, or the event does not say.
    """

    name: str
    physical: str
    limit_mib: Whole | None = None
    description: str = ""
    uuid: str | None = None
    bus_id: str | None = None


class Layer(msgspec.Struct, kw_only=True, frozen=True):
    """A layer of the model. `output_shape` is without the batch axis.

    `bytes` are those of its variables.
    """

    name: str
    kind: str
    output_shape: str
    parameters: Whole
    bytes: Whole


class AskedPlace(msgspec.Struct, kw_only=True, frozen=True):
    """The devices on which a layer was requested to run: several share the units of a split layer.

    `joined_on` is the device where the output of a split layer is joined. `by_plan` says whether
    the plan names the layer; a layer that it leaves out goes where its inputs are. None: not known.
    """

    layer: str
    devices: list[str]
    joined_on: str = ""
    by_plan: bool | None = None


class PartRow(msgspec.Struct, kw_only=True, frozen=True, array_like=True):
    """The number of operations of a part of a layer that ran on a device in one pass.

    `part` is the index of the part's device among those requested for the layer, `0` if it is not
    split; or `join`, where the outputs of the parts are combined. `way` is `forward`, `backward` or
    `update`.
    """

    layer: str
    way: str
    part: str
    device: str
    operations: Whole


class Crossing(msgspec.Struct, kw_only=True, frozen=True):
    """What one device sends another in a step: `tensors`, and `bytes` in total.

    None if a shape is not known. `source` and `target` are the layers that produce and use it;
    empty for what belongs to no layer: the data, the loss, the step counter. `way` is `forward`,
    `backward`, `update` or `other`.
    """

    source: str
    target: str
    way: str
    from_device: str
    to_device: str
    tensors: Whole
    bytes: Whole | None


class Stage(msgspec.Struct, kw_only=True, frozen=True):
    """Consecutive layers on one device."""

    device: str
    layers: list[str]


class StageSpan(msgspec.Struct, kw_only=True, frozen=True, array_like=True):
    """A stage (its index in the list) at work from `begin` to `end`, without a long pause.

    `way` is `forward`, `backward` or `update`; `micro_batch` is -1 for an update, None if unknown.
    `busy` are the seconds in which one of its operations was executing. `device` is the one
    requested for it: each part of a split layer has a span of its own; empty in runs whose events
    gave only the stage's device.
    """

    stage: Whole
    way: str
    micro_batch: Whole | None
    begin: Seconds
    end: Seconds
    busy: Seconds
    device: str = ""


class DeviceMemory(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """Bytes in use on one device. `source` says what was counted.

    `current` is what is in use at the moment, somewhere within a step, and `peak` the most since
    the run began. `most` is the most since the sample before, and `least` what was in use when the
    newest call of steps had ended, or now if that is less: what stays between steps. Both are None
    where the allocator is not asked, and in runs of an older GPU Studio.

    `allocator`: TensorFlow's allocator of this logical GPU; `host`: the arena that all logical CPUs
    share; `variables`: the bytes of the variables placed on this logical CPU, the only memory that
    TensorFlow counts there.
    """

    device: str
    current: Whole
    peak: Whole
    source: Literal["allocator", "host", "variables"]
    limit: Whole | None = None
    most: Whole | None = None
    least: Whole | None = None

    @property
    def used(self) -> int:
        """The figure to show: the most since the sample before, as far as it is known."""
        return self.current if self.most is None else self.most


class DeviceTimes(msgspec.Struct, kw_only=True, frozen=True):
    """What a device did in a step, in seconds: `compute` and `communication` may overlap.

    `exposed` is communication while nothing was computed; `compute`, `exposed` and `idle` add up to
    the step. `waiting` is the communication time before the last replica reached a collective
    operation; None if no such operation was measured.
    """

    device: str
    compute: float
    communication: float
    exposed: float
    idle: float
    waiting: float | None = None


class SuggestedChange(msgspec.Struct, kw_only=True, frozen=True):
    """A change of the run's plan that may help: `text` labels its button, `field` is what it sets.

    `value` is the field's new value as a plan file holds it, for example for `training.batch_size`.
    """

    text: str
    field: str
    value: Any


WorkerStage = Literal[
    "absent", "waiting", "starting", "training", "paused", "stopping", "ended", "lost"
]
"""What a worker of a cluster does.

It is `absent` until its process answers, `waiting` until all do, and `starting` until all are ready
to train.
"""


def process_title(role: str, index: int) -> str:
    """The name of a process of a cluster for a person: `worker 1`; there is one chief."""
    return role if role == "chief" else f"{role} {index}"


class WorkerPlace(msgspec.Struct, kw_only=True, frozen=True):
    """A process that takes part in a run, and where it is.

    `address` is what the others reach it by, and `folder` the path of its files in the run's
    directory; empty if they are the run's own.
    """

    role: str
    index: Whole
    host: str
    pid: Whole
    address: str = ""
    folder: str = ""

    @property
    def title(self) -> str:
        """Its name for a person: `worker 1`."""
        return process_title(self.role, self.index)


class WorkerShare(msgspec.Struct, kw_only=True, frozen=True):
    """What one worker has done of the work that a chief hands out, since the processes started.

    `steps` it has done, with `samples` in all, at `pace` samples a second of late and `seconds` a
    step. While it computed a step, others have made `lag` updates on average, `lag_most` at most.
    """

    index: Whole
    steps: Whole = 0
    samples: Whole = 0
    pace: float = 0.0
    seconds: float = 0.0
    lag: float = 0.0
    lag_most: Whole = 0


class WorkerState(msgspec.Struct, kw_only=True, frozen=True):
    """What one worker does.

    `compute` and `wait` are seconds a step: until its own gradients were there, and from then to
    the end of the step, in which it waits for the others. `memory` is what its devices hold in
    bytes, or a server in variables, None if it does not tell; `seen` the seconds since it was last
    heard. `share` is what it has done where a chief hands out the work. `refusal` says why its disk
    takes no more of what it writes, in the system's words; empty while it does.
    """

    role: str
    index: Whole
    state: WorkerStage
    step: Whole = 0
    compute: float = 0.0
    wait: float = 0.0
    memory: Whole | None = None
    seen: float = 0.0
    share: WorkerShare | None = None
    refusal: str = ""
