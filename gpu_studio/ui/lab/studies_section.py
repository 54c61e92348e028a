"""The studies half of the Lab page: each study that is known here, followed while it is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QPoint, QTimer, Signal
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.runs.study_shelf import known_files
from gpu_studio.runs.study_view import StudyDesk, StudySnapshot
from gpu_studio.ui.kit import ActionButton, ActionSet, BackgroundTask, Button, Notice, ThemeManager
from gpu_studio.ui.lab.lab_section import LabEntry, LabSection
from gpu_studio.ui.lab.study_view import StudyView

LOOK_MS: Final = 1000
IDLE_TIMES: Final = 3
"""While nothing is run, it is looked so many times more seldom: a terminal may begin a study."""
STARTING_TIMES: Final = 4
"""Until a study that was started here is seen to run, it is looked so many times more often."""
TEMPLATE_ACTIONS: Final = (
    "new_study_scaling-strong",
    "new_study_scaling-weak",
    "new_study_strategies",
    "new_study_batch",
    "new_study_sweep",
)
_MENU: Final = (
    ("end_study",),
    ("save_study_png", "save_study_svg", "save_study_csv"),
    ("edit_study", "forget_study"),
)


class StudiesSection(LabSection):
    """The entries are the known studies. `shown` fires whenever another snapshot is shown."""

    shown = Signal()

    name = "studies"
    heading = "STUDIES · is it worth it for my plan?"
    nothing = (
        "None yet. “New study” trains the open plan at several points, such as on one to four "
        "devices, and says what is worth it."
    )

    def __init__(self, theme: ThemeManager, notice: Notice, runs: Path, actions: ActionSet) -> None:
        super().__init__()
        self._notice, self._runs = notice, runs
        self.desk = StudyDesk(runs)
        self._found = [StudySnapshot(path, _stem(path)) for path in known_files(runs)]
        self._shown, self._wanted = "", ""
        self._starting = False
        self._view = StudyView(
            theme, actions["study_plan"], actions["study_runs"], actions["edit_study"]
        )
        self._looking = BackgroundTask("studies", self)
        self._looking.done.connect(self._take)
        self._setting_aside = BackgroundTask("runs to be measured anew", self)
        self._setting_aside.done.connect(self._go_on)
        self._clock = QTimer(self)
        self._clock.setInterval(LOOK_MS)
        self._clock.timeout.connect(self.look)
        self._make_buttons(actions)

    @property
    def entries(self) -> Sequence[LabEntry]:
        """A line for each study, with its figure and how far it is."""
        return [_entry(each) for each in self._found]

    @property
    def view(self) -> StudyView:
        """The study that is chosen."""
        return self._view

    @property
    def buttons(self) -> Sequence[QWidget]:
        """What can be done with the study that is chosen."""
        return (self.run_button, self.stop_button, self.report_button, self.more)

    @property
    def lasting_buttons(self) -> Sequence[QWidget]:
        """The button for a new one."""
        return (self.new_button,)

    @property
    def caption(self) -> str:
        """The file of the study."""
        return self._shown

    @property
    def snapshot(self) -> StudySnapshot | None:
        """The study that is chosen; None before one is."""
        return next((each for each in self._found if str(each.path) == self._shown), None)

    @property
    def snapshots(self) -> Sequence[StudySnapshot]:
        """Every study, as it was seen last."""
        return self._found

    @property
    def is_looking(self) -> bool:
        """Whether the studies are being read."""
        return self._looking.busy

    @property
    def pause_ms(self) -> int:
        """How long it is waited from one look to the next, in milliseconds."""
        return self._clock.interval()

    def show_entry(self, key: str) -> None:
        """Show this study."""
        self._shown = key
        self._show()

    def _show(self) -> None:
        if (snapshot := self.snapshot) is not None:
            self._view.show_study(snapshot)
            self.run_button.setText("Go on" if snapshot.run_ids else "Run")
            self.run_button.setAccessibleName(self.run_button.text())
        self.shown.emit()

    def want(self, path: Path) -> None:
        """Show the study in this file, as soon as it has been read."""
        self._wanted = str(path)
        self._looking.forget()
        self.look()

    def measure_anew(self, then: Callable[[], object]) -> None:
        """Let what failed or has changed count no more, and do `then` once that is so."""
        snapshot = self.snapshot
        if snapshot is not None:
            self._setting_aside.start(lambda: (_set_aside(self.desk, snapshot), then))

    def watch(self) -> None:
        """Look at once, and again and again."""
        self._clock.start()
        self.look()

    def rest(self) -> None:
        """Look no more."""
        self._clock.stop()

    def close_parts(self) -> None:
        """Leave no thread behind."""
        self.rest()
        self._looking.close()
        self._setting_aside.close()

    def set_starting(self, *, starting: bool) -> None:
        """Look often while a study that was started here is not seen to run yet."""
        self._starting = starting
        self._keep_pace()
        self.look()

    def look(self) -> None:
        """Read what is new, unless that is being done."""
        if not self._looking.busy:
            besides = [Path(self._wanted)] if self._wanted else []
            self._looking.start(partial(_look, self.desk, besides))

    def _make_buttons(self, actions: ActionSet) -> None:
        self.run_button = ActionButton(actions["run_study"], text="Run")
        self.stop_button = ActionButton(actions["stop_study"], text="Stop")
        self.report_button = ActionButton(actions["report_study"], text="Report")
        self.menu, self.new_menu = QMenu("More"), QMenu("New study")
        for place, names in enumerate(_MENU):
            if place:
                self.menu.addSeparator()
            self.menu.addActions([actions[name] for name in names])
        self.new_menu.addActions([actions[name] for name in TEMPLATE_ACTIONS])
        self.new_menu.addSeparator()
        self.new_menu.addAction(actions["open_study"])
        self.more, self.new_button = Button("⋯"), Button("New study", "primary")
        self.more.setAccessibleName("More about the study")
        self.more.setToolTip("What else can be done with the study")
        self.more.setFixedWidth(44)
        self.new_button.setToolTip("Measure the open plan at several points")
        for button, menu in ((self.more, self.menu), (self.new_button, self.new_menu)):
            menu.setToolTipsVisible(True)
            menu.setParent(button, menu.windowFlags())
        self.new_button.setProperty("menu", True)
        self.new_button.setMenu(self.new_menu)
        # Not `setMenu`, whose chevron does not fit beside the dots.
        self.more.clicked.connect(partial(_open, self.menu, self.more))

    def _go_on(self, answer: tuple[str, Callable[[], object]]) -> None:
        why_not, then = answer
        self.look()
        if why_not:
            self._notice.say(why_not, "bad", about="studies")
        else:
            then()

    def _take(self, found: tuple[list[StudySnapshot], str]) -> None:
        snapshots, why_not = found
        if why_not:
            self._notice.say(why_not, "bad", about="studies")
            return
        before, self._found = [*map(id, self._found)], snapshots
        self._keep_pace()
        if before != [*map(id, snapshots)]:
            self.changed.emit()
            self._show()
        if self._wanted and any(str(each.path) == self._wanted for each in snapshots):
            wanted, self._wanted = self._wanted, ""
            self.wanted.emit(wanted)

    def _keep_pace(self) -> None:
        """Look as often as there is something to see. The clock begins anew only at a new pace."""
        going = any(each.is_run or each.live for each in self._found)
        pause = LOOK_MS if going else IDLE_TIMES * LOOK_MS
        if self._starting and not going:
            pause = LOOK_MS // STARTING_TIMES
        if pause != self._clock.interval():
            self._clock.setInterval(pause)


def _set_aside(desk: StudyDesk, snapshot: StudySnapshot) -> str:
    try:
        desk.measure_anew(snapshot)
    except OSError as error:
        return f"The runs cannot be set aside: {error.strerror or error}."
    return ""


def _look(desk: StudyDesk, besides: Sequence[Path]) -> tuple[list[StudySnapshot], str]:
    try:
        return desk.look(*besides), ""
    except OSError as error:
        return [], f"The studies cannot be read: {error}."


def _open(menu: QMenu, button: QWidget) -> None:
    menu.popup(button.mapToGlobal(QPoint(0, button.height() + 2)))


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _entry(each: StudySnapshot) -> LabEntry:
    going = each.is_run or each.live is not None
    if each.problem:
        return LabEntry(str(each.path), each.name, "", each.progress, tone="bad")
    figure = each.figure or ("" if each.done else "not measured")
    return LabEntry(
        str(each.path),
        each.name,
        figure,
        each.progress,
        going,
        "plain" if each.figure else "muted",
    )
