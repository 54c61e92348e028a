"""The table of all runs: its columns and their widths, its order, its keys, its cells.

The cells are the state's icon, the name with its tags, the best metric, and the loss as a
curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from gpu_studio.common.figures import metric_label, plural
from gpu_studio.runs.reading.workers import HERE
from gpu_studio.ui.kit import (
    ICONS,
    LEFT,
    RIGHT,
    Index,
    PaintedCell,
    Table,
    ThemeManager,
    coloured_icon,
    font,
    mix,
    readable,
    state_colour,
)
from gpu_studio.ui.runs.run_rows import SORT_KEYS, Order, RunRow
from gpu_studio.ui.runs.runs_model import (
    BEST,
    COLOUR_ROLE,
    COLUMNS,
    DURATION,
    ENERGY,
    LOSS,
    MARK,
    MEMORY,
    ROW_ROLE,
    RUN,
    STARTED,
    STATE,
    RunsModel,
)

_WIDE = {
    MARK: 40,
    RUN: 224,
    STARTED: 118,
    DURATION: 126,
    BEST: 112,
    MEMORY: 106,
    ENERGY: 92,
    LOSS: 140,
}
_NARROW = {
    MARK: 36,
    RUN: 200,
    STARTED: 112,
    DURATION: 126,
    BEST: 110,
    MEMORY: 108,
    ENERGY: 90,
    LOSS: 96,
}
_ENOUGH = 1040
_ROOMY_RUNS = ((1400, 360), (1200, 260))
"""From so many pixels on the names of runs have so many, before the state gets all that is left."""
_ROW = 28
_GREATEST_FIRST = frozenset(("started", "duration", "best", "memory", "energy"))
_WHOLE_ROWS = QItemSelectionModel.SelectionFlag.Rows


class RunTable(Table):
    """Several runs can be selected.

    Return and a double click open the current one, Delete deletes the selected ones.
    """

    opened = Signal()
    deleted = Signal()
    rename_pressed = Signal()
    tag_pressed = Signal()
    note_pressed = Signal()
    copied = Signal()
    order_changed = Signal(object)

    def __init__(
        self, theme: ThemeManager, model: RunsModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(model, "all runs", parent)
        self._runs = model
        self._chosen: dict[int, int] = {}
        self._placing = False
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.set_row_height(_ROW)
        cells = {
            MARK: MarkCell,
            RUN: RunNameCell,
            STATE: StateCell,
            BEST: BestCell,
            LOSS: CurveCell,
        }
        for column, cell in cells.items():
            self.setItemDelegateForColumn(column, cell(theme, self))
        self._prepare_header()
        self.doubleClicked.connect(self.opened)
        theme.changed.connect(self.viewport().update)

    @property
    def chosen(self) -> list[RunRow]:
        """The selected runs, in the table's order."""
        # By ranges: asking for each of a thousand rows takes longer than a frame.
        stretches = self.selectionModel().selection().toList()
        rows = {row for stretch in stretches for row in range(stretch.top(), stretch.bottom() + 1)}
        return [self._runs.rows[row] for row in sorted(rows)]

    @property
    def widths(self) -> dict[str, int]:
        """The user's widths of columns, by the columns' names."""
        return {COLUMNS[column]: width for column, width in self._chosen.items()}

    def set_chosen_widths(self, widths: Mapping[str, int]) -> None:
        """Restore the user's widths of columns."""
        self._chosen = {
            COLUMNS.index(name): width for name, width in widths.items() if name in COLUMNS
        }
        self._place_columns()

    def choose(self, runs: Sequence[str]) -> None:
        """Select the shown runs with these ids, and go to the first of them."""
        rows = [row for run in runs if (row := self._runs.row_of(run)) is not None]
        if not rows:
            return
        selection = QItemSelection()
        for row in rows:
            selection.select(self._runs.index(row, MARK), self._runs.index(row, LOSS))
        self.selectionModel().setCurrentIndex(self._runs.index(rows[0], RUN), _NOTHING)
        self.selectionModel().select(
            selection, QItemSelectionModel.SelectionFlag.ClearAndSelect | _WHOLE_ROWS
        )

    def begin_at(self, run: str) -> None:
        """Go to the run with this id without selecting it."""
        if (row := self._runs.row_of(run)) is not None:
            self.selectionModel().setCurrentIndex(self._runs.index(row, RUN), _NOTHING)

    def set_order(self, order: Order) -> None:
        """Show the runs in this order, and say so in the header."""
        self._runs.set_order(order)
        sense = Qt.SortOrder.DescendingOrder if order.descending else Qt.SortOrder.AscendingOrder
        self.horizontalHeader().setSortIndicator(COLUMNS.index(order.column), sense)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """The keys of a list of files."""
        reported = _KEYS.get(
            (Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier)
        )
        if reported is None:
            super().keyPressEvent(event)
            return
        if not self.selectionModel().hasSelection() and self.currentIndex().isValid():
            # The underlined row is the one that counts.
            self.choose_row(self.currentIndex().row())
        getattr(self, reported).emit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Narrow columns in a narrow window, but for those that a person made as wide as they are.

        One gives way.
        """
        super().resizeEvent(event)
        self._place_columns()
        if (
            event.size().height() < event.oldSize().height()
            and self.selectionModel().hasSelection()
        ):
            # The selected row may now be below the edge.
            self.scrollTo(self.currentIndex())

    def _prepare_header(self) -> None:
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setMinimumSectionSize(_NARROW[MARK])
        header.setSectionResizeMode(STATE, QHeaderView.ResizeMode.Stretch)
        header.setStretchLastSection(False)
        header.sectionClicked.connect(self._sort_by)
        header.sectionResized.connect(self._keep_width)
        self.set_order(self._runs.order)

    def _sort_by(self, column: int) -> None:
        """Sort by this column; the second time, in the other direction."""
        name, now = COLUMNS[column], self._runs.order
        name = "state" if column == MARK else name
        if name not in SORT_KEYS:
            self.set_order(now)
            return
        down = not now.descending if now.column == name else name in _GREATEST_FIRST
        self.set_order(Order(name, down))
        self.order_changed.emit(self._runs.order)

    def _keep_width(self, column: int, _before: int, width: int) -> None:
        if not self._placing and column != STATE:
            self._chosen[column] = width

    def _place_columns(self) -> None:
        self._placing = True
        wide = self.width() >= _ENOUGH
        usual = _WIDE if wide else _NARROW
        roomy = next((width for least, width in _ROOMY_RUNS if self.width() >= least), usual[RUN])
        self.setColumnHidden(STARTED, not wide)
        for column, width in {**usual, RUN: roomy, **self._chosen}.items():
            if self.columnWidth(column) != width:
                self.setColumnWidth(column, width)
        self._placing = False


_NOTHING = QItemSelectionModel.SelectionFlag.NoUpdate
_PLAIN, _CTRL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
_KEYS = {
    (Qt.Key.Key_Return, _PLAIN): "opened",
    (Qt.Key.Key_Enter, _PLAIN): "opened",
    (Qt.Key.Key_Delete, _PLAIN): "deleted",
    (Qt.Key.Key_F2, _PLAIN): "rename_pressed",
    (Qt.Key.Key_T, _PLAIN): "tag_pressed",
    (Qt.Key.Key_N, _PLAIN): "note_pressed",
    (Qt.Key.Key_C, _CTRL): "copied",
}


_ICON = 14
_TAG_SIDE, _TAG_GAP = 6, 6
_LEAST_NAME = 60.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter


class MarkCell(PaintedCell):
    """The icon of the state."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the sign at the left."""
        del text
        row: RunRow = index.data(ROW_ROLE)
        icon = coloured_icon(ICONS[row.state], state_colour(row.state, self._theme.tokens))
        icon.paint(
            painter,
            QRectF(area.left() - 1, area.center().y() - _ICON / 2, _ICON, _ICON).toAlignedRect(),
        )


class RunNameCell(PaintedCell):
    """The run's number and name, then its tags as pills: those that fit, and how many more."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the name, which is elided last."""
        del text
        row: RunRow = index.data(ROW_ROLE)
        marks = [
            *(["practice"] if row.summary.practice else []),
            *([_elsewhere(row)] if row.summary.where not in ("", HERE) else []),
            *row.labels.tags,
            *(["note"] if row.labels.note else []),
        ]
        area = self._draw_number(painter, area, row.summary.number)
        painter.setFont(font("strong"))
        wanted = painter.fontMetrics().horizontalAdvance(row.name) + 2.0
        name = min(wanted, max(area.width() - _least_width(marks), _LEAST_NAME))
        painter.setPen(QColor(self._theme.tokens.text))
        shown = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, int(name))
        painter.drawText(area, LEFT, shown)
        left = area.adjusted(name + _TAG_GAP, 0, 0, 0)
        self._draw_tags(painter, left, tags_within(marks, left.width()))

    def _draw_number(self, painter: QPainter, area: QRectF, number: int | None) -> QRectF:
        """Draw the number, if there is one; return the remaining space."""
        if number is None:
            return area
        painter.setFont(font("text"))
        painter.setPen(QColor(self._theme.tokens.muted))
        painter.drawText(area, LEFT, f"#{number}")
        return area.adjusted(painter.fontMetrics().horizontalAdvance(f"#{number} ") + 2.0, 0, 0, 0)

    def _draw_tags(self, painter: QPainter, area: QRectF, tags: Sequence[str]) -> None:
        tokens, left = self._theme.tokens, area.left()
        painter.setFont(font("caption"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = painter.fontMetrics().height() + 2.0
        for tag in tags:
            pill = QRectF(left, area.center().y() - height / 2, _tag_width(tag), height)
            painter.setPen(QColor(tokens.line))
            painter.setBrush(QColor(tokens.raised))
            painter.drawRoundedRect(pill, 5, 5)
            painter.setPen(QColor(readable(tokens.muted, tokens.raised, tokens.text)))
            painter.drawText(pill, _MIDDLE, tag)
            left = pill.right() + _TAG_GAP


def _elsewhere(row: RunRow) -> str:
    """Where a run trained, if not here, in a word or two: its row has all names in its tooltip."""
    hosts = row.summary.hosts
    return hosts[0] if len(hosts) == 1 else plural(len(hosts), "host")


class StateCell(PaintedCell):
    """The state in a word, and the reason.

    It has the state's colour if the run did not finish.
    """

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the words."""
        row: RunRow = index.data(ROW_ROLE)
        tokens = self._theme.tokens
        reported = row.state in ("stopped", "failed", "lost")
        colour = state_colour(row.state, tokens) if reported else tokens.muted
        painter.setFont(font("text"))
        painter.setPen(
            QColor(readable(colour, mix(tokens.accent, tokens.surface, 0.16), tokens.text))
        )
        painter.drawText(
            area, LEFT, painter.fontMetrics().elidedText(text, _ELIDE, int(area.width()))
        )


class BestCell(PaintedCell):
    """The best value, and its metric if the column's header does not name it for all."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the value at the right and its metric before it."""
        row: RunRow = index.data(ROW_ROLE)
        painter.setFont(font("text"))
        painter.setPen(QColor(self._theme.tokens.text))
        painter.drawText(area, RIGHT, text)
        model = index.model()
        if row.summary.best is not None and isinstance(model, RunsModel) and not model.metric:
            before = area.adjusted(0, 0, -painter.fontMetrics().horizontalAdvance(text) - 6, 0)
            painter.setFont(font("caption"))
            painter.setPen(QColor(self._theme.tokens.muted))
            name = metric_label(row.summary.best.metric)
            painter.drawText(
                before, RIGHT, painter.fontMetrics().elidedText(name, _ELIDE, int(before.width()))
            )


class CurveCell(PaintedCell):
    """The run's loss of each epoch as a line, scaled to its range.

    It is in the run's colour if it has one.
    """

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw the line."""
        del text
        row: RunRow = index.data(ROW_ROLE)
        number: int | None = index.data(COLOUR_ROLE)
        tokens = self._theme.tokens
        line = curve_in(row.summary.losses, area.adjusted(0, 7, 0, -6))
        pen = QPen(QColor(tokens.muted if number is None else tokens.device_colour(number)), 1.4)
        if number is not None and tokens.device_dash(number):
            pen.setDashPattern([part / 1.4 for part in tokens.device_dash(number)])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen)
        painter.drawPolyline(line)


_ELIDE = Qt.TextElideMode.ElideRight


def tags_within(tags: Sequence[str], width: float) -> list[str]:
    """Return the tags that fit in `width` pixels, and the number of the others: `+2`."""
    for shown in range(len(tags), 0, -1):
        more = [f"+{len(tags) - shown}"] if shown < len(tags) else []
        if sum(_tag_width(tag) + _TAG_GAP for tag in (*tags[:shown], *more)) - _TAG_GAP <= width:
            return [*tags[:shown], *more]
    return []


def _least_width(tags: Sequence[str]) -> float:
    """Return the width of the first tag and of the number of the others.

    A long name is elided for it.
    """
    more = [f"+{len(tags) - 1}"] if len(tags) > 1 else []
    return sum(_tag_width(tag) + _TAG_GAP for tag in (*tags[:1], *more))


def _tag_width(tag: str) -> float:
    return QFontMetricsF(font("caption")).horizontalAdvance(tag) + 2 * _TAG_SIDE


def curve_in(values: Sequence[float], area: QRectF) -> QPolygonF:
    """Return the points of the curve in `area`, at most two per pixel.

    A single value gives a level line.
    """
    step = max(1, len(values) // max(1, int(2 * area.width())))
    known = [value for value in values[::step] if math.isfinite(value)]
    if not known:
        return QPolygonF()
    if len(known) == 1:
        known = known * 2
    least, span = min(known), (max(known) - min(known)) or 1.0
    across, left, bottom, height = (
        area.width() / (len(known) - 1),
        area.left(),
        area.bottom(),
        area.height(),
    )
    return QPolygonF(
        [
            QPointF(left + at * across, bottom - (value - least) / span * height)
            for at, value in enumerate(known)
        ]
    )
