"""The legend of the devices' plots: where there is no room for the names, each card's number stays in sight."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from gpu_studio.ui.widgets.plots.legend import Entry, Legend

_SAMPLES = (22, 22, 16, 11, 8)
_BETWEEN = (16, 12, 9, 6, 4)
_GAPS = (5, 5, 5, 4, 3)
_LINE = 2.0


class DeviceLegend(Legend):
    """Every entry in as few words as it takes: with its value, then its name, then its number, then closer."""

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line; a little width is enough, because the words give way."""
        return QSize(min(super().sizeHint().width(), 400), super().sizeHint().height())

    def shown(self) -> list[str]:
        """The words that stand beside the pieces of line at this width."""
        return [self._words(entry, self._form()) for entry in self.entries]

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw all entries, from the left."""
        del event
        painter, form, left = QPainter(self), self._form(), 0
        for entry in self.entries:
            self._draw(painter, entry, left, form)
            left += self._taken(entry, form)

    @property
    def fits(self) -> bool:
        """Whether every entry is in sight."""
        return sum(self._taken(each, self._form()) for each in self.entries) <= self.width() + _BETWEEN[0]

    def _form(self) -> int:
        """The first form in which all have room; the last in any case."""
        room = self.width() + _BETWEEN[0]
        fits = (form for form in range(len(_SAMPLES)) if sum(self._taken(each, form) for each in self.entries) <= room)
        return next(fits, len(_SAMPLES) - 1)

    def _words(self, entry: Entry, form: int) -> str:
        return (entry.text, entry.name, *[entry.name.removeprefix("GPU ")] * 3)[form]

    def _taken(self, entry: Entry, form: int) -> int:
        words = self.fontMetrics().horizontalAdvance(self._words(entry, form))
        return _SAMPLES[form] + _GAPS[form] + words + _BETWEEN[form]

    def _draw(self, painter: QPainter, entry: Entry, left: int, form: int) -> None:
        tokens, middle, sample = self._theme.tokens, self.height() / 2, _SAMPLES[form]
        pen = QPen(QColor(entry.style.colour(tokens)), _LINE)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if entry.style.dash:
            pen.setDashPattern([part / _LINE for part in entry.style.dash])
        painter.setPen(pen)
        painter.drawLine(QLineF(left, middle, left + sample, middle))
        painter.setPen(QColor(tokens.muted))
        words = self.rect().adjusted(left + sample + _GAPS[form], 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._words(entry, form))
