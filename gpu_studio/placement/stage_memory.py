"""What a device holds in a training step, from what is on it: one formula for what is predicted and what is searched.

As many micro-batches are under way as `at_once` says, and of those that are over there is the sum of their gradients.
The executor starts each as soon as it can (GPipe's order, Huang et al. 2019), so that what is kept may be that of all
of them. Where a stage goes on to the backward pass sooner, it takes less.

What this leaves out is known of the whole model, whose step is rehearsed (`rehearsal`): see `with_beyond`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpu_studio.placement.step_memory import StepMemory
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
class Step:
    """A batch in so many micro-batches, of which so many may be under way at once.

    `beyond` are the bytes that the whole model holds besides what `Stage` says of it.
    """

    batch: int
    micro_batches: int = 1
    under_way: int = 1
    beyond: float = 0.0

    @property
    def part(self) -> int:
        """Samples of a micro-batch."""
        return -(-self.batch // self.micro_batches)

    @property
    def samples(self) -> int:
        """Those that are under way at once."""
        return samples_at_once(self.batch, self.micro_batches, self.under_way)


@dataclass(frozen=True, slots=True)
class Stage:
    """What is on a device, in bytes: of one stage, or in arrays of one shape those of many.

    `taken`, `kept`, `passing` and `again` are for a sample. `taken` is the model's input, where a layer takes it;
    `kept` what the backward pass needs; `passing` the largest output and its gradient, there for a moment and for one
    micro-batch at a time, and so is `again`, what is computed again; `updating` is what the optimizer computes with
    while it updates the largest layer, when the activations are gone. `share` is the part of the model that is here.
    """

    gradients: Amount = 0.0
    taken: Amount = 0.0
    kept: Amount = 0.0
    passing: Amount = 0.0
    again: Amount = 0.0
    updating: Amount = 0.0
    share: Amount = 1.0

    def step_bytes(self, step: Step) -> Array:
        """What a step takes besides weights and slots, at the fullest of three moments.

        These are: the first backward pass, when all is there that is kept of the micro-batches under way; their end,
        when the gradients of those that go back at once are there to be added to the sum; and the update.
        """
        backward = self.kept * step.samples + (self.passing + self.again) * step.part + self.gradients
        summing = self.gradients * summed(step.micro_batches, step.under_way)
        fullest = np.maximum(np.maximum(backward, summing), self.gradients + self.updating)
        return np.asarray(self.taken * step.batch + fullest + self.share * step.beyond, np.float64)


def with_beyond(step: Step, whole: Stage, rehearsed: StepMemory, at_work: int) -> Step:
    """The step with what the formula forgets, where so many of its micro-batches are computed at the same moment.

    A step of the `whole` model is `rehearsed` operation by operation, with what the allocator adds. What it holds more
    than the formula says is forgotten by that: the gradients that wait in a recurrent layer's loop, for one.
    """
    forgotten = rehearsed.peak(step.part) - float(whole.step_bytes(Step(step.part)))
    return replace(step, beyond=at_work * max(0.0, forgotten))


def running(micro_batches: int, under_way: int, cores: int) -> int:
    """How many micro-batches are computed at the same moment: a card's are in turn, `cores` each take one."""
    return max(1, min(micro_batches, under_way, cores))


def shares(kept: Array, gradients: Array, samples: int) -> Array:
    """Of each layer the part that it has of what the whole model keeps of so many samples, and of its gradients."""
    held = kept * samples + gradients
    total = held.sum()
    return np.asarray(held / total if total else np.full(len(held), 1 / max(1, len(held))), np.float64)
