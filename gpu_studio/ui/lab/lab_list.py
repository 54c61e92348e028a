"""The list at the left of the Lab page: the entries of each section below its heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gpu_studio.ui.kit import GRID, LEFT, RIGHT, ThemeManager, font, mix
from gpu_studio.ui.lab.lab_section import LabEntry

Index = QModelIndex | QPersistentModelIndex
ROW_ROLE: Final = Qt.ItemDataRole.UserRole + 1
RUNNING: Final = "running"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the list: an `entry` of a section, or words: a heading, or that there is none."""

    section: str
    words: str = ""
    entry: LabEntry | None = None
    heads: bool = False

    @property
    def place(self) -> tuple[str, str] | None:
        """The section and the key of its entry; None if it is no entry."""
        return (self.section, self.entry.key) if self.entry is not None else None


class LinesModel(QAbstractListModel):
    """The lines, of which only the entries can be chosen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lines: tuple[Line, ...] = ()

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Have these lines; where they are the same entries, only their words change."""
        new, old = tuple(lines), self.lines
        if [(line.place, line.words) for line in new] != [(old.place, old.words) for old in old]:
            self.beginResetModel()
            self.lines = new
            self.endResetModel()
            return
        self.lines = new
        for row, (before, after) in enumerate(zip(old, new, strict=True)):
            if before != after:
                self.dataChanged.emit(self.index(row), self.index(row))

    def row_of(self, place: tuple[str, str] | None) -> int:
        """The row of an entry; -1 if it is not there."""
        return next(
            (row for row, line in enumerate(self.lines) if line.place and line.place == place), -1
        )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: N802, B008 - Qt's
        """As many as there are lines."""
        return 0 if parent.isValid() else len(self.lines)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """A heading can be neither chosen nor reached."""
        entry = self.lines[index.row()].entry if index.isValid() else None
        none = Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable if entry else none

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The words of a line, and itself."""
        if not index.isValid():
            return None
        line = self.lines[index.row()]
        if role == ROW_ROLE:
            return line
        if role == Qt.ItemDataRole.DisplayRole:
            return line.entry.title if line.entry else line.words
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            return said(line.entry) if line.entry else line.words
        return None


def said(entry: LabEntry) -> str:
    """An entry in one line, for those who hear it."""
    mark = RUNNING if entry.running and RUNNING not in entry.state else ""
    return ", ".join(filter(None, (entry.title, entry.figure, entry.state, mark)))


_PADDING, _LINE, _RADIUS, _EDGE, _DOT, _MOST_OF_LINE = 10, 18, 8.0, 3.0, 3.0, 0.6
_WORDS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom | Qt.TextFlag.TextWordWrap
_TITLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
_NONE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


class LineDelegate(QStyledItemDelegate):
    """Draws headings, and entries on two lines: the title and its figure, then the state."""

    def __init__(self, theme: ThemeManager, view: QListView) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """Words wrap, and so does a title that is too long to stand beside its figure."""
        line: Line = index.data(ROW_ROLE)
        width = self._view.viewport().width()
        if line.entry is not None:
            high = max(_title_size(line.entry, width)[1], _LINE)
            below = _LINE if line.entry.state or line.entry.running else 0
            return QSize(width, 2 * _PADDING - 4 + high + below)
        words = QFontMetrics(font("section" if line.heads else "caption"))
        area = words.boundingRect(0, 0, width - 2 * _PADDING, 400, int(_WORDS), line.words)
        above = 2 * GRID if line.heads and index.row() else GRID // 2
        return QSize(width, area.height() + above + GRID)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one line."""
        line: Line = index.data(ROW_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(option.rect)
        if line.entry is None:
            painter.setFont(font("section" if line.heads else "caption"))
            painter.setPen(QColor(self._theme.tokens.muted))
            words = area.adjusted(_PADDING, GRID // 2, -_PADDING, -GRID // 2)
            painter.drawText(words, int(_WORDS if line.heads else _NONE), line.words)
        else:
            self._paint_ground(painter, area.adjusted(0.5, 0.5, -0.5, -0.5), option.state)
            self._paint_entry(painter, area.adjusted(_PADDING, 8, -_PADDING, -8), line.entry)
        painter.restore()

    def _paint_ground(self, painter: QPainter, area: QRectF, state: QStyle.StateFlag) -> None:
        tokens = self._theme.tokens
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if not selected and not state & QStyle.StateFlag.State_MouseOver:
            return
        path = QPainterPath()
        path.addRoundedRect(area, _RADIUS, _RADIUS)
        ground = mix(tokens.accent, tokens.surface, 0.16) if selected else tokens.raised
        painter.fillPath(path, QColor(ground))
        if selected:
            painter.save()
            painter.setClipRect(QRectF(area.left(), area.top(), _EDGE, area.height()))
            painter.fillPath(path, QColor(tokens.accent))
            painter.restore()
            if state & QStyle.StateFlag.State_HasFocus:
                painter.setPen(QPen(QColor(tokens.accent), 1))
                painter.drawPath(path)

    def _paint_entry(self, painter: QPainter, area: QRectF, entry: LabEntry) -> None:
        tokens = self._theme.tokens
        width = _title_size(entry, round(area.width()) + 2 * _PADDING)[0]
        ink = {"muted": tokens.muted, "bad": tokens.bad}.get(entry.tone, tokens.text)
        upper = QRectF(area.left(), area.top(), area.width(), _LINE)
        below = _LINE if entry.state or entry.running else 0
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.accent if entry.running else ink))
        painter.drawText(upper, int(RIGHT), _figure(entry, area.width()))
        lower = QRectF(area.left(), area.bottom() - _LINE, area.width(), _LINE)
        painter.setPen(QColor(tokens.muted))
        if entry.running:
            self._paint_dot(painter, lower)
            lower = lower.adjusted(4 * _DOT, 0, 0, 0)
        right = Qt.TextElideMode.ElideRight
        state = painter.fontMetrics().elidedText(entry.state, right, int(lower.width()))
        painter.drawText(lower, int(LEFT), state)
        painter.setFont(font("strong"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(
            QRectF(area.left(), area.top(), width, area.height() - below), int(_TITLE), entry.title
        )

    def _paint_dot(self, painter: QPainter, line: QRectF) -> None:
        """Mark what is running; its state says so in words."""
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.accent))
        painter.drawEllipse(QPointF(line.left() + _DOT, line.center().y()), _DOT, _DOT)
        painter.restore()


def _title_size(entry: LabEntry, width: int) -> tuple[int, int]:
    """The width for the title beside the figure, and the height that it takes there."""
    inside = width - 2 * _PADDING
    figure = QFontMetrics(font("caption")).horizontalAdvance(_figure(entry, inside))
    beside = inside - (figure + GRID if figure else 0)
    area = QFontMetrics(font("strong")).boundingRect(0, 0, beside, 400, int(_TITLE), entry.title)
    return beside, area.height()


def _figure(entry: LabEntry, width: float) -> str:
    most = int(width * _MOST_OF_LINE)
    return QFontMetrics(font("caption")).elidedText(entry.figure, Qt.TextElideMode.ElideRight, most)


class LabList(QListView):
    """The list. `chosen(section, key)` fires when another entry is chosen."""

    chosen = Signal(str, str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines = LinesModel(self)
        self._place: tuple[str, str] | None = None
        self.setObjectName("plain")
        self.setModel(self._lines)
        self.setItemDelegate(LineDelegate(theme, self))
        self.setAccessibleName("Studies and benchmarks")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setWordWrap(True)  # else a change of the width alone leaves the rows as high as before
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.selectionModel().currentChanged.connect(self._follow)
        theme.changed.connect(self.viewport().update)

    @property
    def place(self) -> tuple[str, str] | None:
        """The section and the key of the chosen entry; None if none is."""
        return self._place

    @property
    def places(self) -> list[tuple[str, str]]:
        """The section and the key of every entry, from the top."""
        return [line.place for line in self._lines.lines if line.place is not None]

    def line_at(self, place: tuple[str, str]) -> LabEntry | None:
        """The entry as it is shown; None if it is not there."""
        row = self._lines.row_of(place)
        return self._lines.lines[row].entry if row >= 0 else None

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines. The chosen entry stays chosen; if it is gone, the one in its place."""
        before = self._lines.row_of(self._place)
        self._lines.set_lines(lines)
        if self._lines.row_of(self._place) < 0 and self._place is not None:
            self._choose_near(before)
        elif self._place is not None:
            self._show_current()

    def choose(self, section: str, key: str) -> None:
        """Choose this entry, if it is there."""
        row = self._lines.row_of((section, key))
        if row >= 0:
            self._set_current(row)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Lay the lines out anew: titles wrap, for which Qt looks only where they stand."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

    def _choose_near(self, row: int) -> None:
        """Choose the entry that has come to this row, or one beside it."""
        entries = [place for place, line in enumerate(self._lines.lines) if line.entry]
        self._place = None
        if entries:
            self._set_current(min(entries, key=lambda each: (abs(each - row), each)))

    def _show_current(self) -> None:
        row = self._lines.row_of(self._place)
        if row != self.currentIndex().row():
            self._set_current(row)

    def _set_current(self, row: int) -> None:
        only = QItemSelectionModel.SelectionFlag.ClearAndSelect
        self.selectionModel().setCurrentIndex(self._lines.index(row), only)

    def _follow(self, current: QModelIndex) -> None:
        line = self._lines.lines[current.row()] if current.isValid() else None
        if line is not None and line.place is not None and line.place != self._place:
            self._place = line.place
            self.chosen.emit(*line.place)
