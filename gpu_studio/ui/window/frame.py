"""The bare window: its size, what is beside the pages, and its handling of keys and drops."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QIcon,
    QKeyEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QWidget

from gpu_studio.common.resource_files import resource
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.kit.settings import GEOMETRY, Settings
from gpu_studio.ui.window.drops import Drops

SMALLEST = QSize(1024, 680)
USUAL = QSize(1280, 800)
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
        self.setWindowIcon(QIcon(str(resource("icons/gpu-studio.svg"))))
        self.setMinimumSize(SMALLEST)
        self.setAcceptDrops(True)
        # A click beside the fields takes the focus from them, and at the start no field has it.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("GPU Studio")

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
