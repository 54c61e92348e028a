"""The processes that train together: what the loop agrees on with the others between two calls.

A run of one process is a team of one, which agrees with itself. The loop does not know which it is
in: `Alone` is the local form, `cluster.clustered.Clustered` that of several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from gpu_studio.contract import WorkerShare
from gpu_studio.trainer.control import Control

Place = Literal["training", "epoch end", "evaluation", "pause", "ended by a callback"]
"""Where in the loop a worker asks: all of them must be at the same place of the same step."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What all do now: heed these wishes, then make a call of so many steps."""

    stopping: bool
    pausing: bool
    checkpoint: bool
    steps: int


class Team(Protocol):
    """What a session and its loop ask of the team that they are in.

    `writes` says that this process writes the run's checkpoints and scalars; `profiles` that
    TensorFlow's profiler may be used. `checkpoint` is the one to go on from, if the team was told
    one. `index` and `count` are those of its workers.
    """

    index: int
    count: int
    writes: bool
    profiles: bool
    checkpoint: Path | None

    def joined(self, strategy: Any) -> None:
        """Take note of the strategy that joins the processes, once it is made."""

    def own(self, replicas: Sequence[str]) -> tuple[int, int] | None:
        """Which replicas of all are this process's, first and past the last; None for all."""

    def share(self, cards: Sequence[Any]) -> Sequence[Any]:
        """Those of the machine's cards that this process uses. Raises PlanRefused."""

    def ready(self, digests: Callable[[], dict[str, str]], step: int) -> None:
        """Return once all are ready to train. Raises TrainerError if they are not alike."""

    def agree(
        self, control: Control, steps: int, step: int, place: Place, *, together: bool = False
    ) -> Agreed:
        """Agree on what is done at `step`, with a call of `steps` steps to follow.

        `together` says that nothing can take one process to another place than the others: then
        they may agree on several calls at once, and wishes wait until these are made. Raises
        TrainerError if another process is elsewhere.
        """

    def wait_while_paused(self, control: Control) -> None:
        """Return when it may be worth agreeing anew."""

    def worked(self, steps: int, seconds: float, exchange: float) -> None:
        """Take note of a call, of which `exchange` seconds were spent on the others."""

    def shared(self, shares: Sequence[WorkerShare], held: Sequence[int]) -> None:
        """Take note of what each worker has done that this process hands out the work to.

        `held` are the bytes of variables that each server holds.
        """


class Alone:
    """A team of one."""

    index, count = 0, 1
    writes = profiles = True
    checkpoint: Path | None = None

    def joined(self, strategy: Any) -> None:
        """Nobody is joined."""

    def own(self, replicas: Sequence[str]) -> tuple[int, int] | None:
        """All replicas are its own."""
        del replicas
        return None

    def share(self, cards: Sequence[Any]) -> Sequence[Any]:
        """All cards are its own."""
        return cards

    def ready(self, digests: Callable[[], dict[str, str]], step: int) -> None:
        """There is nobody to wait for."""

    def agree(
        self, control: Control, steps: int, step: int, place: Place, *, together: bool = False
    ) -> Agreed:
        """What was asked of this process."""
        del step, place, together
        checkpoint = control.take_checkpoint_wish()
        return Agreed(control.stopping, control.pausing, checkpoint, steps)

    def wait_while_paused(self, control: Control) -> None:
        """Until the pause is over, or a checkpoint is requested."""
        control.wait_while_paused()

    def worked(self, steps: int, seconds: float, exchange: float) -> None:
        """Nobody asks."""

    def shared(self, shares: Sequence[WorkerShare], held: Sequence[int]) -> None:
        """There is nobody to hand out work to."""


ALONE: Team = Alone()
