"""What a training step holds besides weights and optimizer slots, moment by moment, for any batch.

A tensor's size is fixed or grows with the batch. What is held at each moment of a step is therefore
a line over the batch, and the peak is the highest of these lines. Few of them are ever the highest
(the upper envelope), and only those are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

UNIT = 256
"""The size of every piece that TensorFlow's allocator gives out is a multiple of so many bytes."""
CLOSE = 256
"""Up to this batch the allocator's overhead is known at short intervals."""
APART = 64
"""Where it leaps, it is known of large batches that are a part in so many from each other."""
UNREHEARSED = 1.08
"""The margin on a CPU. Which step is the fullest, and how finely memory is cut by then, is chance:
from one process to the next the fullest of thirty real steps differs by up to a tenth."""
REPLACED = 1.2
"""The margin on the variables that a step changes. Updates make them anew, in pieces up to twice as
large as they are, so that what is theirs differs most."""
ON_CARD = 1.03
"""The margin on a card, whose pieces are cut to size. What a step of one card asks for is rehearsed
to 1.005 of the fullest of real ones, or more, and what several hold by placement to 0.99. The rest
is chosen, not derived: operations come in another order each time, and the more steps are looked
at, the fuller the fullest."""


@dataclass(frozen=True, slots=True)
class MemoryMoment:
    """What is held at one moment of a step: `fixed + per_sample · batch` bytes.

    Of that, `gradients` (also fixed) are of weights, and `kept` bytes per sample are activations
    that the backward pass still needs.
    """

    fixed: int = 0
    per_sample: int = 0
    gradients: int = 0
    kept: int = 0

    def bytes(self, batch: int) -> int:
        """The total at this moment in a step of `batch` samples."""
        return self.fixed + self.per_sample * batch


@dataclass(frozen=True, slots=True)
class Padding:
    """Allocated over requested memory at the peak of a step of `batch` samples."""

    batch: int
    factor: float


@dataclass(frozen=True, slots=True)
class SplitTurns:
    """The turns of a loop on a CPU that each split a tensor into equal `parts`, as LSTMs do.

    A part is of `per_sample` bytes. `margin` is on what they waste.
    """

    turns: int
    parts: int
    per_sample: int
    margin: float = UNREHEARSED

    def wasted(self, batch: int) -> int:
        """The bytes that the lists of all turns have beyond what is put into them.

        When the tensor is freed, pieces of the size of a part are cut from its place, one after the
        other. Each is rounded up, so that the tensor may not have had enough for all: the last that
        finds some is given all that is left, which is less than twice its size.
        """
        piece, whole = (-(-some * self.per_sample * batch // UNIT) for some in (1, self.parts))
        return round(self.margin * self.turns * (whole % piece if piece else 0) * UNIT)


@dataclass(frozen=True, slots=True)
class StepMemory:
    """The moments at which steps of some batch peak, and the allocator's overhead by batch.

    `lost` are the bytes that the allocator gave out for the variables beyond their size, where the
    model was built. They are not part of a step. `splits` are those of loops, if any waste memory:
    that changes from one batch to the next, and so lies on no line.
    """

    moments: tuple[MemoryMoment, ...] = ()
    padding: tuple[Padding, ...] = ()
    lost: int = 0
    splits: tuple[SplitTurns, ...] = ()

    def fullest(self, batch: int) -> MemoryMoment:
        """The moment at which a step of `batch` samples peaks."""
        return max(self.moments, key=lambda moment: moment.bytes(batch), default=MemoryMoment())

    def asked(self, batch: int) -> int:
        """The most that the operations of a step of `batch` samples hold at once, in bytes."""
        return self.fullest(batch).bytes(batch)

    def peak(self, batch: int) -> int:
        """The most that the allocator has allocated for them at once."""
        wasted = sum(each.wasted(batch) for each in self.splits)
        return round(self.asked(batch) * self.padded(batch)) + wasted

    def padded(self, batch: int) -> float:
        """The ratio of the two.

        Blocks fit into regions that are powers of two: the overhead for half a large batch is that
        for all of it, unless a kernel needs what it does not need for half of it.
        """
        alike: float = batch
        known = {float(each.batch) for each in self.padding}
        # So large batches are known one beside the other only where a kernel's need begins.
        leaps = {each for each in known if each > CLOSE / 2 and each - 1 in known}
        if 2 * self.fullest(batch).fixed < self.asked(batch):
            while alike > CLOSE and alike not in known:
                if any(alike / 2 < leap <= alike for leap in leaps):
                    break
                alike /= 2
        below = [each for each in self.padding if each.batch <= alike][-1:]
        above = [each for each in self.padding if each.batch >= alike][:1]
        if below and above and below != above:
            return self._between(below[0], above[0], alike)
        return max((each.factor for each in (*below, *above)), default=1.0)

    def _between(self, below: Padding, above: Padding, batch: float) -> float:
        """The ratio at a batch between two for which it is known.

        The allocated bytes lie on the line between the two; but they may jump between two that are
        as close as any, and for what is there it is only known that they are near one of the two.
        """
        given = [each.factor * self.asked(each.batch) for each in (below, above)]
        share = (batch - below.batch) / (above.batch - below.batch)
        smooth = above.batch - below.batch > max(1, below.batch // APART)
        lies = given[0] + share * (given[1] - given[0]) if smooth else max(given)
        asked = self.asked(below.batch) + share * (
            self.asked(above.batch) - self.asked(below.batch)
        )
        return lies / asked if asked else max(below.factor, above.factor)


def highest(moments: Iterable[MemoryMoment]) -> StepMemory:
    """Those of `moments` that are the fullest for some batch from 0 on: their upper envelope."""
    steepest: dict[int, MemoryMoment] = {}
    for moment in moments:
        known = steepest.get(moment.per_sample)
        if known is None or moment.fixed > known.fixed:
            steepest[moment.per_sample] = moment
    hull: list[MemoryMoment] = []
    for moment in sorted(steepest.values(), key=lambda each: each.per_sample):
        while hull and hull[-1].fixed <= moment.fixed:
            hull.pop()
        while len(hull) > 1 and _never_highest(hull[-2], hull[-1], moment):
            hull.pop()
        hull.append(moment)
    return StepMemory(tuple(hull))


def _never_highest(flat: MemoryMoment, middle: MemoryMoment, steep: MemoryMoment) -> bool:
    """Whether the middle line is below the others where these cross (all three by rising slope)."""
    over_steep = (flat.fixed - steep.fixed) * (middle.per_sample - flat.per_sample)
    over_middle = (flat.fixed - middle.fixed) * (steep.per_sample - flat.per_sample)
    return over_steep <= over_middle
