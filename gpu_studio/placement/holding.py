"""What every block of layers would hold as a stage, device by device: the predictor's formula over tables of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_studio.placement.blocks import maxima, sums
from gpu_studio.placement.stage_memory import Stage
from gpu_studio.placement.work import Array, Device, Work, is_copied_to


@dataclass(frozen=True, slots=True)
class Holding:
    """What blocks hold, where so many bytes a sample enter each.

    With `recompute` stages keep what enters them, and compute the rest again.
    """

    work: Work
    entering: Array
    recompute: bool = False

    def bytes_on(self, devices: Sequence[Device], micro_batches: int) -> list[Array]:
        """A table for each device; those of one kind share theirs."""
        made = {
            copied: self._bytes(micro_batches, copied=copied)
            for copied in {is_copied_to(each.name) for each in devices}
        }
        return [made[is_copied_to(device.name)] for device in devices]

    def _bytes(self, micro_batches: int, *, copied: bool) -> Array:
        work = self.work
        kept = sums(work.kept_bytes)
        stage = Stage(
            gradients=sums(work.gradient_bytes),
            taken=maxima(work.taken_bytes),
            kept=self.entering if self.recompute else kept + self.entering if copied else kept,
            passing=maxima(work.passing_bytes),
            again=kept if self.recompute else 0.0,
            updating=maxima(2 * work.gradient_bytes),
        )
        lasting: Array = sums(work.state_bytes - work.gradient_bytes)
        return lasting + stage.step_bytes(work.batch, micro_batches)


def replica_bytes(work: Work, replicas: int = 1) -> float:
    """What a device holds that has the whole model, and its part of the batch in one piece."""
    stage = Stage(
        gradients=work.gradient_bytes.sum(),
        taken=work.taken_bytes.max(initial=0.0),
        kept=work.kept_bytes.sum(),
        passing=work.passing_bytes.max(initial=0.0),
        updating=2 * work.gradient_bytes.max(initial=0.0),
    )
    lasting = float(work.state_bytes.sum() - work.gradient_bytes.sum())
    return lasting + float(stage.step_bytes(-(-work.batch // replicas), 1))
