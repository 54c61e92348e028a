"""The benchmarks half of the Lab page: each benchmark that there is, and its kept results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from gpu_studio.common.figures import moment, plural
from gpu_studio.hardware.topology import Topology
from gpu_studio.lab.benchmark_figures import headline
from gpu_studio.lab.benchmarks import BENCHMARKS, BenchmarkError
from gpu_studio.lab.hand_placement import problems
from gpu_studio.plan import AbsolutePlan, Machine, Plan, logical_devices
from gpu_studio.runs.benchmark_links import links_between
from gpu_studio.runs.benchmarks import BY_HAND, KeptResult, benchmark_plan, kept_in
from gpu_studio.ui.kit import ActionButton, ActionSet, BackgroundTask, Button, Notice, ThemeManager
from gpu_studio.ui.kit.settings import LAB_DEVICES, Settings
from gpu_studio.ui.lab.benchmark_jobs import BenchmarkJobs, MeasuringEnd, kept
from gpu_studio.ui.lab.benchmark_view import BenchmarkView, ShownBenchmark
from gpu_studio.ui.lab.lab_section import LabEntry, LabSection
from gpu_studio.ui.lab.result_files import FileKind, ResultFiles
from gpu_studio.ui.lab.result_shelf import ResultShelf

NOT_MEASURED: Final = "not measured"
LOOKING: Final = "The machine is being looked at."
BUSY: Final = "{} is being measured: one at a time, for each would slow the other down."
TRAINING: Final = "A run is training: the devices measure slower than they are."
NOTHING_MEASURED: Final = "Nothing is being measured"
NO_RESULT: Final = "There is no result that can be shown: measure first"
NOT_YET: Final = "Wait until it is measured, or cancel"
NO_PICTURE: Final = "No picture is shown: this result has rows only, or none"
NO_OTHER: Final = "Measure a second time: there is nothing to compare with yet"
_OF_PLAN, _OF_MACHINE = "plan", "machine"
_EXPORTS: Final = (
    *("copy_result_picture", "copy_result_rows"),
    *("save_result_png", "save_result_svg", "save_result_csv"),
)


@dataclass(frozen=True, slots=True)
class Around:
    """What the section is given of the window: it asks them for what it does not know."""

    machine: Callable[[], Machine | None]
    plan: Callable[[], AbsolutePlan | None]
    training: Callable[[], bool]
    topology: Callable[[], Topology | None] = lambda: None


class BenchmarksSection(LabSection):
    """The entries are those of BENCHMARKS; the results are read again whenever it is seen.

    `permissions_changed` fires when `why_not` of its actions may be another. A `command` stands for
    TensorFlow's process in tests.
    """

    permissions_changed = Signal()

    name = "benchmarks"
    heading = "BENCHMARKS · what can this machine do?"

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        actions: ActionSet,
        notice: Notice,
        around: Around,
        command: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._settings, self._notice, self._around = settings, notice, around
        self._shown, self._asleep = "", False
        self._view = BenchmarkView(theme, settings, notice, actions)
        self.jobs = BenchmarkJobs(self, command)
        self.shelf = ResultShelf(notice, self)
        self.files = ResultFiles(self._view.picture.file, self._view)
        self._reading = BackgroundTask("a result to compare with", self)
        self._compare = ActionButton(actions["compare_results"], text="Compare with…")
        self._export = Button("Export")
        self._export.setToolTip("Copy or save the picture, or the rows")
        self._menu = QMenu("Export", self._export)
        self._menu.addActions([actions[name] for name in _EXPORTS])
        self._export.setMenu(self._menu)
        self._export.setProperty("menu", True)
        self._connect()

    @property
    def entries(self) -> Sequence[LabEntry]:
        """A line for each benchmark, with the figure of its newest result."""
        return [self._entry(name) for name in BENCHMARKS]

    @property
    def view(self) -> BenchmarkView:
        """What was measured, and what it says."""
        return self._view

    @property
    def buttons(self) -> Sequence[QWidget]:
        """Compare, and export."""
        return (self._compare, self._export)

    @property
    def caption(self) -> str:
        """Which result is shown, and of which machine."""
        chosen = self.shelf.chosen(self._shown)
        if self.jobs.measuring == self._shown or chosen is None or chosen.result is None:
            return ""
        machine, when = chosen.result.machine, moment(chosen.result.begun)
        cards = sum(key.startswith("GPU ") and key[4:].isdigit() for key in machine)
        many = plural(cards, "card") if cards else machine.get("CPU", "")
        return " · ".join(filter(None, (machine.get("host", ""), many, f"measured {when}")))

    @property
    def shown(self) -> str:
        """The benchmark that is shown."""
        return self._shown

    def show_entry(self, key: str) -> None:
        """Show the results of this benchmark."""
        self._shown = key
        self._refresh()

    def watch(self) -> None:
        """Read the results: a terminal may have measured, too. Show what came meanwhile."""
        self._asleep = False
        self.shelf.read()
        self._refresh()

    def rest(self) -> None:
        """Draw nothing while nobody sees it; what is measured goes on."""
        self._asleep = True

    def close_parts(self) -> None:
        """Stop reading, and measure no more; what was measured is kept."""
        self.shelf.close()
        self.jobs.close()
        self.files.close()
        self._reading.close()

    def look_again(self) -> None:
        """See what can be measured: the machine, the open plan or the live runs are others."""
        if self._shown and not self._asleep:
            plan, side = self._around.plan(), self._view.right
            only = BENCHMARKS[self._shown].of_a_plan
            name = plan.name if plan is not None else ""
            side.offer_devices(name, of_plan=self._of_plan, only_plan=only)
            if self._shown == BY_HAND:
                self._view.by_hand.show_devices(self._devices())
            measuring = self.jobs.measuring == self._shown
            why_not = self.why_not("measure")
            busy = TRAINING if not why_not and self._around.training() else ""
            words = "Cancelling…" if self.jobs.cancelling else ""
            side.say_why_not(why_not, note=words or busy, measuring=measuring)
        self._export.setEnabled(not self.why_not("copy_result_rows"))
        self.permissions_changed.emit()

    # What the actions do

    def why_not(self, action: str) -> str:
        """Why an action on the benchmark that is shown is impossible; empty if it is possible."""
        if action == "measure":
            return self.plan_to_measure()[1]
        if action == "cancel_measuring":
            return "" if self.jobs.measuring else NOTHING_MEASURED
        kept_one = self.shelf.chosen(self._shown)
        if action == "delete_result":
            return "" if kept_one is not None else NO_RESULT
        if kept_one is None or kept_one.result is None:
            return NO_RESULT
        if self.jobs.measuring == self._shown:
            return NOT_YET
        if action == "compare_results":
            return ""
        with_picture = action not in ("copy_result_rows", "save_result_csv")
        return NO_PICTURE if with_picture and self._view.picture.picture is None else ""

    def measure(self) -> None:
        """Measure the benchmark that is shown."""
        plan, _why_not = self.plan_to_measure()
        machine = self._around.machine()
        if plan is not None and machine is not None:
            by_hand = self._view.by_hand.placement if self._shown == BY_HAND else None
            self.jobs.start(self._shown, plan, machine, by_hand)

    def cancel(self) -> None:
        """Measure no more."""
        self.jobs.cancel()

    def delete(self) -> None:
        """Delete the result that is shown, and offer to take it back."""
        if (chosen := self.shelf.chosen(self._shown)) is not None:
            self.shelf.delete(chosen)

    def copy_picture(self) -> None:
        """Put the picture on the clipboard."""
        if (chosen := self.shelf.chosen(self._shown)) is not None and chosen.result is not None:
            self.files.copy_picture(chosen.result)

    def copy_rows(self) -> None:
        """Put the rows on the clipboard."""
        if (chosen := self.shelf.chosen(self._shown)) is not None and chosen.result is not None:
            self.files.copy_rows(chosen.result)

    def save(self, kind: FileKind) -> None:
        """Ask for a file, and write the picture or the rows to it."""
        if (chosen := self.shelf.chosen(self._shown)) is not None and chosen.result is not None:
            self.files.choose_and_save(chosen.result, kind)

    def offer_comparison(self) -> QMenu:
        """Open a menu of the other results of the benchmark."""
        menu = QMenu("Compare with", self._view)
        menu.setObjectName("comparisons")
        menu.aboutToHide.connect(menu.deleteLater)
        shown = self.shelf.chosen(self._shown)
        for each in self.shelf.of(self._shown):
            if each.result is not None and each is not shown:
                words = f"{moment(each.result.begun)}   {headline(each.result).figure}"
                menu.addAction(words).triggered.connect(partial(self._compare_with, each))
        if not menu.actions():
            menu.addAction(NO_OTHER).setEnabled(False)
        menu.addSeparator()
        menu.addAction("A file…").triggered.connect(self._choose_file)
        menu.popup(self._compare.mapToGlobal(QPoint(0, self._compare.height() + 2)))
        return menu

    def compare_with_file(self, path: Path) -> None:
        """Show what has changed from or to the result in a file, of another machine maybe."""
        self._reading.start(partial(kept_in, path))

    # Inside

    def _connect(self) -> None:
        self.jobs.changed.connect(self._follow_jobs)
        self.jobs.ended.connect(self._end)
        self.shelf.changed.connect(self._follow_results)
        self.files.reported.connect(self._notice.say)
        self._reading.done.connect(self._compare_with)
        self._view.right.chosen.connect(self._choose)
        self._view.by_hand.changed.connect(self.look_again)
        self._view.right.devices_chosen.connect(self._choose_devices)

    @property
    def _of_plan(self) -> bool:
        return self._settings.get(LAB_DEVICES) == _OF_PLAN

    def plan_to_measure(self) -> tuple[Plan | None, str]:
        """The plan whose devices would be measured, or why nothing can be."""
        machine = self._around.machine()
        if machine is None or not self._shown:
            return None, LOOKING
        if self.jobs.measuring:
            return None, BUSY.format(BENCHMARKS[self.jobs.measuring].title)
        of_plan = self._of_plan or BENCHMARKS[self._shown].of_a_plan
        given = self._around.plan() if of_plan else None
        try:
            plan = benchmark_plan(self._shown, machine, given)
        except BenchmarkError as error:
            return None, str(error)
        wrong = problems(self._view.by_hand.placement) if self._shown == BY_HAND else ()
        return (None, " ".join(wrong)) if wrong else (plan, "")

    def _devices(self) -> list[str]:
        """The logical devices that operations can be placed on; none where nothing is measured."""
        machine = self._around.machine()
        given = self._around.plan() if self._of_plan else None
        try:
            plan = benchmark_plan(BY_HAND, machine, given) if machine is not None else None
        except BenchmarkError:
            plan = None
        if plan is None or machine is None:
            return []
        return [each.name for each in logical_devices(plan, machine)]

    def _entry(self, name: str) -> LabEntry:
        title, results = BENCHMARKS[name].title, self.shelf.of(name)
        if self.jobs.measuring == name:
            many = f"{len(self.jobs.rows)} measured"
            return LabEntry(name, title, many, self.jobs.words, running=True)
        if not results:
            return LabEntry(name, title, NOT_MEASURED, tone="muted")
        newest = results[0]
        if newest.result is None:
            return LabEntry(name, title, "cannot be read", newest.name, tone="bad")
        found, when = headline(newest.result), moment(newest.result.begun)
        return LabEntry(name, title, found.figure, f"{found.of} · {when}")

    def _links(self, chosen: KeptResult | None) -> dict[tuple[str, str], str]:
        topology = self._around.topology()
        if chosen is None or chosen.result is None or topology is None:
            return {}
        return links_between(chosen.result, topology)

    def _refresh(self) -> None:
        """Show the benchmark as it is now, if it is seen."""
        if not self._shown or self._asleep:
            self.look_again()
            return
        benchmark, results = BENCHMARKS[self._shown], self.shelf.of(self._shown)
        if self.jobs.measuring == self._shown:
            shown = ShownBenchmark(benchmark, results, None, True, self.jobs.words, self.jobs.rows)
        else:
            chosen = self.shelf.chosen(self._shown)
            shown = ShownBenchmark(benchmark, results, chosen, links=self._links(chosen))
        self._view.show_benchmark(shown)
        self.line_changed.emit()
        self.look_again()

    def _follow_jobs(self) -> None:
        self.changed.emit()
        if self.jobs.measuring == self._shown:
            self._refresh()
        else:
            self.look_again()

    def _follow_results(self) -> None:
        self.changed.emit()
        self._refresh()

    def _end(self, end: MeasuringEnd) -> None:
        """Show the new result; say why there is none, or why it has no file."""
        if end.result is not None and end.path is None:
            result = end.result
            words = f"{end.why_not} It is shown until this window closes."
            self._notice.say(words, "bad", "Try again", lambda: self._end(kept(result)))
        elif end.result is None and end.why_not:
            self._notice.say(end.why_not, "bad", about=self.name)
        elif end.result is not None and end.benchmark != self._shown:
            words = f"{BENCHMARKS[end.benchmark].title} was measured."
            self._notice.say(words, label="Show", action=lambda: self.wanted.emit(end.benchmark))
        if end.result is not None:
            self.shelf.add(KeptResult(end.path or Path(), end.result))
        self._follow_results()

    def _choose(self, chosen: KeptResult) -> None:
        self.shelf.choose(chosen)
        self._refresh()

    def _choose_devices(self, of_plan: bool) -> None:
        self._settings.set(LAB_DEVICES, _OF_PLAN if of_plan else _OF_MACHINE)
        self.look_again()

    def _compare_with(self, other: KeptResult, _checked: bool = False) -> None:
        shown = self.shelf.chosen(self._shown)
        if shown is None or shown.result is None:
            return
        if other.result is None:
            self._notice.say(other.why_not, "bad", about=self.name)
            return
        try:
            self._view.compare(shown, other)
        except BenchmarkError as error:
            self._notice.say(str(error), "warning", about=self.name)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self._view, "Compare with a result", str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["Results of benchmarks (*.benchmark.json)", "All files (*)"])
        dialog.setAccessibleName("Compare with a result")
        dialog.fileSelected.connect(lambda name: self.compare_with_file(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
