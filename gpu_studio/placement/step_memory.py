"""What a training step holds besides weights and optimizer slots, moment by moment, for any batch.

A tensor's size is fixed, or grows with the batch. At each moment of a step what is held is therefore a line over the
batch, and the most that is held at once is the highest of these lines. Few of them are ever the highest (the upper
envelope), and only those are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CLOSE = 128
"""Up to this batch it is known at short intervals what the allocator adds."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is held at one moment of a step: `fixed + per_sample · batch` bytes.

    Of that, `gradients` are of weights, fixed too, and `kept` bytes a sample are activations that the backward pass
    still needs.
    """

    fixed: int = 0
    per_sample: int = 0
    gradients: int = 0
    kept: int = 0

    def bytes(self, batch: int) -> int:
        """All that is held at this moment in a step of `batch` samples."""
        return self.fixed + self.per_sample * batch


@dataclass(frozen=True, slots=True)
class Padding:
    """How many times as much as it is asked for an allocator gives out at the fullest moment of `batch` samples."""

    batch: int
    factor: float


@dataclass(frozen=True, slots=True)
class StepMemory:
    """The moments at which, for some batch, a step holds the most, and what the allocator adds; by rising batches."""

    moments: tuple[Moment, ...] = ()
    padding: tuple[Padding, ...] = ()

    def fullest(self, batch: int) -> Moment:
        """The moment at which a step of `batch` samples holds the most."""
        return max(self.moments, key=lambda moment: moment.bytes(batch), default=Moment())

    def asked(self, batch: int) -> int:
        """The most that the operations of a step of `batch` samples hold at once, in bytes."""
        return self.fullest(batch).bytes(batch)

    def peak(self, batch: int) -> int:
        """The most that the allocator has given out for them at once."""
        return round(self.asked(batch) * self.padded(batch))

    def padded(self, batch: int) -> float:
        """The factor between the two; between batches that it is known for, the greater of theirs.

        Blocks fit into regions that are powers of two: what is added for half a large batch is added for all of it.
        """
        alike: float = batch
        if 2 * self.fullest(batch).fixed < self.asked(batch):
            while alike > CLOSE and all(each.batch != alike for each in self.padding):
                alike /= 2
        below = [each.factor for each in self.padding if each.batch <= alike][-1:]
        above = [each.factor for each in self.padding if each.batch >= alike][:1]
        return max((*below, *above), default=1.0)


def highest(moments: Iterable[Moment]) -> StepMemory:
    """Those of `moments` that are the fullest for some batch from 0 on (the upper envelope of their lines)."""
    steepest: dict[int, Moment] = {}
    for moment in moments:
        known = steepest.get(moment.per_sample)
        if known is None or moment.fixed > known.fixed:
            steepest[moment.per_sample] = moment
    hull: list[Moment] = []
    for moment in sorted(steepest.values(), key=lambda each: each.per_sample):
        while hull and hull[-1].fixed <= moment.fixed:
            hull.pop()
        while len(hull) > 1 and _never_highest(hull[-2], hull[-1], moment):
            hull.pop()
        hull.append(moment)
    return StepMemory(tuple(hull))


def _never_highest(flat: Moment, middle: Moment, steep: Moment) -> bool:
    """Whether the middle line lies below the others where these cross (all three by rising slope)."""
    over_steep = (flat.fixed - steep.fixed) * (middle.per_sample - flat.per_sample)
    over_middle = (flat.fixed - middle.fixed) * (steep.per_sample - flat.per_sample)
    return over_steep <= over_middle
