"""What a device holds in a training step, from what is on it: one formula for what is predicted and what is searched.

The executor starts every micro-batch as soon as it can (GPipe's order, Huang et al. 2019), so at the end of the forward
pass what is kept may be that of the whole batch. Where a stage goes on to the backward pass sooner, it takes less. The
backward passes are held back: so many are under way as `at_once` says, and a sum of those that are over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.placement.work import Array

Amount = float | Array


def at_once(devices: int) -> int:
    """How many micro-batches the trainer has in their backward pass at once, where so many devices have layers.

    As many as keep all devices busy while one micro-batch goes back through all of them, and one more for stages that
    are not even; on few devices as many as keep the cores of a CPU busy.
    """
    return max(4, devices + 1)


def summed(micro_batches: int, devices: int) -> int:
    """How many gradients of a variable are there at the most: those under way, and the sum of the others."""
    return min(micro_batches, at_once(devices) + 1)


@dataclass(frozen=True, slots=True)
class Stage:
    """What is on a device, in bytes: of one stage, or in arrays of one shape those of many.

    `taken`, `kept`, `passing` and `again` are for a sample. `taken` is the model's input, where a layer takes it;
    `kept` what the backward pass needs; `passing` the largest output and its gradient, there for a moment and for one
    micro-batch at a time, and so is `again`, what is computed again; `updating` is what the optimizer computes with
    while it updates the largest layer, when the activations are gone.
    """

    gradients: Amount = 0.0
    taken: Amount = 0.0
    kept: Amount = 0.0
    passing: Amount = 0.0
    again: Amount = 0.0
    updating: Amount = 0.0

    def step_bytes(self, batch: int, micro_batches: int, devices: int) -> Array:
        """What a step takes besides weights and slots, at the fullest of three moments, on one of so many devices.

        These are: the backward pass of the first micro-batch, when all that is kept of the batch is there; its end,
        when the gradients of those that go back at once are there to be added to the sum; and the update.
        """
        part = -(-batch // micro_batches)
        backward = self.kept * batch + (self.passing + self.again) * part + self.gradients
        summing, updating = self.gradients * summed(micro_batches, devices), self.gradients + self.updating
        return np.asarray(self.taken * batch + np.maximum(np.maximum(backward, summing), updating), np.float64)
