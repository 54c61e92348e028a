"""The work to be placed, as numbers: the time of each layer on each device, and its bytes.

A training step of `batch` samples in `micro_batches` M costs a layer, on one device and for each
    micro-batch, seconds = fixed + per_sample · batch / M            (forward and backward together)
and each tensor that another device needs is sent there once per micro-batch, and its gradient comes
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.step_memory import StepMemory

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Device:
    """A logical device: its memory limit in bytes (None: no limit), and the bytes/s to it."""

    name: str
    limit: float | None = None
    bandwidth: float = 8e9


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
