"""The header of a plot: its menu, a warning, and which curves the user has hidden.

The menu is behind three dots, and on the right mouse button. The warning is a pill with a few
words.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from gpu_studio.ui.kit import GRID, OptionButton, ThemeManager, font, mix, readable
from gpu_studio.ui.kit.plots.backdrop import (
    MEANINGS,
    MarkKind,
    PlotSpan,
    SpanKind,
    paint_marks,
    paint_span,
)
from gpu_studio.ui.kit.plots.canvas import LEFT, TOP
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.settings import Setting, Settings
from gpu_studio.ui.train.plot_files import Kind, PlotFiles

_MARK_ROW = 28
_MARK_WIDTH = 34
_MARKS: Final[tuple[MarkKind, ...]] = (
    "epoch",
    "phase",
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
        return QSize(widest + _MARK_WIDTH + 5 * GRID, len(MEANINGS) * _MARK_ROW + 2 * GRID)

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
        return QRectF(2 * GRID, GRID + number * _MARK_ROW + 5, _MARK_WIDTH - GRID, _MARK_ROW - 12)

    def _paint_words(self, painter: QPainter, number: int, words: str) -> None:
        painter.setPen(QColor(self._theme.tokens.text))
        area = QRect(2 * GRID + _MARK_WIDTH, GRID + number * _MARK_ROW, self.width(), _MARK_ROW)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)


DOTS = "•••"
_FILE_KINDS: tuple[Kind, ...] = ("png", "svg", "csv")


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
    for kind in _FILE_KINDS:
        action = menu.addAction(f"Save as {kind.upper()}…")
        action.triggered.connect(lambda _=False, kind=kind: files.choose_and_save(plot, kind))
    menu.addSeparator()
    whole = menu.addAction("Show the whole run")
    whole.triggered.connect(time.show_all)
    menu.aboutToShow.connect(lambda: whole.setEnabled(not time.window.whole))
    return menu


_TAG_HEIGHT = 20
_TAG_SIDE = 10
_LEAST_TAG = 100
_TAG_GROUND = 0.2


class Tag(QWidget):
    """Words in the warning colour.

    Without words it is hidden; if they do not fit, they are elided.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        caption = font("caption")
        caption.setWeight(caption.Weight.Medium)
        self.setFont(caption)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self._text

    def set_text(self, text: str) -> None:
        """Say this; nothing hides it."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.setToolTip(text)
            self.setVisible(bool(text))
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """All the words, and the space beside them."""
        # Rounded up: a text that lacks a fraction of a pixel is elided.
        words = math.ceil(QFontMetricsF(self.font()).horizontalAdvance(self._text)) + 1
        return QSize(words + 2 * _TAG_SIDE, max(_TAG_HEIGHT, self.fontMetrics().height() + 4))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The first words."""
        return QSize(min(_LEAST_TAG, self.sizeHint().width()), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill and the words."""
        del event
        tokens, painter = self._theme.tokens, QPainter(self)
        ground = mix(tokens.warning, tokens.surface, _TAG_GROUND)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        painter.setPen(QColor(readable(tokens.warning, ground, tokens.text)))
        words = self.rect().adjusted(_TAG_SIDE, 0, -_TAG_SIDE, 0)
        shown = self.fontMetrics().elidedText(
            self._text, Qt.TextElideMode.ElideRight, words.width()
        )
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


def remember_hidden(
    plot: TimePlot, setting: Setting[tuple[str, ...]], settings: Settings | None
) -> None:
    """Let the curves of `plot` be hidden by their names, as they were when it was last seen."""
    plot.make_switchable(settings.get(setting) if settings is not None else ())
    if settings is not None:
        kept = settings
        plot.legend.hidden_changed.connect(
            lambda: kept.set(setting, tuple(sorted(plot.legend.hidden)))
        )
