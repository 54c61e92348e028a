"""What has to be placed, as numbers: how long each layer takes on each device, and the bytes it holds and hands on.

A training step of `batch` samples in `micro_batches` M costs a layer, on one device and for each micro-batch,
    seconds = fixed + per_sample · batch / M            (forward and backward together)
and each tensor that another device needs is sent there once a micro-batch, and its gradient comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Device:
    """A logical device: what may be held on it, in bytes (None: no limit), and how fast it is sent to, in bytes/s."""

    name: str
    limit: float | None = None
    bandwidth: float = 8e9


@dataclass(frozen=True, slots=True)
class Work:
    """Layers in an order in which each stands after those that it takes its input from.

    `inputs[l]` are the places of those. `fixed` and `per_sample` have shape (devices, layers), in seconds, and so has
    `update`, the time of a layer's update once a step. `forward_share` is the forward pass' part of a layer's time,
    `output_bytes` and `kept_bytes` are per sample, `state_bytes` is of weights, gradients and optimizer slots; all of
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
    state_bytes: Array
    batch: int
    share: tuple[float | None, ...] = ()
    """Of each device that shares the machine's cores with others the part of them that its work takes; else None."""

    def seconds(self, micro_batches: int) -> Array:
        """Of each layer on each device for one micro-batch; shape (devices, layers)."""
        return self.fixed + self.per_sample * (self.batch / micro_batches)

    @property
    def held_bytes(self) -> Array:
        """What each layer holds in a step, shape (layers,): its state, and what it keeps of the whole batch.

        All micro-batches are in flight at once, because TensorFlow starts each as soon as its input exists (GPipe's
        order, Huang et al. 2019); so their number does not change what is kept.
        """
        return self.state_bytes + self.kept_bytes * self.batch

    @property
    def crossing_bytes(self) -> Array:
        """What each layer's output costs to send in a whole step, there and its gradient back; shape (layers,)."""
        return 2.0 * self.output_bytes * self.batch
