"""The benchmarks half of the Lab page: each benchmark that there is, and its kept results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtWidgets import QWidget

from gpu_studio.common.figures import moment
from gpu_studio.lab.benchmark_figures import headline
from gpu_studio.lab.benchmarks import BENCHMARKS
from gpu_studio.plan import Machine, Plan
from gpu_studio.runs.benchmarks import KeptResult, kept_results
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.kit.task import BackgroundTask
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.lab.benchmark_view import BenchmarkView
from gpu_studio.ui.lab.lab_section import LabEntry, LabSection

NOT_MEASURED = "not measured"


class BenchmarksSection(LabSection):
    """The entries are those of BENCHMARKS; the results are read again whenever it is seen."""

    name = "benchmarks"
    heading = "BENCHMARKS · what can this machine do?"

    def __init__(
        self,
        theme: ThemeManager,
        notice: Notice,
        machine: Callable[[], Machine | None],
        plan: Callable[[], Plan | None],
    ) -> None:
        super().__init__()
        self._notice, self._machine, self._plan = notice, machine, plan
        self._results: dict[str, list[KeptResult]] = {name: [] for name in BENCHMARKS}
        self._shown = ""
        self._view = BenchmarkView(theme)
        self._reading = BackgroundTask("results of benchmarks", self)
        self._reading.done.connect(self._take)

    @property
    def entries(self) -> Sequence[LabEntry]:
        """A line for each benchmark, with the figure of its newest result."""
        return [self._entry(name) for name in BENCHMARKS]

    @property
    def view(self) -> QWidget:
        """What was measured, and what it says."""
        return self._view

    def show_entry(self, key: str) -> None:
        """Show the results of this benchmark."""
        self._shown = key
        self._view.show_results(BENCHMARKS[key], self._results[key])

    def watch(self) -> None:
        """Read the results: a terminal may have measured, too."""
        self._reading.start(partial(_read))

    def close_parts(self) -> None:
        """Stop reading."""
        self._reading.close()

    def _entry(self, name: str) -> LabEntry:
        title, kept = BENCHMARKS[name].title, self._results[name]
        if not kept:
            return LabEntry(name, title, NOT_MEASURED, tone="muted")
        newest = kept[0]
        if newest.result is None:
            return LabEntry(name, title, "cannot be read", newest.name, tone="bad")
        found, when = headline(newest.result), moment(newest.result.begun)
        return LabEntry(name, title, found.figure, f"{found.of} · {when}")

    def _take(self, found: tuple[list[KeptResult], str]) -> None:
        results, why_not = found
        if why_not:
            self._notice.say(why_not, "bad", about="lab")
        by_kind = {
            name: [each for each in results if each.benchmark == name] for name in BENCHMARKS
        }
        if by_kind != self._results:
            self._results = by_kind
            self.changed.emit()
            if self._shown:
                self.show_entry(self._shown)


def _read() -> tuple[list[KeptResult], str]:
    try:
        return kept_results(), ""
    except OSError as error:
        return [], f"The results of benchmarks cannot be read: {error}."
