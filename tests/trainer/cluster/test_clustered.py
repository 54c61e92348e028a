"""What a process of a cluster decides by itself, and what it agrees on with the others."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE_S

from gpu_studio.trainer.cluster.channel import pair
from gpu_studio.trainer.errors import ClusterError, PlanRefused

pytestmark = pytest.mark.slow

CARDS = ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]


def shares(count: int, planned: int) -> list[list[str]]:
    """The cards of each process."""
    from gpu_studio.trainer.cluster.clustered import Clustered
    from gpu_studio.trainer.cluster.status import Status

    mine, other = pair()
    try:
        status = Status(mine, threading.Event())
        teams = [
            Clustered(index, count, None, status, lambda: None, planned) for index in range(count)
        ]
        return [list(each.share(CARDS)) for each in teams]
    finally:
        mine.close()
        other.close()


def test_that_each_process_has_as_many_cards() -> None:
    assert shares(2, 2) == [CARDS[:2], CARDS[2:]]
    with pytest.raises(PlanRefused, match="3 workers cannot share 4 cards"):
        shares(3, 3)


def test_that_once_a_worker_is_lost_the_others_go_on_and_a_card_is_left_idle() -> None:
    assert shares(3, 4) == [["GPU:0"], ["GPU:1"], ["GPU:2"]]


class Sums:
    """Sums what two teams add, each in a thread of its own."""

    def __init__(self) -> None:
        self._all_are_here = threading.Barrier(2, timeout=PATIENCE_S)
        self._given: list[Any] = []
        self.made = 0

    def __call__(self, mine: Any) -> Any:
        self._given.append(mine)
        self._all_are_here.wait()
        total = sum(self._given)
        if self._all_are_here.wait() == 0:
            self._given.clear()
            self.made += 1
        self._all_are_here.wait()
        return total


def trained_together(calls: int, *, together: bool, stop_at: int) -> tuple[Any, int]:
    """What two workers agreed on before each call, and how many sums that took.

    Worker 1 is asked to stop before its call `stop_at`, and worker 0 wants other steps than it.
    """
    from gpu_studio.trainer.cluster.cadence import Cadence
    from gpu_studio.trainer.cluster.clustered import Clustered

    sums, said = Sums(), ([], [])  # type: tuple[Any, Any]

    def trains(index: int) -> None:
        team = Clustered(index, 2, None, SimpleNamespace(), lambda: None)  # type: ignore[arg-type]
        team._sum, team._cadence = sums, Cadence(lambda: 0.0)  # calls that take no time
        control: Any = SimpleNamespace(
            stopping=False, pausing=False, take_checkpoint_wish=lambda: False
        )
        step = 0
        for call in range(calls):
            control.stopping = index == 1 and call >= stop_at
            agreed = team.agree(control, 5 - index, step, "training", together=together)
            said[index].append(agreed)
            if agreed.stopping:
                break
            step += agreed.steps
        team.agree(control, 0, step, "epoch end")

    threads = [threading.Thread(target=trains, args=(index,)) for index in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return said, sums.made


def test_that_all_stop_after_the_same_call_and_make_the_calls_of_worker_0() -> None:
    (first, second), sums = trained_together(1000, together=True, stop_at=7)
    assert first == second
    assert [each.stopping for each in first] == [False] * (len(first) - 1) + [True]
    assert {each.steps for each in first} == {5}
    # Before the calls 0, 1, 5 and 21, and at the end.
    assert (len(first), sums) == (22, 5)


def test_that_where_one_may_leave_the_others_they_agree_before_each_call() -> None:
    (first, second), sums = trained_together(1000, together=False, stop_at=7)
    assert first == second
    assert len(first) == 8
    assert sums == len(first) + 1


def test_that_workers_that_are_no_longer_at_the_same_place_are_told() -> None:
    from gpu_studio.trainer.cluster.clustered import PLACES, WISHES, Clustered

    team = Clustered(0, 2, None, SimpleNamespace(), lambda: None)  # type: ignore[arg-type]
    elsewhere = 10 * len(PLACES) + PLACES.index("epoch end")
    team._sum = lambda mine: np.where(np.arange(len(mine)) == WISHES + 1, elsewhere, mine)
    control: Any = SimpleNamespace(
        stopping=False, pausing=False, take_checkpoint_wish=lambda: False
    )
    with pytest.raises(ClusterError, match=r"worker 0 at step 9 \(training\).*step 10 \(epoch end"):
        team.agree(control, 1, 9, "training")
