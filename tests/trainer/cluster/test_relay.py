"""What of the first worker's events gets into the run's, also after all have started again."""

from __future__ import annotations

from gpu_studio.contract.events import Checkpoint, Event, LearningRate, Steps
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


def test_that_an_epoch_that_is_partly_trained_again_has_each_sample_once() -> None:
    """Trained again, the short batch of five comes at another place among the ten steps."""
    written = Written()
    relay = Relay(written, Reached())

    def call(first: int, sizes: list[int]) -> None:
        samples, losses = sum(sizes), [1.0] * len(sizes)
        relay.tell(Steps(epoch=1, first_step=first, losses=losses, samples=samples, seconds=1.0))

    call(0, [20, 20])
    relay.tell(Checkpoint(name="step-2", epoch=1, step=2, bytes=1, seconds=0.1))
    call(2, [20, 5, 20])  # and then a worker is lost
    call(2, [20, 20, 20, 20])
    call(6, [20, 20, 20, 5])
    told = [each for each in written.told if isinstance(each, Steps)]
    assert [(each.first_step, len(each.losses)) for each in told] == [
        (0, 2),
        (2, 3),
        (5, 1),
        (6, 4),
    ]
    assert [each.samples for each in told] == [40, 45, 35, 65]
    assert [each.seconds for each in told] == [1.0, 1.0, 0.25, 1.0]
