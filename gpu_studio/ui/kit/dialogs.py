"""The window's dialogs.

They show about, an unexpected error, a failure's traceback, and questions.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import PySide6
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from gpu_studio import __version__
from gpu_studio.ui.kit.basic_widgets import Button, Label, Paragraph
from gpu_studio.ui.kit.status_line import tensorflow_in_use
from gpu_studio.ui.kit.theme import GRID, font

_LICENCE = (
    "Free software under the Apache License 2.0. It brings the typefaces Inter and JetBrains Mono, "
    "under the SIL Open Font License 1.1, and the UCI optical digits, under CC BY 4.0."
)


class Dialog(QDialog):
    """A non-modal window beside the main window. Escape closes it."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(3 * GRID, 3 * GRID, 3 * GRID, 2 * GRID)
        self.column.setSpacing(GRID + 4)
        self.column.addWidget(Label(title, "heading"))

    def add_buttons(self, *before: Button, last: str = "Close") -> Button:
        """Add these buttons and one that closes the dialog, which is returned."""
        close = Button(last)
        close.clicked.connect(self.close)
        row = QHBoxLayout()
        row.addStretch(1)
        for button in (*before, close):
            row.addWidget(button)
        self.column.addLayout(row)
        return close

    def fit(self, width: int) -> None:
        """Set the width, and the height that the contents need."""
        self.resize(width, self.column.totalHeightForWidth(width))


def about_dialog(parent: QWidget) -> Dialog:
    """Version, licence, and what it runs on."""
    dialog = Dialog("GPU Studio", parent)
    dialog.column.addWidget(Label(f"Version {__version__}"))
    system = (
        f"Python {platform.python_version()} · Qt {PySide6.__version__} · {platform.system()} "
        f"{platform.machine()}"
    )
    dialog.column.addWidget(Label(system, "muted"))
    dialog.column.addWidget(Label(tensorflow_in_use(), "muted"))
    dialog.column.addWidget(Paragraph(_LICENCE))
    dialog.add_buttons()
    dialog.fit(460)
    return dialog


class ErrorDialog(Dialog):
    """An unexpected error: what happened, and that runs continue.

    One click away is the traceback to copy.
    """

    def __init__(
        self, summary: str, traceback: str, log: str, parent: QWidget | None = None
    ) -> None:
        super().__init__("Something went wrong in the window", parent)
        self._traceback = traceback
        self.column.addWidget(Paragraph(summary))
        self.column.addWidget(
            Paragraph(
                f"Runs go on, they do not need the window. The error is noted in {log}.", "muted"
            )
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


WIDTH = 440


class Question(Dialog):
    """Asks once.

    Each answer is a button; Return gives the first, and Escape gives none.
    """

    def __init__(
        self, title: str, text: str, answers: Mapping[str, Callable[[], object]], parent: QWidget
    ) -> None:
        super().__init__(title, parent)
        self.setModal(True)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.column.addWidget(Paragraph(text))
        self.buttons = {
            name: Button(name, "plain" if place else "primary")
            for place, name in enumerate(answers)
        }
        self.buttons["Cancel"] = Button("Cancel")
        row = QHBoxLayout()
        row.addStretch(1)
        for name, button in self.buttons.items():
            button.clicked.connect(partial(self._answer, answers.get(name)))
            row.addWidget(button)
        self.column.addLayout(row)
        first = next(iter(self.buttons.values()))
        first.setDefault(True)
        first.setFocus()
        self.setFixedWidth(WIDTH)

    def _answer(self, action: Callable[[], object] | None, _checked: bool = False) -> None:
        self.close()
        if action is not None:
            action()


TITLE = "How it came to this"
_WIDTH, _HEIGHT = 720, 460
_OF_TERMINALS = re.compile(r"\x1b\[[0-9;]*m")
"""What makes words bold or red in a terminal, as in the errors of Keras' layers."""


class TraceDialog(Dialog):
    """`message` is the sentence that the traceback `details` explains.

    `file` can be opened in the user's editor.
    """

    def __init__(
        self,
        message: str,
        details: str,
        file: Path | None,
        parent: QWidget,
        title: str = TITLE,
    ) -> None:
        super().__init__(title, parent)
        self.setAccessibleName(title)
        self._message, self._file = message, file
        self.details = QPlainTextEdit(_OF_TERMINALS.sub("", details).rstrip())
        self.details.setReadOnly(True)
        self.details.setTabChangesFocus(True)
        self.details.setFont(font("mono"))
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setAccessibleName("traceback")
        self.remark = Paragraph("", "caption")
        self.remark.hide()
        self.copy, self.open_file = Button("Copy"), Button(f"Open {file.name}" if file else "")
        self.copy.setToolTip("Copy the message and the traceback")
        self.copy.clicked.connect(self._copy)
        self.open_file.setToolTip(f"Open {file} as the desktop opens such files" if file else "")
        self.open_file.clicked.connect(self._open)
        self.column.addWidget(Paragraph(message))
        self.column.addWidget(self.details, 1)
        self.column.addWidget(self.remark)
        self.close_button = self.add_buttons(self.copy, *([self.open_file] if file else []))
        self.resize(_WIDTH, _HEIGHT)
        # The end of a traceback explains the failure.
        self.details.verticalScrollBar().setValue(self.details.verticalScrollBar().maximum())
        self.details.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self._message}\n\n{self.details.toPlainText()}")
        self._say("Copied.")

    def _open(self) -> None:
        if self._file is not None and not QDesktopServices.openUrl(
            QUrl.fromLocalFile(str(self._file))
        ):
            self._say(f"Nothing here opens it. It is {self._file}")

    def _say(self, text: str) -> None:
        self.remark.setText(text)
        self.remark.show()
