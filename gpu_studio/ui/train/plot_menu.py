"""The menu of a plot, behind three dots in its header and on the right mouse button."""

from __future__ import annotations

from typing import Final

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.ui.kit.choosing.option import OptionButton
from gpu_studio.ui.kit.plots.canvas import LEFT, TOP
from gpu_studio.ui.kit.plots.marks import (
    MEANINGS,
    MarkKind,
    PlotSpan,
    SpanKind,
    paint_marks,
    paint_span,
)
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.train.plot_files import Kind, PlotFiles

_ROW = 28
_PICTURE = 34
_MARKS: Final[tuple[MarkKind, ...]] = (
    "epoch",
    "checkpoint",
    "best",
    "rate",
    "warning",
    "xid",
    "missing",
    "error",
)
_SPANS: Final[tuple[SpanKind, ...]] = ("paused", "throttled")


class MarkKey(QWidget):
    """A list that closes with the next click, or with Escape."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self.setFont(font("text"))
        self.setAccessibleName(
            "What the marks mean: " + ", ".join(MEANINGS[kind] for kind in (*_MARKS, *_SPANS))
        )
        self.resize(self.sizeHint())

    def show_at(self, where: QPoint) -> None:
        """Open it at this point of the screen."""
        self.move(where)
        self.show()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A row for each kind."""
        widest = max(self.fontMetrics().horizontalAdvance(words) for words in MEANINGS.values())
        return QSize(widest + _PICTURE + 5 * GRID, len(MEANINGS) * _ROW + 2 * GRID)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw each kind and its words."""
        del event
        tokens, painter = self._theme.tokens, QPainter(self)
        painter.fillRect(self.rect(), QColor(tokens.surface))
        painter.setPen(QColor(tokens.line))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        for number, kind in enumerate(_MARKS):
            area = self._picture(number)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            paint_marks(painter, tokens, area, kind, np.array([area.center().x()]))
            self._paint_words(painter, number, MEANINGS[kind])
        for number, span in enumerate(_SPANS, start=len(_MARKS)):
            area = self._picture(number)
            paint_span(
                painter, tokens, area, PlotSpan(span, 0.0, 0.0, ""), (area.left(), area.right())
            )
            self._paint_words(painter, number, MEANINGS[span])

    def _picture(self, number: int) -> QRectF:
        return QRectF(2 * GRID, GRID + number * _ROW + 5, _PICTURE - GRID, _ROW - 12)

    def _paint_words(self, painter: QPainter, number: int, words: str) -> None:
        painter.setPen(QColor(self._theme.tokens.text))
        area = QRect(2 * GRID + _PICTURE, GRID + number * _ROW, self.width(), _ROW)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)


DOTS = "•••"
_KINDS: tuple[Kind, ...] = ("png", "svg", "csv")


def add_menu(
    plot: TimePlot, name: str, files: PlotFiles, time: TimeView, theme: ThemeManager
) -> OptionButton:
    """Give the plot its menu and return the dots.

    `name` is the plot's name, whatever it shows.
    """
    menu = _menu(plot, files, time)
    dots = OptionButton(DOTS, theme, f"Copy or save the plot of the {name}")
    dots.setAccessibleName(dots.toolTip())
    dots.clicked.connect(lambda: menu.popup(dots.mapToGlobal(QPoint(0, dots.height() + 2))))
    menu.setParent(dots, menu.windowFlags())
    about = menu.addAction("What the marks mean")
    about.triggered.connect(
        lambda: MarkKey(theme, plot).show_at(plot.mapToGlobal(QPoint(LEFT, TOP)))
    )
    plot.options.addWidget(dots)
    plot.canvas.menu_asked.connect(menu.popup)
    return dots


def _menu(plot: TimePlot, files: PlotFiles, time: TimeView) -> QMenu:
    menu = QMenu("Plot")
    menu.addAction("Copy as picture").triggered.connect(lambda: files.copy_picture(plot))
    menu.addAction("Copy data").triggered.connect(lambda: files.copy_data(plot))
    menu.addSeparator()
    for kind in _KINDS:
        action = menu.addAction(f"Save as {kind.upper()}…")
        action.triggered.connect(lambda _=False, kind=kind: files.choose_and_save(plot, kind))
    menu.addSeparator()
    whole = menu.addAction("Show the whole run")
    whole.triggered.connect(time.show_all)
    menu.aboutToShow.connect(lambda: whole.setEnabled(not time.window.whole))
    return menu
