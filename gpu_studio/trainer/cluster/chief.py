"""The team of a chief: it agrees with itself, for workers and servers do what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpu_studio.contract import WorkerShare
from gpu_studio.trainer.cluster.status import Status
from gpu_studio.trainer.team import Alone


class Chief(Alone):
    """A `Team` of one that tells the supervisor what it does, and what workers have done."""

    profiles = False  # TensorFlow's profiler sees this process alone

    def __init__(self, checkpoint: Path | None, status: Status, again: Callable[[], None]) -> None:
        """`again` is called once TensorFlow has taken the signals for itself."""
        self.checkpoint = checkpoint
        self._status, self._again = status, again

    def joined(self, strategy: Any) -> None:
        """Catch signals again."""
        del strategy
        self._again()

    def share(self, cards: Sequence[Any]) -> Sequence[Any]:
        """It computes nothing on a card."""
        del cards
        return ()

    def ready(self, digests: Callable[[], dict[str, str]], step: int) -> None:
        """Return once the supervisor says so."""
        del digests  # nobody else has the weights or the data
        self._status.wait_for_all({}, step)

    def shared(self, shares: Sequence[WorkerShare], held: Sequence[int]) -> None:
        """Pass it on."""
        self._status.shared(shares, held)
