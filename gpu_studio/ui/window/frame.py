"""The bare window: its size, the rail beside the pages, its handling of keys and drops.

The rail has an icon and a word for each page. A plan that is dropped is opened; another file or
folder becomes the open plan's model or data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QIcon,
    QKeyEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.paths import resource
from gpu_studio.plan import Plan, printable
from gpu_studio.plan.columns import SUFFIXES
from gpu_studio.plan.edits.sources import relative_path, set_source, with_file, with_script
from gpu_studio.ui.kit import GRID, Notice, bring_into_view, font
from gpu_studio.ui.kit.settings import GEOMETRY, Settings
from gpu_studio.ui.plan.python_files import functions_in, script_in
from gpu_studio.ui.window.plan_files import PlanFiles
from gpu_studio.ui.window.services import Pages, Services

SMALLEST = QSize(1024, 680)
USUAL = QSize(1280, 800)
ICON = "desktop/icons/hicolor/scalable/apps/gpu-studio.svg"
FRAME = QSize(16, 48)
"""What a window manager puts around a window, at most. No one can tell before it is shown."""


class WindowFrame(QMainWindow):
    """A window with a rail beside its pages, and a notice over their corner.

    What is dropped on it, `drops` takes.
    """

    notice: Notice
    drops: Drops

    def __init__(self) -> None:
        super().__init__()
        self.setWindowIcon(QIcon(str(resource(ICON))))
        self.setMinimumSize(SMALLEST)
        self.setAcceptDrops(True)
        # A click beside the fields takes the focus from them, and at the start no field has it.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("GPU Studio")
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._show_focus)

    def _show_focus(self, _before: QWidget | None, focused: QWidget | None) -> None:
        """Scroll to what Tab reached where nothing of it is seen.

        Qt does so only if Tab was pressed in the same scroll area.
        """
        if focused is not None and focused.isVisible() and self.isAncestorOf(focused):
            bring_into_view(focused, if_out=True)

    def lay_out(self, rail: QWidget, pages: QWidget) -> None:
        """Put the rail beside the pages, and the notice over their corner."""
        whole = QWidget()
        row = QHBoxLayout(whole)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(rail)
        row.addWidget(pages, 1)
        self.notice.float_over(pages)
        self.setCentralWidget(whole)

    def restore_geometry(self, settings: Settings) -> None:
        """Be as large as last time, and where it was then; the first time, of the usual size."""
        geometry = settings.get(GEOMETRY)
        if not geometry or not self.restoreGeometry(QByteArray(geometry)):
            self.resize(usual_size(self))

    def keep_geometry(self, settings: Settings) -> None:
        """Note for the next time how large the window is, and where."""
        settings.set(GEOMETRY, bytes(self.saveGeometry().data()))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape, where nothing else has a use for it, closes the notice."""
        if event.key() == Qt.Key.Key_Escape and self.notice.isVisible():
            self.notice.hide()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do."""
        self.drops.enter(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do, wherever in the window it is."""
        self.drops.enter(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802 - Qt's name
        """Say nothing of drops any more."""
        self.drops.leave()
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Open the plan that was dropped, or use what was dropped in the open one."""
        self.drops.drop(event)


def usual_size(window: QWidget) -> QSize:
    """How large a window is at first.

    With its frame it fits the screen, unless that is very small.
    """
    available = window.screen().availableGeometry().size() - FRAME
    return USUAL.boundedTo(available).expandedTo(SMALLEST)


WIDTH = 84


class Rail(QFrame):
    """Buttons that trigger the page actions; the one of the page that is shown is checked."""

    def __init__(self, actions: dict[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rail")
        self.setFixedWidth(WIDTH)
        self._group = QButtonGroup(self)
        self._buttons = {name: self._make(action) for name, action in actions.items()}
        column = QVBoxLayout(self)
        column.setContentsMargins(GRID, GRID + 4, GRID, GRID)
        column.setSpacing(6)
        for button in self._buttons.values():
            column.addWidget(button)
        column.addStretch(1)

    def check(self, name: str) -> None:
        """Mark the page that is shown."""
        self._buttons[name].setChecked(True)

    def _make(self, action: QAction) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("destination")
        button.setText(action.text().removesuffix(" page"))
        button.setAccessibleName(action.text())
        button.setToolTip(action.toolTip())
        button.setFont(font("caption"))
        button.setIconSize(QSize(20, 20))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        button.setFixedSize(WIDTH - 2 * GRID, 60)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(action.trigger)
        button.setIcon(action.icon())
        action.changed.connect(lambda: button.setIcon(action.icon()))
        self._group.addButton(button)
        return button


NOTHING = (
    "Drop a plan (.toml), a model (.keras), data (.npz, .csv, .jsonl, .parquet), Python code "
    "(.py) or a folder of images"
)
ONE = "Drop one file or folder at a time"
_SOURCES = {
    ".keras": ("model", "file"),
    ".npz": ("data", "file"),
    **dict.fromkeys(SUFFIXES, ("data", "table")),
}
_SCRIPT = "script"
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Drop:
    """What would be done with what is dragged: `words` say it, or why nothing is.

    `part` and `source` are the plan's.

    A plan has neither, and what cannot be used has no `path`.
    """

    words: str
    path: Path | None = None
    part: str = ""
    source: str = ""


def what_is_dropped(event: QDropEvent, part_in_sight: str) -> Drop | None:
    """What is dragged; None if it is no file.

    Code is for the data if they are in sight, else for the model.
    """
    urls = event.mimeData().urls()
    if not urls or not all(url.isLocalFile() for url in urls):
        return None
    if len(urls) > 1:
        return Drop(ONE)
    path = Path(urls[0].toLocalFile())
    shown = printable(path.name)[:_LONGEST]
    if path.suffix.lower() == ".toml":
        return Drop(f"Open {shown}", path)
    if path.suffix.lower() == ".py" and script_in(path) is not None:
        return Drop(f"Train what {shown} trains, on these devices", path, "model", _SCRIPT)
    code = (part_in_sight, "python") if path.suffix.lower() == ".py" else None
    folder = ("data", "folder") if path.is_dir() else None
    found = folder or code or _SOURCES.get(path.suffix.lower())
    if found is None:
        return Drop(NOTHING)
    return Drop(f"Use {shown} as the {found[0]}", path, *found)


class Drops:
    """Takes drops for the window, always as a copy.

    Where a move is taken, the other program deletes its file.
    """

    def __init__(self, services: Services, pages: Pages, plan_files: PlanFiles) -> None:
        self._document, self._pages, self._plan_files = services.document, pages, plan_files
        self.sign = DropSign(services.window)

    def enter(self, event: QDragEnterEvent | QDragMoveEvent) -> None:
        """Show what a drop would do, or why it does nothing."""
        drop = self._dropped(event)
        if drop is None:
            event.ignore()
            return
        self.sign.tell(drop.words, good=drop.path is not None)
        if drop.path is None:
            event.ignore()
        else:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def leave(self) -> None:
        """Show nothing any more."""
        self.sign.hide()

    def drop(self, event: QDropEvent) -> None:
        """Do what was shown."""
        self.sign.hide()
        drop = self._dropped(event)
        if drop is None or drop.path is None:
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if not drop.part:
            self._plan_files.change_to(drop.path)
        elif self._document.plan is not None:
            self._use(drop, drop.path, self._document.plan)

    def _dropped(self, event: QDropEvent) -> Drop | None:
        return what_is_dropped(event, "data" if self._pages.plan.part == "Data" else "model")

    def _use(self, drop: Drop, path: Path, plan: Plan) -> None:
        file = self._document.path
        name = relative_path(path, file.parent if file else None)
        call = script_in(path) if drop.source == _SCRIPT else None
        if call is not None:
            changed = with_script(plan, name, call)
        else:
            changed = set_source(plan, drop.part, drop.source, name)
        if drop.source == "python":
            changed = with_file(
                changed, f"{drop.part}.python", name, [each.name for each in functions_in(path)]
            )
        self._document.replace(changed, f"use {printable(path.name)[:_LONGEST]}")
        self._pages.turn_to("plan")
        self._pages.plan.open_part(drop.part.capitalize())


class DropSign(QLabel):
    """What a drop would do, over the middle of the window while something is dragged there."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("drop_sign")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def tell(self, words: str, *, good: bool) -> None:
        """Show the words, as something that can be done or cannot."""
        self.setText(words)
        self.setProperty("tone", "accent" if good else "warning")
        self.style().unpolish(self)
        self.style().polish(self)
        self.adjustSize()
        self.resize(self.width() + 6 * GRID, self.height() + 4 * GRID)
        self.move(self._window.rect().center() - self.rect().center())
        self.show()
        self.raise_()
