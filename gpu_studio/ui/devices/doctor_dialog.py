"""The doctor's findings: each with its icon, and below it the remedy to type."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QProgressBar, QScrollArea, QWidget

from gpu_studio.hardware.doctor.findings import Finding, gathered
from gpu_studio.ui.kit import GRID, Button, Dialog, Label, Paragraph, ThemeManager
from gpu_studio.ui.machine.checkup import Checkup

_TONES = {"good": "good", "warning": "warning", "bad": "bad"}


class DoctorDialog(Dialog):
    """Examines the machine when it opens, unless that was done.

    Can be cancelled, and done again.
    """

    def __init__(
        self, theme: ThemeManager, checkup: Checkup, parent: QWidget | None = None
    ) -> None:
        super().__init__("Doctor", parent)
        self._theme, self._checkup = theme, checkup
        self.words = Paragraph("", "muted")
        self._progress = QProgressBar()
        self._progress.setRange(0, 0)
        self._progress.setTextVisible(False)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setAccessibleName("Findings of the doctor")
        self.again = Button("Look again")
        self.cancel = Button("Cancel")
        self.copy = Button("Copy as text")
        self.again.clicked.connect(checkup.examine)
        self.cancel.clicked.connect(checkup.cancel)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text))
        for widget in (self.words, self._progress):
            self.column.addWidget(widget)
        self.column.addWidget(self._area, 1)
        self.add_buttons(self.copy, self.cancel, self.again)
        self.resize(720, 520)
        checkup.changed.connect(self._follow)
        if not checkup.examined:
            checkup.examine()
        self._follow()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is shown."""
        return tuple(gathered(self._checkup.diagnosis.findings)) if self._checkup.diagnosis else ()

    @property
    def text(self) -> str:
        """All that is shown, to be pasted into a message."""
        lines = (
            "\n    ".join((f"{each.mark} {each.title}: {each.shown}", *each.mend))
            for each in self.findings
        )
        return "\n".join(lines)

    def _follow(self) -> None:
        checkup = self._checkup
        self._progress.setVisible(checkup.looking)
        self.cancel.setEnabled(checkup.looking)
        self.again.setEnabled(not checkup.looking)
        self.copy.setEnabled(bool(self.findings))
        self.words.setText(checkup.waiting_for or checkup.error or self._summary())
        self._area.setWidget(self._list())

    def _summary(self) -> str:
        diagnosis = self._checkup.diagnosis
        if diagnosis is None:
            return "The examination was cancelled."
        left_out = (
            "" if self._checkup.examined else " TensorFlow was not asked: Look again asks it too."
        )
        if diagnosis.problems:
            many = diagnosis.problems > 1
            return f"{diagnosis.problems} thing{'s' if many else ''} must be mended (✘).{left_out}"
        return f"Nothing must be mended.{left_out}"

    def _list(self) -> QWidget:
        inside = QWidget()
        inside.setObjectName("plain")
        grid = QGridLayout(inside)
        grid.setContentsMargins(0, 0, GRID, 0)
        grid.setHorizontalSpacing(GRID + 4)
        grid.setVerticalSpacing(GRID)
        grid.setColumnStretch(1, 1)
        row = 0
        for finding in self.findings:
            mark = Label(finding.mark, "strong")
            mark.setAccessibleName(finding.state)
            mark.setStyleSheet(f"color: {getattr(self._theme.tokens, _TONES[finding.state])}")
            grid.addWidget(mark, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(Paragraph(finding.title, "strong"), row, 1)
            grid.addWidget(Paragraph(finding.shown), row + 1, 1)
            row += 2
            if finding.mend:
                grid.addWidget(Paragraph("\n".join(finding.mend), "mono"), row, 1)
                row += 1
        grid.setRowStretch(row, 1)
        return inside
