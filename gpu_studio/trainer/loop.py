"""The only training loop. It calls some steps at a time.

Between two calls it obeys commands, writes events and takes checkpoints.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

import numpy as np

from gpu_studio.contract.events import Epoch, Finished, StateChanged, Steps
from gpu_studio.plan.keras_objects import VALIDATION
from gpu_studio.trainer.checkpoints import Checkpoints, Snapshot
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.data import Split
from gpu_studio.trainer.errors import NotFiniteError
from gpu_studio.trainer.meters import Call, Tally
from gpu_studio.trainer.progress import CallLength, Monitor, Reached, TrainingProgress
from gpu_studio.trainer.session import Session
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
        checkpoints: Checkpoints,
        reached: Reached,
    ) -> None:
        self._reached = reached
        self.tally = Tally(session.meters)
        self._session, self._control = session, control
        self._identity = {**session.identity(), "parts": session.cut.replicas}
        self._telemetry, self._checkpoints = telemetry, checkpoints
        self._settings = session.plan.training
        self._pace, self._evaluation_pace = (
            CallLength(self._settings.steps_per_call),
            CallLength(self._settings.steps_per_call),
        )
        self._evaluations: dict[int, object] = {}
        self.best_weights: dict[str, np.ndarray] = {}
        self._began = time.perf_counter()
        self._saved_step: int | None = None
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
            reason = self._train()
            return self._finished(reason, self._test())
        except Stopped:
            self._telemetry.tell(StateChanged(state="stopping", reason="writing a checkpoint"))
            if (
                self._saved_step != self.progress.step
            ):  # A second one would replace the first and its value.
                self._save(None)
            # The disk may have refused it: then nobody must be told that it exists.
            return self._finished(
                "stopped" if self._checkpoints.has(self.progress.step) else "stopped_now", {}
            )

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
        )

    # Training

    def _train(self) -> Literal["completed", "early_stopping"]:
        stream = self._session.training_stream(self.progress.epoch, self.progress.samples)
        while self.progress.epoch < self._settings.epochs:
            if self._patience_is_over():
                return "early_stopping"
            self._train_epoch(stream)
            self._end_epoch()
        return "early_stopping" if self._patience_is_over() else "completed"

    def _train_epoch(self, stream: object) -> None:
        self._epoch_seconds, self._epoch_samples = 0.0, 0
        sizes = self._batch_sizes()
        while len(sizes):
            self._listen()
            count = self._pace.next(len(sizes))
            self._call(stream, sizes[:count])
            sizes = sizes[count:]
            self._save_if_due(count)
        self._listen()

    def _batch_sizes(self) -> np.ndarray:
        """The sizes of the global batches left in the epoch under way."""
        cut = self._session.cut
        starts = np.arange(self.progress.samples, cut.samples, cut.batch)
        return np.minimum(cut.batch, cut.samples - starts)

    def _call(self, stream: object, sizes: np.ndarray) -> None:
        rate = self._session.rate
        began = time.perf_counter()
        call = self._session.program.train(stream, self.progress.step, len(sizes))
        seconds = time.perf_counter() - began - call.aside_seconds
        self._pace.measured(len(sizes), seconds)
        self._epoch_seconds += seconds
        self._tell_steps(call, sizes, seconds, rate)
        self._check(call.losses)
        samples = int(sizes.sum())
        self._epoch_samples += samples
        self.tally.add(float(call.losses @ sizes), samples, call.deltas)
        self.progress = self.progress.after_steps(len(sizes), samples)

    def _tell_steps(self, call: Call, sizes: np.ndarray, seconds: float, rate: float) -> None:
        event = Steps(
            epoch=self.progress.epoch + 1,
            first_step=self.progress.step,
            losses=[float(loss) if np.isfinite(loss) else None for loss in call.losses],
            samples=int(sizes.sum()),
            seconds=seconds,
            input_seconds=call.input_seconds,
        )
        self._telemetry.steps(event, rate)

    def _check(self, losses: np.ndarray) -> None:
        wrong = np.flatnonzero(~np.isfinite(losses))
        if len(wrong):
            step, epoch = self.progress.step + int(wrong[0]), self.progress.epoch + 1
            raise NotFiniteError(float(losses[wrong[0]]), step, epoch, self._settings.learning_rate)

    # The end of an epoch

    def _end_epoch(self) -> None:
        metrics = self.tally.results()
        if self._session.dataset.validation:
            metrics |= self._evaluate(self._session.dataset.validation, VALIDATION)
        self._heed_patience(metrics)
        self.progress = self.progress.after_epoch()
        self.tally = Tally(self._session.meters)
        self._telemetry.epoch(
            Epoch(
                epoch=self.progress.epoch,
                step=self.progress.step,
                metrics=finite(metrics),
                seconds=self._epoch_seconds,
                samples_per_second=self._epoch_samples / max(self._epoch_seconds, 1e-9),
            )
        )
        every = self._settings.checkpoint.every_epochs
        if every and (
            self.progress.epoch % every == 0 or self.progress.epoch == self._settings.epochs
        ):
            self._save(Monitor(self._settings.checkpoint.monitor).value(metrics))

    def _evaluate(self, split: Split, prefix: str) -> dict[str, float]:
        """Evaluate a split in calls between which commands are obeyed.

        A stop ends the evaluation.
        """
        if id(split) not in self._evaluations:
            self._evaluations[id(split)] = self._session.evaluation_stream(split)
        stream = self._evaluations[id(split)]
        cut = self._session.cut_for(split)
        sizes = np.minimum(cut.batch, cut.samples - np.arange(0, cut.samples, cut.batch))
        tally = Tally(self._session.meters)
        while len(sizes):
            self._listen()
            count = self._evaluation_pace.next(len(sizes))
            began = time.perf_counter()
            losses, deltas = self._session.program.evaluate(stream, cut.steps() - len(sizes), count)
            self._evaluation_pace.measured(count, time.perf_counter() - began)
            tally.add(float(losses @ sizes[:count]), int(sizes[:count].sum()), deltas)
            sizes = sizes[count:]
        return {prefix + name: value for name, value in tally.results().items()}

    def _test(self) -> dict[str, float]:
        if self.best_weights:
            self._session.restore(self._session.capture() | self.best_weights)
        split = self._session.dataset.test
        return self._evaluate(split, TEST) if split else {}

    # Early stopping

    def _heed_patience(self, metrics: dict[str, float]) -> None:
        rule = self._settings.early_stopping
        if rule is None:
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

    def _listen(self) -> None:
        if self._control.take_checkpoint_wish():
            self._save(None)
        if self._control.pausing:
            self._pause()
        if self._control.stopping:
            raise Stopped

    def _pause(self) -> None:
        self._telemetry.tell(StateChanged(state="paused"))
        while self._control.pausing:
            self._control.wait_while_paused()
            if self._control.take_checkpoint_wish():
                self._save(None)
        if not self._control.stopping:
            self._telemetry.tell(StateChanged(state="running"))

    def _save_if_due(self, steps: int) -> None:
        every = self._settings.checkpoint.every_steps
        if every and self.progress.step // every > (self.progress.step - steps) // every:
            self._save(None)

    def _save(self, value: float | None) -> None:
        tally = {f"tally/{name}": value for name, value in self.tally.arrays().items()}
        best = {f"best/{name}": value for name, value in self.best_weights.items()}
        arrays = self._session.capture() | tally | best
        self._saved_step = self.progress.step
        self._checkpoints.save(Snapshot(self.progress, arrays, self._identity, value))
