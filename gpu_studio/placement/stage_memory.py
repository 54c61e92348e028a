"""What a device holds in a training step, from what is on it: one formula for what is predicted and what is searched.

As many micro-batches are under way as `at_once` says, and of those that are over there is the sum of their gradients.
The executor starts each as soon as it can (GPipe's order, Huang et al. 2019), so that what is kept may be that of all
of them. Where a stage goes on to the backward pass sooner, it takes less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.placement.work import Array

Amount = float | Array


def at_once(devices: int, cores: int = 0) -> int:
    """How many micro-batches the trainer has under way at once, where so many devices have layers.

    As many as keep all devices busy while one micro-batch goes through all of them and back (PipeDream, Narayanan et
    al. 2019, section 3.2), and one more for stages that are not even; with logical CPUs as many as the `cores` that
    they share.
    """
    return max(4, devices + 1, cores)


def samples_at_once(batch: int, micro_batches: int, under_way: int) -> int:
    """How many samples of a batch are under way, where so many micro-batches may be."""
    return min(batch, -(-batch // micro_batches) * under_way)


def summed(micro_batches: int, under_way: int) -> int:
    """How many gradients of a variable are there at the most: of those under way, and the sum of the others."""
    return min(micro_batches, under_way + 1)


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

    def step_bytes(self, batch: int, micro_batches: int, under_way: int) -> Array:
        """What a step takes besides weights and slots, at the fullest of three moments.

        These are: the first backward pass, when all is there that is kept of the micro-batches under way; their end,
        when the gradients of those that go back at once are there to be added to the sum; and the update.
        """
        part = -(-batch // micro_batches)
        kept = self.kept * samples_at_once(batch, micro_batches, under_way)
        backward = kept + (self.passing + self.again) * part + self.gradients
        summing, updating = self.gradients * summed(micro_batches, under_way), self.gradients + self.updating
        return np.asarray(self.taken * batch + np.maximum(np.maximum(backward, summing), updating), np.float64)
