"""What a call of the compiled training steps brings back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpu_studio.trainer.meters import Deltas


@dataclass(frozen=True, slots=True)
class Call:
    """`losses` has shape (steps,): the mean over each global batch; `deltas` is what the metrics got.

    `input_seconds` were spent waiting for data; `aside_seconds` on watching the call, which is no training.
    """

    losses: np.ndarray
    deltas: Deltas
    input_seconds: float
    aside_seconds: float = 0.0

    def followed_by(self, other: Call) -> Call:
        """This call and one of later steps as one."""
        return Call(
            np.concatenate([self.losses, other.losses]),
            added_up(self.deltas, other.deltas),
            self.input_seconds + other.input_seconds,
            self.aside_seconds + other.aside_seconds,
        )


def added_up(total: Deltas, added: Deltas) -> Deltas:
    """What two batches added to each metric's state, together."""
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, added, strict=True)]
