"""The traceback of what failed, to be read and copied, and the file that it came from."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.widgets.asking.dialogs import Dialog
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

TITLE = "How it came to this"
_WIDTH, _HEIGHT = 720, 460


class TraceDialog(Dialog):
    """`message` is the sentence that the traceback `details` explains; `file` can be opened in the person's editor."""

    def __init__(self, message: str, details: str, file: Path | None, parent: QWidget) -> None:
        super().__init__(TITLE, parent)
        self.setAccessibleName(TITLE)
        self._message, self._file = message, file
        self.details = QPlainTextEdit(details.rstrip())
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
        # What explains a failure is at its end.
        self.details.verticalScrollBar().setValue(self.details.verticalScrollBar().maximum())
        self.details.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self._message}\n\n{self.details.toPlainText()}")
        self._say("Copied.")

    def _open(self) -> None:
        if self._file is not None and not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._file))):
            self._say(f"Nothing here opens it. It is {self._file}")

    def _say(self, text: str) -> None:
        self.remark.setText(text)
        self.remark.show()
