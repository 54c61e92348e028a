"""Measures one benchmark at a time in the background, and keeps what was measured."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.lab.benchmarks import BenchmarkError, BenchmarkResult, BenchmarkRow
from gpu_studio.lab.hand_placement import HandPlacement
from gpu_studio.plan import Machine, Plan
from gpu_studio.runs.benchmarks import keep_result, run_benchmark
from gpu_studio.ui.kit import BackgroundTask, Report


@dataclass(frozen=True, slots=True)
class MeasuringEnd:
    """How measuring ended: with a result and its file, or why there is no result, or no file."""

    benchmark: str
    result: BenchmarkResult | None
    path: Path | None = None
    why_not: str = ""


class BenchmarkJobs(QObject):
    """Measures in a process of TensorFlow's; a `command` stands for it in tests.

    `changed` fires with each thing that is being measured, and with each row; `ended(MeasuringEnd)`
    at the end, also after `cancel`: what was measured until then is kept.
    """

    changed = Signal()
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None, command: Sequence[str] | None = None) -> None:
        super().__init__(parent)
        self._command = command
        self.measuring = ""
        """The benchmark that is being measured; empty if none is."""
        self.words = ""
        """What of it is being measured."""
        self.rows: tuple[BenchmarkRow, ...] = ()
        """What was measured of it until now."""
        self.cancelling = False
        self._task = BackgroundTask("benchmark", self)
        self._task.reported.connect(self._take)
        self._task.done.connect(self._end)
        self._task.failed.connect(self._fail)

    def start(
        self, benchmark: str, plan: Plan, machine: Machine, by_hand: HandPlacement | None = None
    ) -> None:
        """Measure this, unless something is being measured; `by_hand` is for what is placed so."""
        if self.measuring:
            return
        self.measuring, self.words, self.rows = benchmark, "starting", ()
        self.cancelling = False
        self._task.start_work(partial(_measured, benchmark, plan, machine, by_hand, self._command))
        self.changed.emit()

    def cancel(self) -> None:
        """Measure no more; the process ends within a moment."""
        if self.measuring:
            self.cancelling = True
            self._task.cancel()
            self.changed.emit()

    def close(self) -> None:
        """Cancel, and wait until what was measured is kept."""
        self._task.close()

    def _take(self, reported: str | BenchmarkRow) -> None:
        if isinstance(reported, str):
            self.words = reported
        else:
            self.rows = (*self.rows, reported)
        self.changed.emit()

    def _end(self, end: MeasuringEnd) -> None:
        self.measuring, self.words, self.rows = "", "", ()
        self.ended.emit(end)

    def _fail(self, _error: Exception) -> None:
        """A defect: whoever raises it reports it, and the next can be measured."""
        self.measuring, self.words, self.rows = "", "", ()
        self.changed.emit()


def _measured(
    benchmark: str,
    plan: Plan,
    machine: Machine,
    by_hand: HandPlacement | None,
    command: Sequence[str] | None,
    report: Report,
    cancelled: threading.Event,
) -> MeasuringEnd:
    try:
        result = run_benchmark(
            benchmark,
            plan,
            machine,
            report,
            by_hand=by_hand,
            command=command,
            cancel=cancelled,
            measured=report,
        )
    except BenchmarkError as error:
        return MeasuringEnd(benchmark, None, why_not="" if cancelled.is_set() else str(error))
    return kept(result)


def kept(result: BenchmarkResult) -> MeasuringEnd:
    """Write a result to a file of its own."""
    try:
        return MeasuringEnd(result.benchmark, result, keep_result(result))
    except OSError as error:
        why_not = f"The result could not be written to a file: {error.strerror or error}."
        return MeasuringEnd(result.benchmark, result, None, why_not)
