"""What of the first worker's events gets into the run's, also after all have started again."""

from __future__ import annotations

from gpu_studio.contract.events import Event, LearningRate, Steps
from gpu_studio.trainer.cluster.relay import Relay
from gpu_studio.trainer.progress import Reached


class Written:
    """Takes events as the writer of a run does."""

    def __init__(self) -> None:
        self.told: list[Event] = []

    def write(self, event: Event) -> Event:
        """Take one."""
        self.told.append(event)
        return event


def steps(first: int) -> Steps:
    return Steps(epoch=1, first_step=first, losses=[1.0, 1.0], samples=4, seconds=0.1)


def test_that_a_learning_rate_is_told_after_its_step_and_once() -> None:
    written = Written()
    relay = Relay(written, Reached())
    for first in (0, 2, 0, 2, 4):  # after a loss it begins anew
        relay.tell(steps(first))
        relay.tell(LearningRate(step=first, value=0.1))
    rates = [each.step for each in written.told if isinstance(each, LearningRate)]
    assert rates == [0, 2, 4]
    assert [each.first_step for each in written.told if isinstance(each, Steps)] == [0, 2, 4]
