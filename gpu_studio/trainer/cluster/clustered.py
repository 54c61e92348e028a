"""The team of a process of a cluster: what all do is agreed by a small sum, for some calls at once.

Every process adds a vector, and all get the sum. Its first entries are wishes: a stop that anybody
asks for, and worker 0's pause, checkpoint, number of steps and number of calls, for each worker
measures other times and calls of different lengths would wait for each other for ever. One entry a
worker follows, which says where it is: workers that are not at the same place of the same step must
not go on. So they agree before each call where one of them may leave the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import tensorflow as tf

from gpu_studio.plan import listed
from gpu_studio.trainer.cluster.cadence import Cadence
from gpu_studio.trainer.cluster.status import Status
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.errors import ClusterError, PlanRefused
from gpu_studio.trainer.team import Agreed, Place

PLACES: tuple[Place, ...] = get_args(Place)
WISHES = 6


class Clustered:
    """A `Team` of several processes, of which this is number `index`."""

    profiles = False  # TensorFlow's profiler now and then corrupts a worker's memory

    def __init__(
        self,
        index: int,
        count: int,
        checkpoint: Path | None,
        status: Status,
        again: Callable[[], None],
        planned: int | None = None,
        *,
        shares: bool = True,
    ) -> None:
        """`again` is called once TensorFlow has taken the signals for itself.

        `planned` is how many processes the plan has, if some of them may be lost already. `shares`
        says that the cards are this machine's, and not this process's own as Slurm gives them.
        """
        self.index, self.count, self.writes = index, count, index == 0
        self.checkpoint = checkpoint
        self._status, self._again = status, again
        self._shares = shares
        self._fewer = planned is not None and count < planned
        self._sum: Callable[[np.ndarray], np.ndarray] = lambda mine: mine
        self._cadence = Cadence()

    def joined(self, strategy: Any) -> None:
        """Agree over this strategy from now on."""
        self._again()
        self._sum = summing(strategy)

    def own(self, replicas: Sequence[str]) -> tuple[int, int] | None:
        """As many replicas in each process, in the order of the processes."""
        return self.index * len(replicas), (self.index + 1) * len(replicas)

    def share(self, cards: Sequence[Any]) -> Sequence[Any]:
        """As many cards for each process, in the order of the processes. Raises PlanRefused.

        Once a process is lost, cards that cannot be shared evenly by the others are left idle.
        """
        if not self._shares:
            return cards
        each, rest = divmod(len(cards), self.count)
        if cards and (not each or (rest and not self._fewer)):
            many = "one card" if len(cards) == 1 else f"{len(cards)} cards"
            raise PlanRefused(
                f"{self.count} workers cannot share {many} of this machine evenly, and each must "
                "have as many as the others.",
                [
                    f"Set cluster.workers to a divisor of {len(cards)}.",
                    'Or train on the CPU: devices.visible = ["CPU:0"].',
                ],
            )
        return cards[self.index * each : (self.index + 1) * each]

    def ready(self, digests: Callable[[], dict[str, str]], step: int) -> None:
        """Return once all are ready to train, and alike."""
        self._status.wait_for_all(digests(), step)

    def agree(
        self, control: Control, steps: int, step: int, place: Place, *, together: bool = False
    ) -> Agreed:
        """Agree with all others. Raises ClusterError if they are not all here."""
        known = self._cadence.known(place)
        if known is not None:
            return Agreed(stopping=False, pausing=False, checkpoint=False, steps=known)
        mine = np.zeros(WISHES + self.count)
        mine[0], mine[1] = control.stopping, not together
        if self.index == 0:
            wishes = control.pausing, control.take_checkpoint_wish()
            mine[2:WISHES] = *wishes, steps, self._cadence.wanted(place)
        mine[WISHES + self.index] = step * len(PLACES) + PLACES.index(place)
        found = self._sum(mine)
        _refuse_apart(found[WISHES:])
        stopping, pausing, checkpoint = (bool(found[which]) for which in (0, 2, 3))
        calls = 1 if found[1] else int(found[5])
        self._cadence.agreed(place, calls, int(found[4]))
        return Agreed(stopping, pausing and not stopping, checkpoint, int(found[4]))

    def wait_while_paused(self, control: Control) -> None:
        """Worker 0 waits; the others wait for it when they agree."""
        if self.index == 0:
            control.wait_while_paused()

    def worked(self, steps: int, seconds: float, exchange: float) -> None:
        """Take note of a call."""
        self._status.worked(steps, seconds, exchange)


def summing(strategy: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return what sums a vector over all processes."""
    own = len(strategy.extended.worker_devices)

    def summed(mine: Any) -> Any:
        def one(vector: Any) -> Any:
            context = tf.distribute.get_replica_context()
            # A copy: what passes straight through has no device, for which TensorFlow asks.
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(vector))

        return strategy.experimental_local_results(strategy.run(one, (mine,)))[0]

    compiled = tf.function(summed, autograph=False)

    def total(mine: np.ndarray) -> np.ndarray:
        result: np.ndarray = compiled(tf.constant(mine, tf.float64)).numpy()
        return np.rint(result / own)

    return total


def _refuse_apart(codes: np.ndarray) -> None:
    """Raises ClusterError for workers that are not at the same place of the same step."""
    if (codes == codes[0]).all():
        return
    where: dict[int, list[str]] = {}
    for index, code in enumerate(codes.astype(int).tolist()):
        where.setdefault(code, []).append(f"worker {index}")
    said = [
        f"{listed(workers)} at step {code // len(PLACES)} ({PLACES[code % len(PLACES)]})"
        for code, workers in where.items()
    ]
    raise ClusterError(
        f"The workers are no longer at the same place: {'; '.join(said)}. They would wait for each "
        "other for ever.",
        [
            "Look for a callback of your own that does not do the same in each process.",
            "Resume from the last checkpoint: the workers were alike then.",
        ],
    )
