"""Everything that is chosen for good, in one dialog: found by words, each with its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gpu_studio.common.paths import expanded
from gpu_studio.runs.paths import usual_runs_dir
from gpu_studio.ui.kit import GRID, Button, Dialog, Elided, Label, Paragraph, Scrolled
from gpu_studio.ui.kit.fields import Segments, Typed
from gpu_studio.ui.kit.settings import (
    NOTIFY,
    NUMBERS,
    QUIT,
    RUNS,
    SECONDS,
    THEME,
    Setting,
    Settings,
)

_WIDTH, _HEIGHT = 660, 720
NOTHING: Final = "No setting has these words."


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting as it is shown: under which `part`, its name, what it does, its values in words.

    `apply` has the window follow a new value, and remembers it. Without `words` it is a folder, of
    which `usual` is the one that is taken if none is chosen.
    """

    setting: Setting[Any]
    part: str
    name: str
    about: str
    apply: Callable[[Any], object]
    words: Mapping[Any, str]
    usual: str = ""
    also: str = ""

    @property
    def default(self) -> str:
        """The default in words."""
        return self.words[self.setting.default] if self.words else self.usual

    def has(self, words: Sequence[str]) -> bool:
        """Whether each of the words is found in what is shown of it."""
        text = " ".join((self.part, self.name, self.about, *self.words.values(), self.also)).lower()
        return all(word in text for word in words)


_QUITTING: Final = (
    "Ask whether to stop them, or let them go on without a question. Whoever ends the session is "
    "never asked: runs go on, or, where logging out ends them, stop with a checkpoint."
)
_NOTIFYING: Final = (
    "Have the desktop say when a run has finished, failed or was lost, unless the window shows it."
)
_KEEPING: Final = (
    "Where runs are kept, for window and command line, from the next start on; --runs-dir and "
    "GPU_STUDIO_RUNS_DIR go before it. Runs that are there already stay where they are."
)
_LOOKING: Final = (
    "How often the window asks the cards for memory, utilisation and power while it shows them. "
    "What a run records of them does not depend on this."
)
_WRITING: Final = (
    "What stands between thousands in window and terminal, from the next start on. Files for "
    "programs have plain numbers."
)
_MARKS: Final = {"comma": "1,234,567", "space": "1 234 567", "none": "1234567"}
_COLOURS: Final = {"system": "As the system", "light": "Light", "dark": "Dark"}
_ASKING: Final = {"ask": "Ask", "leave": "Leave them running"}
_TELLING: Final = {"yes": "Notify", "no": "Do not notify"}
_ALSO: Final = {
    THEME.key: "theme appearance colors mode",
    NUMBERS.key: "number format thousands separator digits",
    QUIT.key: "quit quitting exit leave",
    NOTIFY.key: "notify message desktop end",
    RUNS.key: "directory path place",
    SECONDS.key: "sampling sampler rate interval refresh gpu",
}
"""What others call it."""
_TIMES: Final = {0.5: "Every 0.5 s", 1.0: "Every second", 2.0: "Every 2 s", 5.0: "Every 5 s"}


def options(appliers: Mapping[str, Callable[[Any], object]], runs_dir: Path) -> list[ShownSetting]:
    """All options, for a window on the runs in `runs_dir`. The `appliers` are by their keys."""
    usual = usual_runs_dir()
    keeping = _KEEPING if runs_dir == usual else f"{_KEEPING} This window shows {runs_dir}."
    shown: Sequence[tuple[Setting[Any], str, str, str, Mapping[Any, str]]] = (
        (THEME, "Window", "Colours", "Light or dark, or as the system has it.", _COLOURS),
        (NUMBERS, "Window", "Numbers", _WRITING, _MARKS),
        (QUIT, "Runs", "Closing the window while runs train", _QUITTING, _ASKING),
        (NOTIFY, "Runs", "Notifications", _NOTIFYING, _TELLING),
        (RUNS, "Runs", "Folder of runs", keeping, {}),
        (SECONDS, "Devices", "Looking at the cards", _LOOKING, _TIMES),
    )
    return [
        ShownSetting(
            setting, part, name, about, appliers[setting.key], words, str(usual), _ALSO[setting.key]
        )
        for setting, part, name, about, words in shown
    ]


class SettingsDialog(Dialog):
    """The options, by their parts. What is chosen counts at once, and is kept in a file."""

    def __init__(
        self, options: Sequence[ShownSetting], settings: Settings, parent: QWidget | None = None
    ) -> None:
        super().__init__("Settings", parent)
        self._settings = settings
        self.search = QLineEdit()
        self.search.setPlaceholderText("Find a setting")
        self.search.setAccessibleName("find a setting")
        self.search.setClearButtonEnabled(True)
        self.nothing = Paragraph(NOTHING, "muted")
        self.rows = {option.name: SettingRow(option, settings) for option in options}
        self._heads = {option.part: Label(option.part, "section") for option in options}
        self.file = Elided(mode=Qt.TextElideMode.ElideMiddle, role="caption", letters=12)
        self.trouble = Paragraph("", "caption")
        self.trouble.set_tone("bad")
        self.open_file, self.reset = Button("Open the file"), Button("Reset all")
        self._lay_out()
        self.search.textChanged.connect(self._find)
        self.open_file.clicked.connect(self._open)
        self.reset.clicked.connect(self._reset)
        for row in self.rows.values():
            row.changed.connect(self._follow)
        self._find()
        self._follow()
        self.resize(_WIDTH, _HEIGHT)
        self.search.setFocus()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Show what the window's menus have changed meanwhile."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._follow()

    def _lay_out(self) -> None:
        area = Scrolled()
        area.column.setSpacing(GRID // 2)
        parts = list(self._heads)
        for part in parts:
            area.column.addWidget(self._heads[part])
            for row in self.rows.values():
                if row.option.part == part:
                    area.column.addWidget(row)
        area.column.addWidget(self.nothing)
        area.column.addStretch(1)
        for widget in (self.search, area, self.trouble, self.file):
            self.column.addWidget(widget, 1 if widget is area else 0)
        self.add_buttons(self.reset, self.open_file)

    def _find(self) -> None:
        words = self.search.text().lower().split()
        for row in self.rows.values():
            row.setVisible(row.option.has(words))
        found = {row.option.part for row in self.rows.values() if not row.isHidden()}
        for part, head in self._heads.items():
            head.setVisible(part in found)
        self.nothing.setVisible(not found)

    def _follow(self) -> None:
        for row in self.rows.values():
            row.follow()
        choices = self._settings.choices
        self.trouble.setText(choices.problem)
        self.trouble.setVisible(bool(choices.problem))
        self.file.setText(f"What differs from its default is kept in {choices.path}")
        there = choices.path.is_file()
        self.open_file.setEnabled(there)
        self.open_file.setToolTip("" if there else "There is no file yet: all is as by default")
        differs = any(row.differs for row in self.rows.values())
        self.reset.setEnabled(differs)
        self.reset.setToolTip("" if differs else "All is as by default")

    def _open(self) -> None:
        path = self._settings.choices.path
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self.file.setText(f"Nothing here opens it. It is {path}")

    def _reset(self) -> None:
        for row in self.rows.values():
            row.choose(row.option.setting.default)


class SettingRow(QWidget):
    """One option: what it is, its field, and a way back to the default where it differs."""

    changed = Signal()

    def __init__(self, option: ShownSetting, settings: Settings) -> None:
        super().__init__()
        self.setObjectName("plain")
        self.option, self._settings = option, settings
        self.field: Segments | Typed = (
            Segments(option.name, {str(value): text for value, text in option.words.items()})
            if option.words
            else Typed(option.name, _folder)
        )
        self.back = Button("Reset", "quiet", small=True)
        self.back.setAccessibleName(f"reset {option.name}")
        self.back.setToolTip(f"By default: {option.default}")
        self.pick = Button("Choose…", small=True)
        self.pick.setAccessibleName(f"choose {option.name}")
        if isinstance(self.field, Typed):  # half a path is a path, too: only a whole one is chosen
            self.field.editingFinished.connect(self._take_typed)
        else:
            self.field.edited.connect(lambda value: self.choose(self._value_of(value)))
        self.back.clicked.connect(lambda: self.choose(option.setting.default))
        self.pick.clicked.connect(self._pick)
        self._lay_out()

    @property
    def value(self) -> Any:
        """What counts now."""
        return self._settings.get(self.option.setting)

    @property
    def differs(self) -> bool:
        """Whether it is another than the default."""
        return bool(self.value != self.option.setting.default)

    def choose(self, value: Any) -> None:
        """Choose a value."""
        self.option.apply(value)
        self.changed.emit()

    def follow(self) -> None:
        """Show what counts now."""
        self.field.show_value(self.value if isinstance(self.field, Typed) else str(self.value))
        had_focus = self.back.hasFocus()
        self.back.setEnabled(self.differs)
        self.back.setText("Reset" if self.differs else "default")
        if had_focus and not self.differs:
            self.field.setFocus()

    def _lay_out(self) -> None:
        head, line = QHBoxLayout(), QHBoxLayout()
        head.addWidget(Label(self.option.name, "strong"), 1)
        head.addWidget(self.back)
        line.addWidget(self.field, 1)
        line.addWidget(self.pick)
        self.pick.setVisible(isinstance(self.field, Typed))
        if isinstance(self.field, Typed):
            self.field.setPlaceholderText(self.option.usual)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 2 * GRID)
        column.setSpacing(GRID // 2)
        column.addLayout(head)
        column.addWidget(Paragraph(self.option.about, "muted"))
        column.addLayout(line)

    def _take_typed(self) -> None:
        if isinstance(self.field, Typed) and not self.field.wrong:
            self.choose(_folder(self.field.text()))

    def _value_of(self, shown: str) -> Any:
        """The value of what the field gives: its words' keys are shown as text."""
        return next((value for value in self.option.words if str(value) == shown), shown)

    def _pick(self) -> None:
        dialog = QFileDialog(self, self.option.name, str(expanded(self.value or self.option.usual)))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(self.choose)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _folder(text: str) -> str:
    """The folder as it was typed. Raises ValueError for what cannot be one."""
    text = text.strip()
    path = expanded(text)
    if text and not path.is_absolute():
        raise ValueError("write the whole path: it begins with / or ~")
    if text and path.exists() and not path.is_dir():
        raise ValueError(f"{Path(text).name} is a file: name a folder")
    return text
