"""The work to be placed, as numbers: the time of each layer on each device, and its bytes.

A training step of `batch` samples in `micro_batches` M costs a layer, on one device and for
each micro-batch, fixed + per_sample · batch / M seconds (forward and backward together). Each
tensor that another device needs is sent there once per micro-batch, and its gradient comes
back. Times come from measurements or from FLOPs, bytes from the model's facts, devices from the
plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.apart import Apart
from gpu_studio.placement.between_devices import doubles, sums
from gpu_studio.placement.cudnn_reserve import reserve_for_cudnn
from gpu_studio.placement.layer_holds import MetOutputs
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.placement.transfers import with_gradients
from gpu_studio.plan import MIB, Machine, Plan, PlannedDevice, default_devices, logical_devices
from gpu_studio.plan.card_memory import available_memory

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Device:
    """A logical device: its memory limit in bytes (None: no limit), and the bytes/s to it.

    Of the limit, `reserve` is better left to cuDNN if layers here are computed through it.
    """

    name: str
    limit: float | None = None
    bandwidth: float = 8e9
    reserve: float = 0.0


def is_copied_to(device: str) -> bool:
    """Whether a tensor from elsewhere takes memory here: logical CPUs receive it by reference."""
    return not device.startswith("CPU")


@dataclass(frozen=True, slots=True)
class Work:
    """Layers, each after its inputs.

    `inputs[l]` are the indices of those, and `later[l]` those of later layers that are inputs too,
    as a layer may be used in several places. `directions[l]` is 2 if the output's gradient comes
    back, else 1; 2 for all if it is empty. `fixed` and `per_sample` have shape (devices, layers),
    in seconds, and so has `update`, the time of a layer's update once per step. `forward_share` is
    the forward pass' part of a layer's time. In bytes per sample: `output_bytes` of the output,
    `kept_bytes` of what the backward pass needs, `passing_bytes` of an output and its gradient if
    the layer allocates memory, `taken_bytes` of the model's input if the layer takes it. In bytes:
    `state_bytes` of weights, gradients and optimizer slots, and of these `gradient_bytes`. All of
    shape (layers,).
    """

    names: tuple[str, ...]
    inputs: tuple[tuple[int, ...], ...]
    fixed: Array
    per_sample: Array
    update: Array
    forward_share: Array
    output_bytes: Array
    kept_bytes: Array
    passing_bytes: Array
    taken_bytes: Array
    state_bytes: Array
    gradient_bytes: Array
    batch: int
    share: tuple[float | None, ...] = ()
    """For each device that shares the machine's cores, the part that its work takes; else None."""
    later: tuple[tuple[int, ...], ...] = ()
    directions: tuple[int, ...] = ()
    rehearsed: Mapping[str, StepMemory] = field(default_factory=dict)
    """What a step of the whole model holds on a "GPU" and on a "CPU"."""
    around_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """What is held on a card while each layer is computed (`WayBack`); if empty, what it keeps and
    what passes."""
    kernels: Array = field(default_factory=lambda: np.zeros((0, 0, 4)))
    """What is held on a card while the kernels of each layer run that need scratch memory, with
    that memory (`WayBack`); empty if none needs any."""
    outlived_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """How much more that is if what comes back outlives its use; if empty, nothing."""
    behind_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """And how much more still if a thread falls behind; if empty, nothing."""
    added_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """What comes for each output besides the first gradient, if none of its takers is here and they
    are on several other devices; if empty, they are on one."""
    spared_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """How much less that is where what the layer takes is a copy; if empty, nothing."""
    output_kept_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """What each layer keeps of its output; if empty, nothing."""
    forward_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """The most that each holds on its way forward beyond what it keeps; if empty, nothing."""
    let_go_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """Of what each takes and keeps, what is never there at once on its way forward; if empty,
    nothing."""
    made_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """The most that each makes on its way forward if nothing is kept; if empty, its output."""
    lent_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """What each layer keeps for the backward pass of others alone; if empty, nothing."""
    apart: Mapping[int, tuple[tuple[Apart, ...], ...]] = field(default_factory=dict)
    """How much less is held around layers, and beside their kernels, where others are elsewhere."""
    doubles: tuple[tuple[int, int, int, int], ...] = ()
    """Those that are given back for two outputs at once, as `between_devices.doubles` has them."""
    sums: tuple[tuple[int, int, int, int], ...] = ()
    """The terms for which one gradient is given back, as `between_devices.sums` has them."""
    row_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """The gradients of rows of each layer's weights that are looked up; if empty, none are."""
    shape_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """What a micro-batch keeps of shapes that each layer's loops compute; if empty, nothing."""
    added_up_bytes: Array = field(default_factory=lambda: np.zeros(0))
    """The gradients that loops of each layer add up, beginning with zeros; if empty, there are
    none."""
    keeps_inputs: tuple[bool, ...] = ()
    """Whether the backward pass of each layer needs what it takes; if empty, all do."""
    meets: tuple[Mapping[int, int], ...] = ()
    """Of each layer the inputs that it takes in one tensor with others, each with the next one."""
    met_outputs: tuple[MetOutputs, ...] = ()
    """What the output of each layer meets where it is; if empty, none meets any."""

    def met(self, *, kept: bool = False) -> list[tuple[int, ...]]:
        """The layers whose outputs meet that of each layer; with `kept` those that are needed."""
        places = {name: place for place, name in enumerate(self.names)}
        return [
            tuple(places[name] for name in each.others if each.kept or not kept)
            for each in self.met_outputs or (MetOutputs(),) * len(self.inputs)
        ]

    @property
    def sent_bytes(self) -> Array:
        """The bytes per sample sent to each device that needs a layer's output, and back."""
        return self.output_bytes * (self.directions or 2)

    def seconds(self, micro_batches: int) -> Array:
        """The seconds of each layer on each device for one micro-batch; shape (devices, layers)."""
        return self.fixed + self.per_sample * (self.batch / micro_batches)


def recomputing(work: Work) -> Work:
    """The work with recomputation: each backward pass includes another forward pass."""
    again = 1 + work.forward_share
    return replace(
        work,
        fixed=work.fixed * again,
        per_sample=work.per_sample * again,
        forward_share=work.forward_share / again,
    )


@dataclass(frozen=True, slots=True)
class LayerTime:
    """A layer's time on a device, in seconds: `fixed + per_sample · batch` per pass, plus `update`.

    `share` is the fraction of the machine's cores that this occupies on devices that share them:
    with 0.5 two of them run at once without slowing down.
    """

    forward_fixed: float = 0.0
    forward_per_sample: float = 0.0
    backward_fixed: float = 0.0
    backward_per_sample: float = 0.0
    update: float = 0.0
    share: float | None = None


Times = Mapping[str, LayerTime]
"""By the names of the layers."""
DeviceTimes = Mapping[str, Times]
"""By the names of the devices."""


def by_flops(graph: ModelGraph, rate: float = 1.0) -> Times:
    """Times on a device of `rate` FLOP/s, as if layers were bound by computing.

    With the default they are right in proportion only.
    """
    return {
        layer.name: LayerTime(
            forward_per_sample=layer.flops_forward / rate,
            backward_per_sample=layer.flops_backward / rate,
        )
        for layer in graph.layers
    }


def times_in(answer: Mapping[str, Any], devices: Sequence[PlannedDevice]) -> dict[str, Times]:
    """The times on each of `devices`, measured on one of each physical device, in an answer.

    Raises ValueError if it is not such an answer of the trainer.
    """
    measured = msgspec.convert(answer.get("times"), dict[str, dict[str, LayerTime]], strict=False)
    physical = {device.name: device.physical for device in devices}
    by_kind = {physical[name]: times for name, times in measured.items() if name in physical}
    return {
        device.name: by_kind[device.physical] for device in devices if device.physical in by_kind
    }


def links_in(answer: Mapping[str, Any], devices: Sequence[PlannedDevice]) -> dict[str, float]:
    """The bandwidth to each physical device from another, in bytes/s, in a trainer's answer.

    Devices to which nothing is copied are left out. Raises ValueError if it is not such an answer.
    """
    measured = msgspec.convert(answer.get("links", {}), dict[str, float], strict=False)
    return {device.physical: measured[device.name] for device in devices if device.name in measured}


_AS_THEY_ARE = (
    "output_bytes",
    "kept_bytes",
    "passing_bytes",
    "outlived_bytes",
    "behind_bytes",
    "spared_bytes",
    "output_kept_bytes",
    "forward_bytes",
    "let_go_bytes",
    "made_bytes",
    "lent_bytes",
    "row_bytes",
    "shape_bytes",
    "added_up_bytes",
)
"""The bytes of layers that `Work` has under the same names."""


def work_of(model: ModelFacts, devices: Sequence[Device], batch: int, times: DeviceTimes) -> Work:
    """The work of a step of `batch` samples. Raises ValueError if the layers are not known."""
    graph = _graph_of(model)
    layers, places = graph.layers, {layer.name: at for at, layer in enumerate(graph.layers)}
    of, (earlier, later) = _times_of(layers, devices, times), _neighbours(layers, places)
    return Work(
        names=tuple(places),
        inputs=earlier,
        fixed=_table([[time.forward_fixed + time.backward_fixed for time in row] for row in of]),
        per_sample=_table([[_per_sample(time) for time in row] for row in of]),
        update=_table([[time.update for time in row] for row in of]),
        forward_share=_row(_forward_share(time, batch) for time in of[0]),
        taken_bytes=_row(0 if layer.inputs else graph.input_bytes for layer in layers),
        state_bytes=_state_bytes(layers, model),
        gradient_bytes=_row(layer.trainable_bytes for layer in layers),
        batch=batch,
        share=tuple(_share(row) for row in of),
        later=later,
        directions=_directions(graph),
        rehearsed=model.steps,
        around_bytes=_row(layer.around for layer in layers),
        kernels=kernel_table([[each[:4] for each in layer.kernels] for layer in layers]),
        apart=_apart(layers),
        doubles=tuple(doubles(graph)),
        sums=tuple(sums(graph)),
        keeps_inputs=tuple(layer.keeps_inputs for layer in layers),
        meets=tuple({places[one]: places[next_] for one, next_ in each.meets} for each in layers),
        met_outputs=tuple(layer.met_outputs for layer in layers),
        **{name: _row(getattr(layer, name) for layer in layers) for name in _AS_THEY_ARE},
    )


def _apart(layers: Sequence[GraphLayer]) -> dict[int, tuple[tuple[Apart, ...], ...]]:
    """Of each layer by its place that of which anything is known."""
    every = [(each.apart, *(kernel.apart for kernel in each.kernels)) for each in layers]
    return {place: some for place, some in enumerate(every) if any(some)}


def _directions(graph: ModelGraph) -> tuple[int, ...]:
    """In how many directions the output of each layer is sent: a gradient may come back for it."""
    returned = with_gradients(graph)
    return tuple(2 if layer.name in returned else 1 for layer in graph.layers)


def _per_sample(time: LayerTime) -> float:
    return time.forward_per_sample + time.backward_per_sample


_Places = tuple[tuple[int, ...], ...]


def _neighbours(layers: Sequence[GraphLayer], places: Mapping[str, int]) -> tuple[_Places, _Places]:
    """The places of each layer's inputs: those before it, and those after it."""
    froms = [[places[name] for name in layer.inputs] for layer in layers]
    earlier = (tuple(each for each in some if each < at) for at, some in enumerate(froms))
    later = (tuple(each for each in some if each > at) for at, some in enumerate(froms))
    return tuple(earlier), tuple(later)


def _graph_of(model: ModelFacts) -> ModelGraph:
    if model.graph is None:
        why = model.model_error or "they were not asked for"
        raise ValueError(f"The layers of the model are not known: {why}")
    return model.graph


def _times_of(
    layers: Sequence[GraphLayer], devices: Sequence[Device], times: Mapping[str, Times]
) -> list[list[LayerTime]]:
    """The times of every layer on each device, 0 if it has none.

    Devices with the same times share a row.
    """
    every = {id(times[device.name]): times[device.name] for device in devices}
    rows = {
        key: [some.get(layer.name, LayerTime()) for layer in layers] for key, some in every.items()
    }
    return [rows[id(times[device.name])] for device in devices]


def _share(times: Sequence[LayerTime]) -> float | None:
    known = [time.share for time in times if time.share is not None]
    return sum(known) / len(known) if known else None


def _table(rows: list[list[float]]) -> Array:
    return np.array(rows, dtype=np.float64)


def _row(values: Iterable[float]) -> Array:
    return np.fromiter(values, dtype=np.float64)


def kernel_table(kernels: Sequence[Sequence[tuple[float, float, float, float]]]) -> Array:
    """The kernels of each layer as an array of shape (layers, kernels, 4), with 0 where is none."""
    table = np.zeros((len(kernels), max(map(len, kernels), default=0), 4))
    for place, some in enumerate(kernels):
        table[place, : len(some)] = np.reshape(some, (len(some), 4))
    return table


def _state_bytes(layers: Sequence[GraphLayer], model: ModelFacts) -> Array:
    """Weights, gradients of the trained ones, and optimizer slots.

    Shared slots count for the first layer.
    """
    slots = [model.slots.get(layer.name, 0) for layer in layers]
    state = [
        float(layer.weight_bytes + layer.trainable_bytes + own)
        for layer, own in zip(layers, slots, strict=True)
    ]
    return np.array([size + model.shared_slots * (not place) for place, size in enumerate(state)])


def _forward_share(time: LayerTime, batch: int) -> float:
    forward = time.forward_fixed + time.forward_per_sample * batch
    whole = forward + time.backward_fixed + time.backward_per_sample * batch
    return forward / whole if whole else 1 / 3


THREADS = "TF_NUM_INTRAOP_THREADS"
"""TensorFlow's environment variable for the threads of an operation on a CPU."""


def threads_per_operation(environ: Mapping[str, str]) -> int:
    """The threads that an operation on a CPU may use; 0 is TensorFlow's default, one per core."""
    text = environ.get(THREADS, "")
    return int(text) if text.isdecimal() else 0


def chosen_devices(plan: Plan, machine: Machine) -> tuple[PlannedDevice, ...]:
    """The logical devices of the plan: those it names, else all GPUs, or all CPUs without a GPU."""
    logical = logical_devices(plan, machine)
    names = plan.distribution.devices or default_devices(logical)
    return tuple(device for device in logical if device.name in names)


def places(
    devices: Sequence[PlannedDevice], machine: Machine, bandwidths: Mapping[str, float]
) -> list[Device]:
    """The devices with their limits in bytes; `bandwidths` gives the bytes/s to a physical device.

    Between the slices of one physical device, and between logical CPUs, tensors are passed by
    reference, whatever their size: a transfer that is not in `bandwidths` takes no time.
    """
    limits = limits_bytes(devices, machine)
    return [
        Device(
            each.name,
            limits[each.name],
            bandwidths.get(each.physical, math.inf),
            reserve_for_cudnn(each, machine),
        )
        for each in devices
    ]


def most_bytes(devices: Sequence[PlannedDevice], machine: Machine) -> dict[str, int | None]:
    """The most that TensorFlow could hold on each device without other users.

    None as in `limits_bytes`.
    """
    known = {
        name: available.most_mib for name, available in available_memory(devices, machine).items()
    }
    return {name: None if mib is None else mib * MIB for name, mib in known.items()}


def limits_bytes(devices: Sequence[PlannedDevice], machine: Machine) -> dict[str, int | None]:
    """What TensorFlow can hold now on each device in use, in bytes.

    None on a CPU, or if unknown.
    """
    known = {name: available.mib for name, available in available_memory(devices, machine).items()}
    return {name: None if mib is None else mib * MIB for name, mib in known.items()}


def workers(
    devices: Sequence[PlannedDevice], machine: Machine, threads_per_operation: int = 0
) -> int:
    """How many devices work at once: one slice per card; what the CPU computes as cores allow.

    An operation on a CPU takes `threads_per_operation` cores; 0 is TensorFlow's default, which is
    all of them.
    """
    physical = [device.physical for device in devices]
    cards = {each for each in physical if not machine.computes_on_cpu(each)}
    cpus = sum(machine.computes_on_cpu(each) for each in physical)
    at_once = max(1, machine.cpu_cores // threads_per_operation) if threads_per_operation else 1
    return max(1, len(cards) + min(cpus, at_once))
