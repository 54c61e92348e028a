"""What cuDNN takes of a real card's memory besides what is predicted, and its reserve.

It computes convolutions and recurrent layers in workspaces, which come from TensorFlow's allocator
while there is any. In the first step it tries its algorithms for the fastest, each with a
workspace of up to 4 GiB (`TF_CUDNN_WORKSPACE_LIMIT_IN_MB`), 16 MiB of guard zones and a copy of the
output; later it keeps the workspace of the one chosen. Which algorithms there are hangs on the card
and on cuDNN's version, so that this is stated, and not predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_studio.common.practice import CARD_NAME
from gpu_studio.placement.device_memory import (
    MOST_MEASURED,
    RESERVE_MIB,
    WORKSPACES,
    PredictedMemory,
)
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.plan import (
    MIB,
    Machine,
    Placed,
    Plan,
    PlannedDevice,
    logical_devices,
    replicas,
    strategy_of,
)

_CONVOLUTIONS = ("Conv", "SeparableConv", "DepthwiseConv", "ConvLSTM")
CUDNN_KINDS = frozenset(
    {f"{name}{rank}D" for name in _CONVOLUTIONS for rank in (1, 2, 3)}
    | {f"Conv{rank}DTranspose" for rank in (1, 2, 3)}
    | {"LSTM", "GRU", "Bidirectional"}
)
"""Layers that TensorFlow computes through cuDNN, by their Keras class."""
_BESIDE = (
    f"; without {WORKSPACES}, which it takes while there is room, the most as it tries its "
    f"algorithms in the first step: up to {MOST_MEASURED}, and it does not start without some"
)


def through_cudnn(layer: GraphLayer) -> bool:
    """Whether a card computes the layer through cuDNN: by its class, or what was traced of it."""
    return layer.convolves or layer.kind in CUDNN_KINDS


def with_workspaces(
    memories: Mapping[str, PredictedMemory], plan: Plan, machine: Machine, graph: ModelGraph
) -> dict[str, PredictedMemory]:
    """The memories, those of real cards that compute through cuDNN with what is not in them."""
    using = _computing(plan, machine, [each for each in graph.layers if through_cudnn(each)], graph)
    real = {each.name for each in logical_devices(plan, machine) if is_real_card(each, machine)}
    return {name: _noted(each) if name in using & real else each for name, each in memories.items()}


def _computing(
    plan: Plan, machine: Machine, layers: Iterable[GraphLayer], graph: ModelGraph
) -> set[str]:
    """The devices that compute any of these layers."""
    names = replicas(plan, machine)
    if not strategy_of(plan).places_layers:
        return {name for _ in layers for name in names}
    on = graph.devices_of((plan.distribution.placed or Placed()).layers, names)
    return {name for layer in layers for name in on[layer.name]}


def is_real_card(device: PlannedDevice, machine: Machine) -> bool:
    """Whether kernels there are a card's own; a card of which nothing is known is taken to be."""
    if machine.computes_on_cpu(device.physical):
        return False
    card = machine.card(device.physical)
    # Where only TensorFlow has named a practice card, it is known by its name.
    return card is None or not (card.practice or card.name == CARD_NAME)


def reserve_for_cudnn(device: PlannedDevice, machine: Machine) -> int:
    """The bytes that are advised there besides the prediction, if layers run through cuDNN."""
    return RESERVE_MIB * MIB if is_real_card(device, machine) else 0


def _noted(memory: PredictedMemory) -> PredictedMemory:
    return replace(
        memory,
        total_formula=memory.total_formula + _BESIDE,
        without=WORKSPACES,
        room_bytes=RESERVE_MIB * MIB,
    )
