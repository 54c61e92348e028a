"""The memory of blocks of neighbouring layers, as candidates for a stage (see `blocks`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from gpu_studio.placement.block_amounts import (
    Amount,
    AtLeast,
    AtMost,
    BlockSet,
    Exactly,
    Sums,
    View,
    filled,
)
from gpu_studio.placement.block_borders import BlockBorders
from gpu_studio.placement.block_way_back import BlocksBack, GoingBack, way_back
from gpu_studio.placement.blocks import before, maxima
from gpu_studio.placement.stage_memory import (
    StageMemory,
    Step,
    running,
    shares,
    with_beyond,
)
from gpu_studio.placement.step_memory import ON_CARD
from gpu_studio.placement.work import Array, Work


@dataclass(frozen=True)
class BlockMemory:
    """What blocks hold. So many micro-batches are `under_way`, if a device does not hold fewer.

    With `recompute` stages keep what enters them, and compute the rest again.
    """

    work: Work
    under_way: int
    recompute: bool = False
    _steps: dict[tuple[int, bool], Step] = field(default_factory=dict)
    _bounds: dict[tuple[bool, View], StageMemory] = field(default_factory=dict)
    _back: dict[int, GoingBack] = field(default_factory=dict)

    @cached_property
    def borders(self) -> BlockBorders:
        """What enters and leaves blocks."""
        return BlockBorders(self.work, self.recompute)

    def held(self, micro_batches: int, blocks: BlockSet, *, turns: int = 0) -> Array:
        """The bytes held by some blocks.

        They are on a card that holds so many micro-batches in `turns`, where a tensor from
        elsewhere takes memory of its own; on a CPU if it is 0.
        """
        seen = Exactly(blocks)
        return self._held(micro_batches, seen, self._stage(seen, turns > 0), turns)

    def bounds(self, micro_batches: int, *, turns: int = 0) -> tuple[Array, Array]:
        """The least and the most that blocks in each tile may hold."""
        low, high = (
            self._held(micro_batches, seen, self._bound(seen, turns > 0), turns)
            for seen in (AtLeast(), AtMost())
        )
        return low, high

    def _held(self, micro_batches: int, seen: View, stage: StageMemory, turns: int) -> Array:
        step = self._step(micro_batches, turns)
        going_back = seen.of(self._going_back(step.part)) if turns > 0 else None
        return seen.of(self._lasting) + stage.step_bytes(step, going_back)

    def _step(self, micro_batches: int, turns: int) -> Step:
        copied = turns > 0
        under_way = min(self.under_way, turns) if copied else self.under_way
        key = micro_batches, copied
        if key not in self._steps:  # what is beyond the formula is the same for all turns
            step = Step(self.work.batch, micro_batches, under_way, copied)
            # A device that others have no tensors copied to is a CPU, and how many cores there are
            # is not known here.
            at_work = running(micro_batches, under_way, 1 if copied else under_way)
            kind = "GPU" if copied else "CPU"
            self._steps[key] = _step_on(kind, step, self.work, at_work)
        return replace(self._steps[key], under_way=under_way)

    def _going_back(self, part: int) -> GoingBack:
        if part not in self._back:  # numbers of micro-batches are asked for one after another
            self._back.clear()
            self._back[part] = GoingBack(self._blocks_back, part)
        return self._back[part]

    def _bound(self, seen: View, copied: bool) -> StageMemory:
        key = copied, seen
        if key not in self._bounds:  # it is the same however many micro-batches there are
            self._bounds[key] = self._stage(seen, copied)
        return self._bounds[key]

    def _stage(self, seen: View, copied: bool) -> StageMemory:
        """The amounts of blocks; what is kept is less by what is lent, and received by brief."""

        def here(amount: Amount | None) -> Array | float:
            return seen.of(amount) if copied else 0.0

        borders, gradients, kept = self.borders, seen.of(self._gradients), seen.of(self._kept)
        enters, taken = seen.of(borders.entering), seen.of(self._taken)
        # What a CPU keeps when it computes again are tensors of other stages.
        kept_here = (0.0 if copied else enters) if self.recompute else kept
        if not self.recompute and copied:
            kept_here = kept - seen.against(borders.lent)
        return StageMemory(
            gradients=gradients,
            taken=0.0 if copied else taken,
            received=enters + taken if copied else 0.0,
            brief=seen.against(borders.brief) if copied else 0.0,
            lingering=here(borders.lingering),
            waiting=here(borders.waiting),
            forward=here(borders.forward),
            skipping=here(borders.skipping),
            returned=here(borders.returning),
            joined=here(borders.joined),
            met=here(borders.met),
            came=here(self._blocks_back.came),
            rows=here(self._rows),
            shapes=here(self._shapes),
            kept=kept_here,
            passing=0.0 if copied else seen.of(self._passing),
            again=kept if self.recompute and not copied else 0.0,
            updating=gradients if copied else seen.of(self._updating),
            zeros=here(self._zeros),
            share=seen.of(self._share),
        )

    @cached_property
    def _blocks_back(self) -> BlocksBack:
        return BlocksBack(self.work, self.borders.returning, spares=not self.recompute)

    @cached_property
    def _lasting(self) -> Amount:
        return Sums(before(self.work.state_bytes - self.work.gradient_bytes))

    @cached_property
    def _gradients(self) -> Amount:
        return Sums(before(self.work.gradient_bytes))

    @cached_property
    def _kept(self) -> Amount:
        return Sums(before(self.work.kept_bytes))

    @cached_property
    def _zeros(self) -> Amount | None:
        added = self.work.added_up_bytes
        return Sums(before(added)) if len(added) else None

    @cached_property
    def _rows(self) -> Amount | None:
        rows = self.work.row_bytes
        return Sums(before(rows)) if rows.any() else None

    @cached_property
    def _shapes(self) -> Amount | None:
        shapes = self.work.shape_bytes
        return Sums(before(shapes)) if shapes.any() else None

    @cached_property
    def _share(self) -> Amount:
        work = self.work
        return Sums(before(shares(work.kept_bytes, work.gradient_bytes, work.batch)))

    @cached_property
    def _taken(self) -> Amount | None:
        taken = self.work.taken_bytes
        return filled(maxima(taken)) if taken.any() else None

    @cached_property
    def _passing(self) -> Amount | None:
        return filled(maxima(self.work.passing_bytes))

    @cached_property
    def _updating(self) -> Amount | None:
        return filled(maxima(2 * self.work.gradient_bytes))


def replica_bytes(work: Work, replicas: int = 1) -> float:
    """What a card holds that has the whole model, and its part of the batch in one piece."""
    lasting = float(work.state_bytes.sum() - work.gradient_bytes.sum())
    step = _step_on("GPU", Step(-(-work.batch // replicas)), work, 1)
    return lasting + float(_whole(work, "GPU").step_bytes(step, _whole_way_back(work, step)))


def _whole_way_back(work: Work, step: Step) -> float:
    moments = way_back(work).moments(step.part)
    return float(moments.max(initial=0.0) + work.gradient_bytes.sum())


def _whole(work: Work, kind: str) -> StageMemory:
    gradients = work.gradient_bytes
    return StageMemory(
        gradients=gradients.sum(),
        taken=0.0 if kind == "GPU" else work.taken_bytes.max(initial=0.0),
        received=work.taken_bytes.max(initial=0.0) if kind == "GPU" else 0.0,
        kept=work.kept_bytes.sum(),
        passing=work.passing_bytes.max(initial=0.0),
        updating=gradients.sum() if kind == "GPU" else 2 * gradients.max(initial=0.0),
        rows=work.row_bytes.sum() if kind == "GPU" else 0.0,
    )


def _step_on(kind: str, step: Step, work: Work, at_work: int) -> Step:
    """The step, with what a device of this `kind` holds beyond the formula.

    `at_work` is how many micro-batches it computes at once.
    """
    step = replace(step, margin=ON_CARD if kind == "GPU" else 1.0)
    going_back = _whole_way_back(work, step) if kind == "GPU" else None
    return with_beyond(step, _whole(work, kind), going_back, work.rehearsed, at_work)
