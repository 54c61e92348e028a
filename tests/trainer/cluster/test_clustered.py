"""What a process of a cluster decides by itself, without the others."""

from __future__ import annotations

import threading

import pytest

from gpu_studio.trainer.cluster.channel import pair
from gpu_studio.trainer.errors import PlanRefused

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
