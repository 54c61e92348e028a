"""What a device holds in a training step, from what is on it: one formula for what is predicted and what is searched.

The executor starts every micro-batch as soon as it can (GPipe's order, Huang et al. 2019), so at the end of the forward
pass what is kept may be that of the whole batch. Where a stage goes on to the backward pass sooner, it takes less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.placement.work import Array

Amount = float | Array


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

    def step_bytes(self, batch: int, micro_batches: int) -> Array:
        """What a step takes besides weights and slots, at the fullest of three moments.

        These are: the backward pass of the first micro-batch, when all that is kept of the batch is there; its end,
        when the gradients of all micro-batches are there to be summed; and the update.
        """
        part = -(-batch // micro_batches)
        backward = self.kept * batch + (self.passing + self.again) * part + self.gradients
        summing, updating = self.gradients * micro_batches, self.gradients + self.updating
        return np.asarray(self.taken * batch + np.maximum(np.maximum(backward, summing), updating), np.float64)
