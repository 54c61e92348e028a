"""What has to be placed, as numbers: how long each layer takes on each device, and the bytes it holds and hands on.

A training step of `batch` samples in `micro_batches` M costs a layer, on one device and for each micro-batch,
    seconds = fixed + per_sample · batch / M            (forward and backward together)
and each tensor that another device needs is sent there once a micro-batch, and its gradient comes back.
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
    """A logical device: what may be held on it, in bytes (None: no limit), and how fast it is sent to, in bytes/s."""

    name: str
    limit: float | None = None
    bandwidth: float = 8e9


def is_copied_to(device: str) -> bool:
    """Whether a tensor from another device takes room on this one: logical CPUs are handed it by reference."""
    return not device.startswith("CPU")


@dataclass(frozen=True, slots=True)
class Work:
    """Layers in an order in which each stands after those that it takes its input from.

    `inputs[l]` are the places of those, and `later[l]` those of layers behind it, from which a layer that is used in
    several places takes too. `ways[l]` is 2 where the output's gradient comes back, else 1; 2 for all if it is empty.
    `fixed` and `per_sample` have shape (devices, layers), in seconds, and so has
    `update`, the time of a layer's update once a step. `forward_share` is the forward pass' part of a layer's time.
    In bytes a sample: `output_bytes` of what is handed on, `kept_bytes` of what the backward pass needs,
    `passing_bytes` of an output and its gradient where the layer makes memory of its own, `taken_bytes` of the model's
    input where the layer takes that. In bytes: `state_bytes` of weights, gradients and optimizer slots, and of these
    `gradient_bytes`. All of shape (layers,).
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
    """Of each device that shares the machine's cores with others the part of them that its work takes; else None."""
    later: tuple[tuple[int, ...], ...] = ()
    ways: tuple[int, ...] = ()
    rehearsed: Mapping[str, StepMemory] = field(default_factory=dict)
    """What a step of the whole model holds on a "GPU" and on a "CPU"."""

    @property
    def sent_bytes(self) -> Array:
        """Of each layer's output, a sample, what goes to a device that needs it, and what comes back."""
        return self.output_bytes * (self.ways or 2)

    def seconds(self, micro_batches: int) -> Array:
        """Of each layer on each device for one micro-batch; shape (devices, layers)."""
        return self.fixed + self.per_sample * (self.batch / micro_batches)


def recomputing(work: Work) -> Work:
    """The work where what a stage keeps is computed again: another forward pass in each backward pass."""
    again = 1 + work.forward_share
    return replace(
        work, fixed=work.fixed * again, per_sample=work.per_sample * again, forward_share=work.forward_share / again
    )
