"""What enters blocks of neighbouring layers from others, and what leaves them (see `blocks`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpu_studio.placement.block_amounts import BlockTable, filled
from gpu_studio.placement.blocks import (
    entering,
    entries,
    largest,
    leaving,
    lending,
    on_the_way,
    on_the_way_unkept,
    passed_through,
    returned_once,
)
from gpu_studio.placement.work import Array, Work


@dataclass(frozen=True)
class BlockBorders:
    """What crosses the borders of blocks, in bytes per sample; None if nothing does.

    With `recompute` stages keep only what enters them.
    """

    work: Work
    recompute: bool

    @cached_property
    def entering(self) -> BlockTable | None:
        """What enters each block."""
        return filled(self._entering)

    @cached_property
    def returning(self) -> BlockTable | None:
        """The gradients that each block sends back for that."""
        if not self.work.sums:
            return self.entering
        return filled(self._entering - returned_once(self.work))

    @cached_property
    def brief(self) -> BlockTable | None:
        """What of that the backward pass does not need."""
        work = self.work
        if self.recompute or (all(work.keeps_inputs) and not any(work.met())):
            return None
        needed = entering(self._needing, work.output_bytes, passed_through(work), work.meets)
        return filled(self._entering - needed)

    @cached_property
    def lingering(self) -> BlockTable | None:
        """The largest tensor of that."""
        if self.brief is None:
            return None
        work, sizes = self.work, self.work.output_bytes
        areas = entries(work, sizes, meets=work.meets, met=work.met())
        areas += entries(self._needing, -sizes, passed_through(work), work.meets)
        brief = self._taken_briefly
        return filled(largest(len(sizes), (each for each in areas if each[0] in brief)))

    @cached_property
    def _taken_briefly(self) -> frozenset[int]:
        """The layers whose outputs others take that do not need them on their way back."""
        work = self.work
        later = work.later or ((),) * len(work.inputs)
        found = {
            each
            for keeps, *some in zip(work.keeps_inputs, work.inputs, later, strict=True)
            if not keeps
            for takes in some
            for each in takes
        }
        return frozenset(found.union(*work.met()))

    @cached_property
    def _needing(self) -> Work:
        """The work of the layers alone whose backward pass needs what they take."""
        work = self.work
        inputs, later = (
            tuple(
                () if not keeps else each
                for keeps, each in zip(work.keeps_inputs, some, strict=True)
            )
            for some in (work.inputs, work.later or ((),) * len(work.inputs))
        )
        return replace(work, inputs=inputs, later=later)

    @cached_property
    def joined(self) -> BlockTable | None:
        """What blocks make of outputs that meet, for others."""
        return filled(leaving(self.work, self._met)) if self._met.any() else None

    @cached_property
    def met(self) -> BlockTable | None:
        """What enters for that and is needed."""
        work = self.work
        if self.recompute or not any(work.met(kept=True)):
            return None
        none: tuple[tuple[int, ...], ...] = ((),) * len(work.inputs)
        alone = replace(work, inputs=none, later=none)
        return filled(entering(alone, work.output_bytes, met=work.met(kept=True)))

    @cached_property
    def waiting(self) -> BlockTable | None:
        """What blocks make for others and do not keep: it waits to be sent."""
        return self._leaving()

    @cached_property
    def skipping(self) -> BlockTable | None:
        """What of that goes further than to the next block."""
        return self._leaving(further=True)

    @cached_property
    def forward(self) -> BlockTable | None:
        """What a micro-batch holds on its way forward beyond all that is kept."""
        if self.recompute:
            return filled(on_the_way_unkept(self.work))
        if self.brief is None and not self.work.forward_bytes.any():
            return None
        brief = np.zeros_like(self._entering) if self.brief is None else self.brief.values
        return filled(on_the_way(self.work, brief))

    @cached_property
    def lent(self) -> BlockTable | None:
        """What blocks keep for others alone."""
        return filled(lending(self.work)) if self._lends else None

    @cached_property
    def _entering(self) -> Array:
        work = self.work
        return entering(work, work.output_bytes, meets=work.meets, met=work.met())

    @property
    def _lends(self) -> bool:
        return not self.recompute and bool(self.work.lent_bytes.any())

    @cached_property
    def _met(self) -> Array:
        met = [each.bytes for each in self.work.met_outputs]
        return np.array(met or [0] * len(self.work.inputs), np.float64)

    def _leaving(self, *, further: bool = False) -> BlockTable | None:
        work, lends = self.work, self._lends
        kept = work.output_kept_bytes if len(work.output_kept_bytes) and not self.recompute else 0.0
        unkept = np.maximum(self._met, work.output_bytes - kept)
        if not (unkept.any() or lends):
            return None
        table = leaving(work, unkept, further=further)
        if lends:
            table += leaving(work, work.lent_bytes, further=further, alone=True)
        return filled(table)
