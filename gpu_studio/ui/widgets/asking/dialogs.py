"""The window's few dialogs: all shortcuts, about, and an error nobody foresaw."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import PySide6
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gpu_studio import __version__
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Label, Paragraph
from gpu_studio.ui.widgets.status_line import tensorflow_in_use

_LICENCE = (
    "Free software under the Apache License 2.0. It brings the typefaces Inter and JetBrains Mono, under the SIL Open "
    "Font License 1.1, and the UCI optical digits, under CC BY 4.0."
)


class Dialog(QDialog):
    """A window beside the window, which it does not block. Escape closes it."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
        self.column.setSpacing(GRID + 4)
        self.column.addWidget(Label(title, "heading"))

    def add_buttons(self, *before: Button, last: str = "Close") -> Button:
        """End with these buttons and one that closes the dialog, which is returned."""
        close = Button(last)
        close.clicked.connect(self.close)
        row = QHBoxLayout()
        row.addStretch(1)
        for button in (*before, close):
            row.addWidget(button)
        self.column.addLayout(row)
        return close

    def fit(self, width: int) -> None:
        """Become so wide, and as high as all that it says needs."""
        self.resize(width, self.column.totalHeightForWidth(width))


def shortcuts_dialog(actions: Sequence[QAction], parent: QWidget) -> Dialog:
    """All actions that have a shortcut."""
    dialog = Dialog("Keyboard shortcuts", parent)
    inside = QWidget()
    inside.setObjectName("plain")
    grid = QGridLayout(inside)
    grid.setHorizontalSpacing(4 * GRID)
    for row, action in enumerate(action for action in actions if not action.shortcut().isEmpty()):
        grid.addWidget(Label(action.text()), row, 0)
        grid.addWidget(Label(action.shortcut().toString(QKeySequence.SequenceFormat.NativeText), "mono"), row, 1)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setAccessibleName("shortcuts")
    area.setWidget(inside)
    dialog.column.addWidget(area)
    dialog.add_buttons()
    dialog.resize(460, 520)
    return dialog


def about_dialog(parent: QWidget) -> Dialog:
    """Version, licence, and what it runs on."""
    dialog = Dialog("GPU Studio", parent)
    dialog.column.addWidget(Label(f"Version {__version__}"))
    system = f"Python {platform.python_version()} · Qt {PySide6.__version__} · {platform.system()} {platform.machine()}"
    dialog.column.addWidget(Label(system, "muted"))
    dialog.column.addWidget(Label(tensorflow_in_use(), "muted"))
    dialog.column.addWidget(Paragraph(_LICENCE))
    dialog.add_buttons()
    dialog.fit(460)
    return dialog


class ErrorDialog(Dialog):
    """An error nobody foresaw: what happened, that runs go on, and, one click away, the traceback to copy."""

    def __init__(self, summary: str, traceback: str, log: str, parent: QWidget | None = None) -> None:
        super().__init__("Something went wrong in the window", parent)
        self._traceback = traceback
        self.column.addWidget(Paragraph(summary))
        self.column.addWidget(
            Paragraph(f"Runs go on, they do not need the window. The error is noted in {log}.", "muted")
        )
        self._text = QPlainTextEdit(traceback)
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setFrameShape(QFrame.Shape.NoFrame)
        self._text.setFont(font("mono_caption"))
        self._text.setAccessibleName("traceback")
        self._text.hide()
        self.column.addWidget(self._text, 1)
        details, copy = Button("Show traceback"), Button("Copy")
        details.clicked.connect(self._toggle)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(traceback))
        self.add_buttons(details, copy)
        self.fit(560)

    def _toggle(self) -> None:
        self._text.setVisible(self._text.isHidden())
        if self._text.isVisible():
            self.resize(760, 460)
        else:
            self.fit(560)
