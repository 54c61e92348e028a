"""What the end of a training changes never takes the place of what was trained last."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from training_runs import small_plan

from gpu_studio.trainer.checkpoints import Snapshot
from gpu_studio.trainer.progress import Reached, TrainingProgress

pytestmark = pytest.mark.slow

TRAINED, AVERAGE = 2.0, 1.0
STEPS = 2


class Weight:
    """The only weight of the model."""

    def __init__(self) -> None:
        self.value = np.zeros(1)

    def assign(self, value: Any) -> None:
        self.value = np.array(value)


class EndingHooks:
    """Halves the weight when training ends, and then perhaps fails."""

    stopping, stopped_by, at_end, each_step, each_test_step = False, "", True, False, False

    def __init__(self, weight: Weight, fails: bool = False) -> None:
        self._weight, self._fails, self.ends = weight, fails, 0

    def end(self) -> None:
        self.ends += 1
        self._weight.assign(self._weight.value / 2)
        if self._fails:
            from gpu_studio.trainer.callbacks import HookError

            raise HookError("Halves cannot end.")

    def epoch_end(self, epoch: int, metrics: dict[str, float]) -> dict[str, float]:
        return {}

    def kept(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {}

    def kept_at_end(self) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


class MadeLoop:
    """A loop of two steps an epoch that set the weight to 2, and of a test of one call."""

    def __init__(self, *settings: str, averages: bool = False, at: int = 0, fails: bool = False):
        from gpu_studio.trainer.loop import Loop
        from gpu_studio.trainer.session import Session

        self.weight, self.saved, self.said = Weight(), list[Snapshot](), list[str]()
        self.control = SimpleNamespace(checkpoint=False, pausing=False, stopping=False)
        self.control.take_checkpoint_wish = lambda: self.control.checkpoint
        self.asked_in_test: Callable[[], None] = lambda: None
        self.hooks = EndingHooks(self.weight, fails)
        self.reached = Reached()
        self.reached.progress = TrainingProgress(epoch=at, step=at * STEPS, passes=at)
        plan = small_plan("training.epochs=1", "training.steps_per_call=2", *settings)
        session: Any = SimpleNamespace(plan=plan, phase=0, standing={})
        session.cut = SimpleNamespace(replicas=1)
        session.cut_for = lambda _: session.cut
        session.identity = dict
        session.capture = lambda: {"model/0": self.weight.value.copy()}
        session.optimizer = SimpleNamespace(
            use_ema=averages,
            _trainable_variables=[self.weight],
            _model_variables_moving_average=[np.array([AVERAGE])],
        )
        session.finish = partial(Session.finish, session)
        session.dataset = SimpleNamespace(validation=None, test=object())
        session.program, session.passes = self._program(), passes()
        session.rate = 0.1
        session.reading = lambda *_: reading(self._test_begins)
        telemetry: Any = SimpleNamespace(
            tell=lambda event: self.said.append(getattr(event, "message", "")),
            epoch=lambda _: None,
            steps=lambda *_: None,
        )
        keeps: Any = SimpleNamespace(
            save=self.saved.append,
            wait=lambda: None,
            has=lambda step: any(each.progress.step == step for each in self.saved),
        )
        hooks: Any = self.hooks
        control: Any = self.control
        self.loop = Loop(session, control, telemetry, keeps, self.reached, hooks)

    def _program(self) -> Any:
        tally = SimpleNamespace(
            arrays=dict, results=lambda: {"loss": 0.5}, add=lambda *_: None, begin=None
        )
        return SimpleNamespace(
            tally=lambda: tally,
            measures=("loss",),
            evaluates=True,
            noticed=[],
            settled=lambda _: None,
            train=self._train,
            evaluate=lambda *_: call(1),
        )

    def _train(self, _stream: Any, _step: int, count: int, _left: int) -> Any:
        self.weight.assign([TRAINED])
        return call(count)

    def _test_begins(self) -> None:
        self.asked_in_test()

    @property
    def kept(self) -> dict[str, tuple[float, float | None]]:
        """Each checkpoint as it was last written: its weight, and its monitored value."""
        return {each.name: (each.arrays["model/0"].item(), each.value) for each in self.saved}

    def wish(self, name: str) -> None:
        """Ask for a checkpoint or a stop in the test."""
        self.asked_in_test = lambda: setattr(self.control, name, True)


def call(steps: int) -> Any:
    return SimpleNamespace(
        losses=np.full(steps, 0.5), deltas=[], input_seconds=0.0, aside_seconds=0.0,
        exchange_seconds=0.0,
    )  # fmt: skip


def passes() -> Any:
    def after(progress: TrainingProgress, of: Any) -> tuple[TrainingProgress, np.ndarray]:
        steps = len(of.losses)
        left = STEPS - progress.step_in_epoch - steps
        return progress.after_steps(steps, 4 * steps, pass_over=not left), np.full(steps, 4)

    return SimpleNamespace(
        take_turns=lambda _held: None,
        begun=lambda progress: progress,
        left=lambda progress: STEPS - progress.step_in_epoch,
        alike=lambda _progress, count: count,
        after=after,
        steps_from=lambda _: None,
        is_known=True,
        ends=False,
        end=lambda: None,
    )


def reading(begins: Callable[[], None]) -> Any:
    class Reading:
        is_known, iterator, done, left = True, None, 0, 1

        def begin(self, number: int) -> None:
            begins()

        def sizes(self, of: Any) -> np.ndarray:
            self.left = 0
            return np.full(1, 4)

    return Reading()


def test_that_a_checkpoint_wished_for_in_the_test_is_one_of_the_end() -> None:
    made = MadeLoop()
    made.wish("checkpoint")
    assert made.loop.run().reason == "completed"
    assert made.kept == {
        "step-00000002": (TRAINED, 0.5),
        "step-00000002-end": (TRAINED / 2, None),
    }
    assert [each.at_end for each in made.saved] == [False, True, True]
    assert made.said[-1] == (
        "step-00000002-end holds the weights as the end of training has left them. A resumed run "
        "goes on from those of before."
    )


def test_that_a_checkpoint_wished_for_where_nothing_ends_keeps_what_its_weights_were_worth() -> (
    None
):
    made = MadeLoop()
    made.hooks.at_end = False
    made.wish("checkpoint")
    assert made.loop.run().reason == "completed"
    assert made.kept == {"step-00000002": (TRAINED, 0.5)}
    assert [each.value for each in made.saved] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("every", "trained"),
    [((), {"step-00000002": (TRAINED, 0.5)}), (("training.checkpoint.every_epochs=0",), {})],
    ids=["each epoch", "never"],
)
def test_that_a_stop_in_the_test_neither_ends_twice_nor_loses_what_was_trained(
    every: tuple[str, ...], trained: dict[str, Any]
) -> None:
    made = MadeLoop(*every)
    made.wish("stopping")
    assert made.loop.run().reason == "stopped"
    assert made.hooks.ends == 1
    assert made.kept == {**trained, "step-00000002-end": (TRAINED / 2, None)}


def test_that_a_run_with_nothing_left_to_train_keeps_what_it_went_on_from() -> None:
    made = MadeLoop(at=1)
    made.weight.assign([TRAINED])
    made.wish("stopping")
    made.loop.run()
    assert made.hooks.ends == 1
    assert made.kept == {"step-00000002-end": (TRAINED / 2, None)}


def test_that_an_end_that_fails_loses_no_weights_and_calls_them_those_of_the_end() -> None:
    made = MadeLoop("training.checkpoint.every_epochs=0", fails=True)
    from gpu_studio.trainer.callbacks import HookError

    with pytest.raises(HookError):
        made.loop.run()
    assert made.kept == {"step-00000002-end": (TRAINED / 2, None)}


@pytest.mark.parametrize("early", [False, True])
def test_that_averages_are_of_the_end_and_what_was_trained_is_kept(early: bool) -> None:
    made = MadeLoop("training.epochs=2", averages=True) if early else MadeLoop(averages=True)
    made.hooks.stopping, made.hooks.stopped_by = early, "Halves" if early else ""
    assert made.loop.run().reason == ("early_stopping" if early else "completed")
    assert made.kept == {
        "step-00000002": (TRAINED, 0.5),
        "step-00000002-end": (AVERAGE / 2, None),
    }


def test_that_averages_are_of_the_end_where_no_callback_is() -> None:
    made = MadeLoop(averages=True)
    made.hooks.at_end = False
    made.hooks.end = lambda: None
    made.loop.run()
    assert made.kept == {"step-00000002": (TRAINED, 0.5), "step-00000002-end": (AVERAGE, None)}


def test_that_who_saves_each_few_steps_has_the_end_too() -> None:
    made = MadeLoop("training.checkpoint.every_epochs=0", "training.checkpoint.every_steps=5")
    made.loop.run()
    assert made.kept == {
        "step-00000002": (TRAINED, None),
        "step-00000002-end": (TRAINED / 2, None),
    }
