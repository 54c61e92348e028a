"""What every block of layers would hold as a stage, device by device.

The predictor's formula over tables of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_studio.placement.blocks import before, maxima, sums
from gpu_studio.placement.stage_memory import (
    StageMemory,
    Step,
    running,
    samples_at_once,
    shares,
    with_beyond,
)
from gpu_studio.placement.step_memory import StepMemory
from gpu_studio.placement.work import Array, Work


@dataclass(frozen=True, slots=True)
class BlockMemory:
    """What blocks hold, where so many bytes a sample enter each (a table; see `blocks`).

    So many micro-batches are `under_way` at once. With `recompute` stages keep what enters them,
    and compute the rest again.
    """

    work: Work
    entering: Array
    under_way: int
    recompute: bool = False
    _made: dict[tuple[range, int, bool], StageMemory] = field(default_factory=dict)

    def at_least(self, micro_batches: int) -> Array:
        """What each layer adds at least to any block, summed up as `blocks.before` does."""
        under_way = 1 if self.recompute else self.under_way
        samples = samples_at_once(self.work.batch, micro_batches, under_way)
        return before(self.work.state_bytes + self.work.kept_bytes * samples)

    def piece(self, micro_batches: int, ends: range, begin: int = 0, *, copied: bool) -> Array:
        """A piece of the table of all that is held, on a device where a tensor from elsewhere takes
        room or not.
        """
        key = ends, begin, copied
        # Most of it is the same however many micro-batches there are.
        stage = (
            self._made[key]
            if key in self._made
            else self._made.setdefault(key, self._stage(ends, begin, copied))
        )
        lasting: Array = sums(before(self.work.state_bytes - self.work.gradient_bytes), ends, begin)
        step = Step(self.work.batch, micro_batches, self.under_way)
        # A device that others have no tensors copied to is a CPU, and how many cores there are is
        # not known here.
        at_work = running(micro_batches, self.under_way, 1 if copied else self.under_way)
        return lasting + stage.step_bytes(_on("GPU" if copied else "CPU", step, self.work, at_work))

    def _stage(self, ends: range, begin: int, copied: bool) -> StageMemory:
        work = self.work
        kept = sums(before(work.kept_bytes), ends, begin)
        entering = self.entering[ends.start : ends.stop, begin : ends.stop]
        return StageMemory(
            gradients=sums(before(work.gradient_bytes), ends, begin),
            taken=maxima(work.taken_bytes, ends, begin)
            if work.taken_bytes[begin : ends.stop].any()
            else 0.0,
            kept=entering if self.recompute else kept + entering if copied else kept,
            passing=maxima(work.passing_bytes, ends, begin),
            again=kept if self.recompute else 0.0,
            updating=maxima(2 * work.gradient_bytes, ends, begin),
            share=sums(
                before(shares(work.kept_bytes, work.gradient_bytes, work.batch)), ends, begin
            ),
        )


def replica_bytes(work: Work, replicas: int = 1) -> float:
    """What a card holds that has the whole model, and its part of the batch in one piece."""
    lasting = float(work.state_bytes.sum() - work.gradient_bytes.sum())
    step = _on("GPU", Step(-(-work.batch // replicas)), work, 1)
    return lasting + float(_whole(work).step_bytes(step))


def _whole(work: Work) -> StageMemory:
    return StageMemory(
        gradients=work.gradient_bytes.sum(),
        taken=work.taken_bytes.max(initial=0.0),
        kept=work.kept_bytes.sum(),
        passing=work.passing_bytes.max(initial=0.0),
        updating=2 * work.gradient_bytes.max(initial=0.0),
    )


def _on(kind: str, step: Step, work: Work, at_work: int) -> Step:
    """The step with what a device of this kind holds besides what the formula says, where so many
    are at work.
    """
    return with_beyond(step, _whole(work), work.rehearsed.get(kind, StepMemory()), at_work)
