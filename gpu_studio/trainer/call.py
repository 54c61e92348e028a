"""The results of one call of the compiled training steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.trainer.meters import Deltas


@dataclass(frozen=True, slots=True)
class Call:
    """`losses` has shape (steps,): the mean over each global batch.

    `deltas` is what the metrics got.

    `input_seconds` were spent waiting for data; `aside_seconds` on watching the call, which is no
    training.
    """

    losses: np.ndarray
    deltas: Deltas
    input_seconds: float
    aside_seconds: float = 0.0

    def followed_by(self, other: Call) -> Call:
        """Join this call and a call of later steps into one."""
        return Call(
            np.concatenate([self.losses, other.losses]),
            added_up(self.deltas, other.deltas),
            self.input_seconds + other.input_seconds,
            self.aside_seconds + other.aside_seconds,
        )


def added_up(total: Deltas, added: Deltas) -> Deltas:
    """Return what two batches together add to each metric's state."""
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, added, strict=True)]
