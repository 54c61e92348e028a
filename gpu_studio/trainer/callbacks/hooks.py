"""The callbacks of a run, called as `fit` calls them, and what they did reported.

An exception in one is a failure that names the file, the line and the hook. What happens at each
step is called only if a callback asks for it: then steps are trained one at a call, and what
that costs is measured and reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import keras
import numpy as np

from gpu_studio.common.figures import learning_rate, spent
from gpu_studio.contract import Log, Warned
from gpu_studio.contract.events import Event
from gpu_studio.plan import choose_one, listed
from gpu_studio.trainer.callbacks.answering import answering, at_home
from gpu_studio.trainer.callbacks.kept import KeptAttributes
from gpu_studio.trainer.callbacks.made import CsvOfEpochs, MadeCallback
from gpu_studio.trainer.callbacks.written_once import only_writes, save_nothing
from gpu_studio.trainer.errors import TrainerError, UserCodeError
from gpu_studio.trainer.session import Session

PATIENCE = 10.0
"""Seconds for which a stop waits for a hook that is under way, so that a checkpoint is written."""
FEWEST_MEASURED, MOST_MEASURED = 10, 50
ARRAYS = "callbacks/"
"""The beginning of the names of their arrays in a checkpoint."""
State = dict[str, Any]
Logs = Mapping[str, Any]


class HookError(UserCodeError):
    """A callback raised an exception, or ended the program, in the middle of a run."""


class Hooks:
    """The hooks of all callbacks of a run; without callbacks, all of it does nothing."""

    def __init__(
        self,
        made: Sequence[MadeCallback] = (),
        session: Session | None = None,
        tell: Callable[[Event], object] = lambda _event: None,
        *,
        writes: bool = True,
    ) -> None:
        """Another process calls the same callbacks, and writes what they write, unless `writes`."""
        self._made, self._tell, self._writes = list(made), tell, writes
        self.stopped_by = ""
        self._before: tuple[State, dict[str, np.ndarray]] | None = None
        self._stored: tuple[Mapping[str, Any], Mapping[str, np.ndarray]] | None = None
        self._remembered: list[KeptAttributes] = []
        self._named_lost: set[str] = set()
        self._blind: set[str] = set()
        self._costs: list[tuple[float, float]] = []
        self._seconds = 0.0
        self._last_logs: dict[str, float] = {}
        if session is None or not made:
            return
        self._session = session
        self.model = self._answering()
        self._made.append(MadeCallback("history", keras.callbacks.History()))
        self._introduce()
        self._at_steps = self._overriding("on_train_batch_begin", "on_train_batch_end")
        self._at_test_steps = self._overriding("on_test_batch_begin", "on_test_batch_end")
        self._forgiving = [each for each in self._made if is_terminating(each.callback)]

    @property
    def stopping(self) -> bool:
        """Whether a callback has ended the training by `model.stop_training`."""
        return bool(self._made) and bool(self.model.stop_training)

    @property
    def each_step(self) -> bool:
        """Whether a call may train one step only, because a callback is called at each.

        Or because one has asked for the end: `fit` heeds that after the next step.
        """
        return bool(self._made) and (bool(self._at_steps) or self.stopping)

    @property
    def at_end(self) -> bool:
        """Whether anything is done, to the weights too perhaps, when training has ended."""
        return any(
            not getattr(each.callback.on_train_end, "_is_default", False) for each in self._made
        )

    @property
    def at_steps(self) -> list[str]:
        """The names of the callbacks that are called at each step of the training."""
        return [each.name for each in self._at_steps] if self._made else []

    @property
    def each_test_step(self) -> bool:
        """Whether a call may evaluate one batch only."""
        return bool(self._made) and bool(self._at_test_steps)

    def go_on(self, state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from the state in a checkpoint, once training begins."""
        self._stored = (state, arrays)

    # What `fit` calls

    def begin(self) -> None:
        """Training begins."""
        if not self._made:
            return
        self._restore_rate()
        self._call("on_train_begin", {})
        self._remembered = [KeptAttributes(each.callback) for each in self._made]
        self._restore()

    def end(self) -> None:
        """Training has ended."""
        if self._made:
            self._call("on_train_end", dict(self._last_logs))

    @contextmanager
    def phase(self) -> Iterator[None]:
        """While entered, a phase begins: for callbacks a `fit` ends, and another one begins.

        So what they keep between two `on_train_begin`, such as patience, begins anew.
        """
        begun = bool(self._remembered)
        written = [self._written(each) for each in self._made]
        if begun:
            self.end()
        yield
        if not self._made:
            return
        self.model, self.stopped_by = self._answering(), ""
        self._introduce()
        if begun:
            self._call("on_train_begin", {})
            for each, text in zip(self._made, written, strict=True):
                if isinstance(each.callback, CsvOfEpochs):
                    each.callback.text = text
                    each.callback.go_on()

    def _answering(self) -> Any:
        model = answering(self._session)
        if not self._writes:
            save_nothing(model)
        return model

    def _introduce(self) -> None:
        """Tell the callbacks the model, and how long this `fit` is: until the next phase begins."""
        session, training = self._session, self._session.plan.training
        later = training.phases[session.phase :]
        epochs = later[0].after if later else training.epochs
        params = {"verbose": 0, "epochs": epochs, "steps": session.passes.steps_per_epoch}
        for each in self._made:
            self._run(each, "set_params", params)
            self._run(each, "set_model", self.model)

    @staticmethod
    def _written(made: MadeCallback) -> str:
        return made.callback.text if isinstance(made.callback, CsvOfEpochs) else ""

    @property
    def _planned(self) -> tuple[float, bool]:
        """The plan's learning rate in this phase, and whether a schedule decides it."""
        training, number = self._session.plan.training, self._session.phase
        if number:
            return training.phases[number - 1].learning_rate, False
        return training.learning_rate, training.schedule is not None

    def epoch_begin(self, epoch: int) -> None:
        """Epoch `epoch`, counted from 0, begins."""
        if self._made:
            with self._telling_rate():
                self._call("on_epoch_begin", epoch, {})

    def epoch_end(self, epoch: int, metrics: Logs) -> dict[str, float]:
        """The epoch and its validation are over; return what callbacks have added to `metrics`."""
        if not self._made:
            return {}
        logs = dict(sorted(metrics.items()))
        self._before = self._kept()
        with self._telling_rate():
            self._call("on_epoch_end", epoch, logs)
        self._tell_blind(logs)
        # As `fit` has it: the end of training is not told what callbacks have added.
        self._before, self._last_logs = None, dict(sorted(metrics.items()))
        return {
            name: float(value)
            for name, value in logs.items()
            if name not in metrics and _is_number(value) and not name.startswith("learning_rate")
        }

    def _tell_blind(self, logs: Logs) -> None:
        """Say which callbacks watch what nothing measures; Keras prints that."""
        for each in self._made:
            name = getattr(each.callback, "monitor", None)
            idle = not getattr(each.callback, "save_best_only", True)
            if not hasattr(each.callback, "monitor_op") or name in logs or idle:
                continue
            if each.name not in self._blind:
                self._blind.add(each.name)
                advice = choose_one(str(name), sorted(logs))
                self._tell(
                    Warned(
                        message=f"{each.name} watches {name}, which is not measured: it does "
                        "nothing.",
                        suggestion=f"{advice[0].upper()}{advice[1:].rstrip('.')}.".replace(
                            "?.", "?"
                        ),
                    )
                )

    def batch_begin(self, step: int) -> None:
        """Step `step` of the epoch begins."""
        if self.each_step:
            self._timed(self._at_steps, "on_train_batch_begin", step, {})

    def batch_end(self, step: int, results: Callable[[], Logs], seconds: float) -> None:
        """Step `step` of the epoch is done, in `seconds`; `results` reads the metrics so far."""
        if not self.each_step or not self._at_steps:
            return
        began = time.perf_counter()
        logs = dict(sorted(results().items()))
        self._seconds += time.perf_counter() - began
        self._timed(self._at_steps, "on_train_batch_end", step, logs)
        self._costs.append((self._seconds, seconds))
        self._seconds = 0.0
        if len(self._costs) == MOST_MEASURED:
            self._tell_costs()

    def forgive(self, step: int, loss: float) -> bool:
        """Ask whether training may end with a loss that is not finite instead of failing."""
        for each in self._forgiving if self._made else ():
            self._run(each, "on_batch_end", step, {"loss": loss})
        return self.stopping

    def test_begin(self) -> None:
        """The validation of an epoch begins."""
        if self._made:
            self._call("on_test_begin", {})

    def test_end(self, metrics: Logs) -> None:
        """The validation of an epoch is over."""
        if self._made:
            self._call("on_test_end", dict(sorted(metrics.items())))

    def test_batch_begin(self, step: int) -> None:
        """The validation of a batch begins."""
        if self.each_test_step:
            self._call_some(self._at_test_steps, "on_test_batch_begin", step, {})

    def test_batch_end(self, step: int, results: Callable[[], Logs]) -> None:
        """The validation of a batch is over."""
        if self.each_test_step:
            logs = dict(sorted(results().items()))
            self._call_some(self._at_test_steps, "on_test_batch_end", step, logs)

    # For a checkpoint

    def kept(self) -> tuple[State, dict[str, np.ndarray]]:
        """Return what a checkpoint holds of them: JSON, and named arrays.

        After an exception at the end of an epoch, that of before: a resumed run calls it again.
        """
        return self._before or self._kept()

    def kept_at_end(self) -> State:
        """Return what a checkpoint holds of them after the end: the learning rate alone."""
        return {"callbacks": {**self._rates, "each": []}} if self._made else {}

    @property
    def _rates(self) -> State:
        return {"rate": self._session.rate, "plan_rate": self._planned[0]}

    def _kept(self) -> tuple[State, dict[str, np.ndarray]]:
        if not self._remembered:
            return {}, {}
        arrays: dict[str, np.ndarray] = {}
        states = []
        for place, (each, remembered) in enumerate(zip(self._made, self._remembered, strict=True)):
            kept, lost = remembered.state(arrays, f"{ARRAYS}{place}")
            states.append({"name": each.name, "kept": kept})
            self._tell_lost(each, lost)
        return {"callbacks": {**self._rates, "each": states}}, arrays

    def _tell_lost(self, made: MadeCallback, names: Sequence[str]) -> None:
        new = [name for name in names if f"{made.name}.{name}" not in self._named_lost]
        self._named_lost |= {f"{made.name}.{name}" for name in new}
        if new and made.function:
            verb = "is" if len(new) == 1 else "are"
            self._tell(
                Log(
                    message=f"{made.name}: {listed(new)} {verb} not kept in checkpoints, which "
                    "hold numbers, texts, lists, dicts and arrays: a resumed run has there what "
                    "__init__ and on_train_begin make."
                )
            )

    def _restore_rate(self) -> None:
        state = self._stored[0].get("callbacks", {}) if self._stored else {}
        rate, planned = state.get("rate"), state.get("plan_rate")
        (wanted, scheduled), now = self._planned, self._session.rate
        if rate is None or now is None or scheduled or rate == now:
            return
        if planned == wanted:
            self._session.optimizer.learning_rate = rate
            return
        self._tell(
            Log(
                message=f"The learning rate is the plan's, {learning_rate(now)}: it "
                f"was {learning_rate(rate)} in the checkpoint, by a callback, and the plan's "
                "was another."
            )
        )

    def _restore(self) -> None:
        if self._stored is None:
            return
        state, arrays = self._stored
        if state.get("at_end"):
            self._tell(
                Log(
                    message="Callbacks start anew, as when fit is called again: the checkpoint is "
                    "of the end of a training."
                )
            )
            return
        waiting = list(state.get("callbacks", {}).get("each", ()))
        for each, remembered in zip(self._made, self._remembered, strict=True):
            found = next((one for one in waiting if one.get("name") == each.name), None)
            if found is None:
                self._tell(Log(message=f"{each.name} starts anew: the checkpoint knows it not."))
                continue
            waiting.remove(found)
            try:
                remembered.restore(found["kept"], arrays)
            except (KeyError, TypeError, ValueError) as error:
                raise TrainerError(
                    f"What the checkpoint has of the callback {each.name} cannot be read: {error}.",
                    ["Resume from an earlier checkpoint of the run."],
                ) from error
            if isinstance(each.callback, CsvOfEpochs):
                each.callback.go_on()

    # How they are called

    def _overriding(self, *hooks: str) -> list[MadeCallback]:
        return [each for each in self._made if overrides(each.callback, hooks)]

    def _call(self, hook: str, *given: Any) -> None:
        self._call_some(self._made, hook, *given)

    def _call_some(self, some: Sequence[MadeCallback], hook: str, *given: Any) -> None:
        for each in some:
            self._run(each, hook, *given)

    def _timed(self, some: Sequence[MadeCallback], hook: str, *given: Any) -> None:
        began = time.perf_counter()
        self._call_some(some, hook, *given)
        self._seconds += time.perf_counter() - began

    def _run(self, made: MadeCallback, hook: str, *given: Any) -> None:
        if not self._writes and only_writes(made.callback):
            return
        method = getattr(made.callback, hook)

        def work() -> None:
            with at_home(self._session):
                method(*given)

        try:
            if made.function is None:
                work()
            else:
                made.function.guarded(work, f"in {hook}", PATIENCE)
        except UserCodeError as error:
            raise HookError(error.message, error.suggestions, error.trace) from error.__cause__
        if self.stopping and not self.stopped_by:
            self.stopped_by = made.name

    @contextmanager
    def _telling_rate(self) -> Iterator[None]:
        before = self._session.rate
        yield
        after, scheduled = self._session.rate, self._planned[1]
        if after is not None and before is not None and after != before and not scheduled:
            words = f"{learning_rate(after)}, and was {learning_rate(before)}"
            self._tell(Log(message=f"A callback has set the learning rate: it is {words}."))

    def tell_costs(self) -> None:
        """Say what the hooks of each step cost, once, as soon as enough steps were measured."""
        if FEWEST_MEASURED <= len(self._costs) < MOST_MEASURED:
            self._tell_costs()

    def _tell_costs(self) -> None:
        some, self._costs = self._costs[1:], [(0.0, 0.0)] * (MOST_MEASURED + 1)
        aside, whole = median(each for each, _ in some), median(sum(each) for each in some)
        names = listed(each.name for each in self._at_steps)
        verb = "reads" if len(self._at_steps) == 1 else "read"
        self._tell(
            Warned(
                message=f"{names} {verb} back every step: {spent(aside)} of {spent(whole)} a step, "
                "and each call trains one step only.",
                suggestion=faster([each.callback for each in self._at_steps]),
            )
        )


def faster(callbacks: Sequence[Any]) -> str:
    """Say how callbacks that do something at each step would cost less."""
    if all(isinstance(each, keras.callbacks.TensorBoard) for each in callbacks):
        return 'Faster: TensorBoard(update_freq="epoch", profile_batch=0).'
    return "Faster: let it do its work in on_epoch_end."


# Scripts have the next functions as they stand, see `export.script_text`: their lines have 88
# columns at most.


def is_terminating(callback: Any) -> bool:
    """Whether it is told of a loss that is no number, without being asked each step."""
    return isinstance(callback, keras.callbacks.TerminateOnNaN)


def overrides(callback: Any, hooks: Sequence[str]) -> bool:
    """Whether a callback does anything at each step."""
    if is_terminating(callback):
        return False
    saves = isinstance(callback, keras.callbacks.ModelCheckpoint)
    if saves and callback.save_freq == "epoch":
        return False
    if isinstance(callback, keras.callbacks.TensorBoard):
        return bool(callback.update_freq != "epoch" or callback._should_trace)  # noqa: SLF001
    short = (hook.replace("train_", "") for hook in hooks if "train_" in hook)
    methods = [getattr(callback, name) for name in (*hooks, *short)]
    return any(not getattr(method, "_is_default", False) for method in methods)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
