"""The only training loop: some steps a call; commands, events and checkpoints between two calls."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from gpu_studio.contract import Epoch, Finished, Log, StateChanged, Steps, Warned
from gpu_studio.plan.freezing import phase_of
from gpu_studio.plan.keras_objects import VALIDATION
from gpu_studio.trainer.callbacks import HookError, Hooks
from gpu_studio.trainer.checkpoints import Keeps, Snapshot, weight_prints
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.curves import curves_of
from gpu_studio.trainer.data import Split
from gpu_studio.trainer.errors import NotFiniteError
from gpu_studio.trainer.meters import Call
from gpu_studio.trainer.passes import SplitReading, ended_early, nothing_left, pass_over
from gpu_studio.trainer.phases import begin_phase, keeps_averages
from gpu_studio.trainer.progress import CallLength, Judge, Monitor, Reached, TrainingProgress
from gpu_studio.trainer.session import Session
from gpu_studio.trainer.team import ALONE, Agreed, Place, Team
from gpu_studio.trainer.telemetry import Telemetry, finite

TEST = "test_"


class Stopped(Exception):  # noqa: N818  (no error: someone asked for it)
    """A stop was requested, and the call under way is done."""


class Loop:
    """Trains a session from where `reached` says to the end of the plan, or until it must stop."""

    def __init__(
        self,
        session: Session,
        control: Control,
        telemetry: Telemetry,
        checkpoints: Keeps,
        reached: Reached,
        hooks: Hooks | None = None,
        team: Team | None = None,
    ) -> None:
        self._team = team or ALONE
        self._reached, self.hooks = reached, hooks or Hooks()
        self.tally = session.program.tally()
        self._session, self._control = session, control
        self._identity = {**session.identity(), "parts": session.cut.replicas}
        self._telemetry, self._checkpoints = telemetry, checkpoints
        self._settings = session.plan.training
        length = self._settings.steps_per_call
        self._pace, self._evaluation_pace = CallLength(length), CallLength(length)
        self._judge = Judge(self._settings.checkpoint, session.program.measures)
        self._passes = session.passes
        self._readings: dict[int, SplitReading] = {}
        self.best_weights: dict[str, np.ndarray] = {}
        self._began = time.perf_counter()
        self._saved_step: int | None = None
        self._judged: tuple[float | None, str] = (None, "")
        self._ended = False
        # Of this process alone: a checkpoint does not say how long the beginning of its epoch took.
        self._epoch_seconds, self._epoch_samples = 0.0, 0

    @property
    def progress(self) -> TrainingProgress:
        """How far the run has come."""
        return self._reached.progress

    @progress.setter
    def progress(self, progress: TrainingProgress) -> None:
        self._reached.progress = progress

    def run(self) -> Finished:
        """Train, then evaluate on the test split.

        Raises NotFiniteError if the loss is not finite.
        """
        try:
            self.hooks.begin()
            held = self._session.dataset.validation
            pass_over(held, self._session.cut_for, self._settings, self.progress)
            self._passes.take_turns(held)
            reason = self._train()
            self._end()
            return self._finished(reason, self._test())
        except HookError:
            if self.progress.step:
                self._save_once()
            self._checkpoints.wait()
            raise
        except Stopped:
            self._telemetry.tell(StateChanged(state="stopping", reason="writing a checkpoint"))
            self._save_once()
            self._checkpoints.wait()
            if not self._ended:
                self.hooks.end()
            # The disk may have refused it: then nobody must be told that it exists.
            return self._finished(
                "stopped" if self._checkpoints.has(self.progress.step) else "stopped_now", {}
            )

    def _end(self) -> None:
        """End as `fit` does; if that changes the weights, what it leaves is a checkpoint too.

        The one before it stays: a resumed run goes on from there, exactly.
        """
        every = self._settings.checkpoint
        saves = every.every_epochs > 0 or every.every_steps > 0
        if saves and self._epoch_samples:
            self._save_once()
        averages = keeps_averages(self._session)
        if not self.hooks.at_end and not self.best_weights and not averages:
            return
        before = weight_prints(self._session.capture()) if saves else {}
        self._ended = True
        self._session.finish()
        self.hooks.end()
        if self.best_weights:
            self._session.restore(self._session.capture() | self.best_weights)
        if saves and weight_prints(self._session.capture()) != before:
            self._save_end()

    def _finished(
        self,
        reason: Literal["completed", "early_stopping", "stopped", "stopped_now"],
        metrics: dict[str, float],
    ) -> Finished:
        self._checkpoints.wait()
        return Finished(
            reason=reason,
            seconds=time.perf_counter() - self._began,
            epoch=self.progress.epoch,
            step=self.progress.step,
            metrics=finite(metrics),
            by=self.hooks.stopped_by if reason == "early_stopping" else "",
        )

    # Training

    def _train(self) -> Literal["completed", "early_stopping"]:
        while self.progress.epoch < self._settings.epochs and not self._nothing_is_left():
            if self._patience_is_over():
                self._tell_left_phases("Early stopping")
                return "early_stopping"
            self._train_epoch()
            self._end_epoch()
            if self.hooks.stopping and self._phase_now == self._session.phase:
                self._agreed(0, "ended by a callback")
                self._tell_left_phases(self.hooks.stopped_by)
                return "early_stopping"
        return "early_stopping" if self._patience_is_over() else "completed"

    @property
    def _phase_now(self) -> int:
        """The phase that the next epoch is in: who ends the one before at its end ends nothing."""
        return phase_of(self._settings.phases, self.progress.epoch)

    def _tell_left_phases(self, by: str) -> None:
        left = self._settings.phases[self._session.phase :]
        if left:
            self._telemetry.tell(
                Warned(
                    message=f"{by} ends the run in epoch {self.progress.epoch}: the phase that "
                    f"begins after epoch {left[0].after} is not trained.",
                    suggestion="Let it end a later phase only, or let the phase begin earlier.",
                )
            )

    def _train_epoch(self) -> None:
        self._epoch_seconds, self._epoch_samples = 0.0, 0
        self.begin_phase(self._phase_now)
        if not self.progress.samples:
            self.hooks.epoch_begin(self.progress.epoch)
        while not self.progress.pass_over:
            left = self._passes.left(self.progress)
            if left == 0:
                break
            singly, known = self.hooks.each_step, self._passes.is_known
            count = self._ask(self._pace, left, "training", singly=singly, known=known)
            left, before = self._passes.left(self.progress), self.progress.step
            if left == 0:  # what was asked for had steps end that had begun
                break
            self._call(self._passes.alike(self.progress, count), left)
            self._save_if_due(self.progress.step - before)
            if self.hooks.stopping:
                break
        self._settle()
        self._listen(0, "epoch end")

    def begin_phase(self, number: int) -> None:
        """Begin the phase with this number, from 0, unless it has begun."""
        if number != self._session.phase:
            with self.hooks.phase():
                self._telemetry.tell(begin_phase(self._session, number))

    def _call(self, count: int, left: int | None) -> None:
        first, stream = self.progress.step_in_epoch, self._passes.steps_from(self.progress)
        self.hooks.batch_begin(first)
        rate = self._session.rate
        began = time.perf_counter()
        call = self._session.program.train(stream, self.progress.step, count, left)
        self._take(call, time.perf_counter() - began - call.aside_seconds, first, rate)

    def _settle(self) -> None:
        """Have the steps end that have begun: what is looked at now is of one moment."""
        began = time.perf_counter()
        call = self._session.program.settled(self.progress.step)
        if call is not None:
            first, rate = self.progress.step_in_epoch, self._session.rate
            self._take(call, time.perf_counter() - began, first, rate)

    def _tell_noticed(self) -> None:
        while self._session.program.noticed:
            self._telemetry.tell(self._session.program.noticed.pop())

    def _take(self, call: Call, seconds: float, first: int, rate: float | None) -> None:
        """Tell of a call, and count it in. Raises NotFiniteError."""
        self._tell_noticed()
        self._pace.measured(len(call.losses), seconds)
        self._team.worked(len(call.losses), seconds, call.exchange_seconds)
        self._epoch_seconds += seconds
        progress, sizes = self._passes.after(self.progress, call)
        self._tell_steps(call, sizes, seconds, rate)
        samples = int(sizes.sum())
        self._epoch_samples += samples
        self.tally.add(float(call.losses @ sizes), samples, call.deltas)
        before, self.progress = self.progress, progress
        if len(sizes):  # a stream may have ended instead
            self.hooks.batch_end(first, self.tally.results, seconds)
        self._check(call.losses, before)

    def _nothing_is_left(self) -> bool:
        """Whether the data could be read once, and have been; then say so."""
        self.progress = self._passes.begun(self.progress)
        if not (self.progress.passes and self._passes.ends):
            return False
        said, advice = nothing_left(self.progress.epoch, self._settings.epochs)
        self._telemetry.tell(Warned(message=said, suggestion=advice))
        return True

    def _tell_steps(
        self, call: Call, sizes: np.ndarray, seconds: float, rate: float | None
    ) -> None:
        event = Steps(
            epoch=self.progress.epoch + 1,
            first_step=self.progress.step,
            losses=[float(loss) if np.isfinite(loss) else None for loss in call.losses],
            samples=int(sizes.sum()),
            seconds=seconds,
            input_seconds=call.input_seconds,
        )
        self._telemetry.steps(event, rate)

    def _check(self, losses: np.ndarray, before: TrainingProgress) -> None:
        """Raises NotFiniteError for a loss that is not finite, unless a callback heeds it."""
        wrong = np.flatnonzero(~np.isfinite(losses))
        if not len(wrong):
            return
        first, loss = int(wrong[0]), float(losses[wrong[0]])
        if not self.hooks.forgive(before.step_in_epoch + first, loss):
            lacking = " ".join(each.words for each in self._session.dataset.train.lacking)
            at, rate = (before.step + first, before.epoch + 1), self._settings.learning_rate
            raise NotFiniteError(loss, *at, rate, lacking)

    # The end of an epoch

    def _end_epoch(self) -> None:
        metrics = self.tally.results()
        if self.progress.pass_over:
            self._end_pass()
        validation = self._session.dataset.validation if self._session.program.evaluates else None
        due = (self.progress.epoch + 1) % self._settings.validation_freq == 0
        left_out = validation is not None and not due
        if validation and due:
            metrics |= self._evaluate(validation, VALIDATION, self.hooks)
        metrics = curves_of(metrics) | self.hooks.epoch_end(self.progress.epoch, metrics)
        self.hooks.tell_costs()
        self._heed_patience(metrics, left_out=left_out)
        self.progress = self.progress.after_epoch()
        self.tally = self._session.program.tally()
        self._telemetry.epoch(
            Epoch(
                epoch=self.progress.epoch,
                step=self.progress.step,
                metrics=finite(metrics),
                seconds=self._epoch_seconds,
                samples_per_second=self._epoch_samples / max(self._epoch_seconds, 1e-9),
            )
        )
        is_last = self.hooks.stopping or self._patience_is_over()
        is_last = is_last or self.progress.epoch == self._settings.epochs
        # The weights of the last epoch become averages after it is saved: a run goes on from there.
        if self.progress.epoch in {phase.after for phase in self._settings.phases}:
            self._session.finish()
        every = self._settings.checkpoint.every_epochs
        if every and (is_last or self.progress.epoch % every == 0):
            if said := self._judge.said(metrics):
                self._telemetry.tell(Log(message=said))
            monitor = self._judge.of(metrics)
            self._save(monitor.value(metrics, left_out=left_out), monitor.name)

    def _end_pass(self) -> None:
        self._passes.end()
        asked = self._settings.steps_per_epoch
        if asked > self.progress.step_in_epoch:
            said, advice = ended_early(self.progress, asked)
            self._telemetry.tell(Warned(message=said, suggestion=advice))

    def _evaluate(self, split: Split, prefix: str, hooks: Hooks) -> dict[str, Any]:
        """Evaluate a split in calls between which commands are obeyed.

        A stop ends the evaluation. `hooks` are called as `fit` calls them when it validates.
        """
        hooks.test_begin()
        asked = self._settings.validation_steps if prefix == VALIDATION else 0
        if id(split) not in self._readings:
            self._readings[id(split)] = self._session.reading(split, asked)
        reading, tally = self._readings[id(split)], self._session.program.tally()
        reading.begin(self._settings.validations(self.progress.epoch))
        while (left := reading.left) != 0:
            singly, known, first = hooks.each_test_step, reading.is_known, reading.done
            pace = self._evaluation_pace
            count = self._ask(pace, left, "evaluation", singly=singly, known=known)
            hooks.test_batch_begin(first)
            began = time.perf_counter()
            call = self._session.program.evaluate(reading.iterator, first, count)
            pace.measured(len(call.losses), time.perf_counter() - began)
            sizes = reading.sizes(call)
            tally.add(float(call.losses @ sizes), int(sizes.sum()), call.deltas)
            if len(sizes):
                hooks.test_batch_end(first, tally.results)
        self._tell_noticed()
        results = tally.results()
        hooks.test_end(results)
        return {prefix + name: value for name, value in results.items()}

    def _test(self) -> dict[str, float]:
        split = self._session.dataset.test
        if not split or not self._session.program.evaluates:
            return {}
        return curves_of(self._evaluate(split, TEST, Hooks()))

    # Early stopping

    def _heed_patience(self, metrics: dict[str, float], *, left_out: bool) -> None:
        rule = self._settings.early_stopping
        if rule is None or (left_out and rule.monitor.startswith(VALIDATION)):
            return
        monitor = Monitor(rule.monitor)
        value = monitor.value(metrics)
        if value is not None and monitor.better(value, self.progress.best, rule.min_delta):
            self.progress = replace(self.progress, best=value, waited=0)
            if rule.restore_best:
                self.best_weights = {
                    k: v for k, v in self._session.capture().items() if k.startswith("model/")
                }
        else:
            self.progress = replace(self.progress, waited=self.progress.waited + 1)

    def _patience_is_over(self) -> bool:
        rule = self._settings.early_stopping
        return rule is not None and self.progress.waited >= max(rule.patience, 1)

    # Between two calls

    def _ask(
        self, pace: CallLength, left: int | None, place: Place, *, singly: bool, known: bool
    ) -> int:
        """Do what is asked; return how many of the `left` steps the next call has, one if `singly`.

        Where the end of the data is `known`, and no callback is called at each step, none of
        several processes can end the pass alone.
        """
        wanted = 1 if singly else pace.next(left)
        agreed = self._listen(wanted, place, together=known and not singly)
        return agreed if left is None else min(agreed, left)

    def _listen(self, steps: int, place: Place, *, together: bool = False) -> int:
        """Do what is asked; return how many steps the call has that would like to have `steps`."""
        agreed = self._agreed(steps, place, together=together)
        if agreed.pausing:
            agreed = replace(self._pause(), steps=agreed.steps)
        if agreed.stopping:
            raise Stopped
        return agreed.steps

    def _agreed(self, steps: int, place: Place, *, together: bool = False) -> Agreed:
        step = self.progress.step
        agreed = self._team.agree(self._control, steps, step, place, together=together)
        if agreed.stopping or agreed.pausing or agreed.checkpoint:
            self._settle()
        if agreed.checkpoint and self._ended:
            self._save_end()
        elif agreed.checkpoint:
            self._save(None)
        return agreed

    def _pause(self) -> Agreed:
        self._telemetry.tell(StateChanged(state="paused"))
        agreed = self._agreed(0, "pause")
        while agreed.pausing:
            self._team.wait_while_paused(self._control)
            agreed = self._agreed(0, "pause")
        if not agreed.stopping:
            self._telemetry.tell(StateChanged(state="running"))
        return agreed

    def _save_if_due(self, steps: int) -> None:
        every = self._settings.checkpoint.every_steps
        if every and self.progress.step // every > (self.progress.step - steps) // every:
            self._settle()
            self._save(None)

    def _save_once(self) -> None:
        """Save this moment, unless it is: a second checkpoint would replace the first's value."""
        if self._saved_step == self.progress.step:
            return
        if self._ended:
            self._save_end()
        else:
            self._save(None)

    def _save(self, value: float | None, monitor: str = "") -> None:
        if value is None and self._saved_step == self.progress.step:
            value, monitor = self._judged  # of the same weights: what replaces it is as good
        self._judged = value, monitor
        tally = {f"tally/{name}": value for name, value in self.tally.arrays().items()}
        best = {f"best/{name}": value for name, value in self.best_weights.items()}
        state, of_hooks = self.hooks.kept()
        arrays = self._session.capture() | tally | best | of_hooks
        self._saved_step = self.progress.step
        about = self._identity | state | self._session.standing
        self._checkpoints.save(Snapshot(self.progress, arrays, about, value, monitor))

    def _save_end(self) -> None:
        """Save what the end of training left: who goes on from it begins as another `fit` does."""
        progress = replace(self.progress, best=None, waited=0)
        about = self._identity | self.hooks.kept_at_end() | self._session.standing
        ended = Snapshot(progress, self._session.capture(), about, at_end=True)
        said = f"{ended.name} holds the weights as the end of training has left them."
        if self._saved_step == self.progress.step:
            said += " A resumed run goes on from those of before."
        self._saved_step = self.progress.step
        self._checkpoints.save(ended)
        self._telemetry.tell(Log(message=said))
