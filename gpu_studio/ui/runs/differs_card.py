"""The differences between the selected runs: their plans first, then their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    Qt,
)
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QGuiApplication,
    QPainter,
    QPalette,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gpu_studio.runs.results.comparison import Comparison, ComparisonRow
from gpu_studio.ui.kit import HEADER, Button, CardFrame, FontRole, Label, Table, ThemeManager, font
from gpu_studio.ui.kit.fields import Switch

Index = QModelIndex | QPersistentModelIndex
IS_FIELD_ROLE = Qt.ItemDataRole.UserRole + 1
IS_BEST_ROLE = Qt.ItemDataRole.UserRole + 2
COLOUR_ROLE = Qt.ItemDataRole.UserRole + 3
MARK = "★"
_ROOT = QModelIndex()
_TEXT = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole)


class ComparisonModel(QAbstractTableModel):
    """Rows of a comparison: a field or figure, and its value for each run.

    The best value has a mark.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names: tuple[str, ...] = ()
        self._colours: tuple[int, ...] = ()
        self._rows: tuple[tuple[ComparisonRow, bool], ...] = ()

    @property
    def rows(self) -> list[ComparisonRow]:
        """What is shown."""
        return [row for row, _ in self._rows]

    def show(
        self,
        names: Sequence[str],
        colours: Sequence[int],
        plans: Sequence[ComparisonRow],
        results: Sequence[ComparisonRow],
    ) -> None:
        """Show runs by name and colour number: their plans first, then what came of them."""
        rows = (*((row, True) for row in plans), *((row, False) for row in results))
        if (tuple(names), tuple(colours), rows) == (self._names, self._colours, self._rows):
            return
        self.beginResetModel()
        self._names, self._colours, self._rows = tuple(names), tuple(colours), rows
        self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are fields and figures."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """One for the names, and one for each run."""
        return 0 if parent.isValid() else 1 + len(self._names)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the runs."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == COLOUR_ROLE:
            return self._colours[section - 1] if section else None
        if role in _TEXT:
            return (
                self._names[section - 1]
                if section
                else "Plan"
                if self._rows and self._rows[0][1]
                else ""
            )
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell, and how it is to be drawn."""
        if not index.isValid():
            return None
        (row, is_field), place = self._rows[index.row()], index.column() - 1
        best = place >= 0 and row.best == place
        if role == IS_FIELD_ROLE:
            return is_field and place < 0
        if role == IS_BEST_ROLE:
            return best
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return (
                f"{row.texts[place]}, the best"
                if best
                else row.label
                if place < 0
                else row.texts[place]
            )
        if role == Qt.ItemDataRole.ToolTipRole and best:
            return f"{row.texts[place]}: the best of these runs"
        if role in _TEXT:
            text = row.label if place < 0 else row.texts[place]
            return f"{MARK} {text}" if best else _bare(text) if is_field else text
        return None

    def as_text(self) -> str:
        """Return all of it with tabs between the columns, for a spreadsheet."""
        lines = [["", *self._names], *([row.label, *row.texts] for row, _ in self._rows)]
        return "\n".join("\t".join(line) for line in lines)


def _bare(text: str) -> str:
    """Return a word of a plan without its quotes."""
    quoted = len(text) > len('""') and text[0] == text[-1] == '"'
    return text[1:-1] if quoted and "\\" not in text else text


_NAMES, _LEAST, _MOST = (150, 196), 116, 160
_SHARE_OF_NAMES, _ROOMY, _AROUND = 0.36, 150, 4
_PAIR, _LEAST_OF_PAIR = 2, 92
"""Of two runs both are in sight at once, also where that makes their columns narrow."""
_SAMPLE = 28
_LINE = 2.0
_SIDE = 12


class DiffersCard(CardFrame):
    """A table with a column for each run.

    The best value of a figure is bold and marked; fields of plans have none.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("What differs", parent)
        self._comparison: Comparison | None = None
        self._names: tuple[str, ...] = ()
        self._numbers: tuple[int, ...] = ()
        self.model = ComparisonModel(self)
        self.table = _Sheet(theme, self.model)
        self.only = Switch("only what differs", on="only differences", off="everything")
        self.only.setToolTip("Leave out the figures that all of these runs share")
        self.only.show_value(True)
        self.only.edited.connect(self._fill)
        self.copy = Button("Copy", "quiet", small=True)
        self.copy.setToolTip("Put the table on the clipboard, for a spreadsheet")
        self.copy.setAccessibleName("Copy what differs")
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.model.as_text()))
        self.words = Label(role="muted")
        self.header.addWidget(self.only)
        self.header.addWidget(self.copy)
        self.body.addWidget(self.words)
        self.body.addWidget(self.table, 1)

    def show_reading(self, words: str) -> None:
        """Say what is still being waited for; hide if nothing is."""
        self.words.setText(words)
        self.words.setVisible(bool(words))

    def show_comparison(
        self, names: Sequence[str], numbers: Sequence[int], comparison: Comparison | None
    ) -> None:
        """Show this comparison of runs of these names, whose colours have these numbers."""
        self._names, self._numbers, self._comparison = tuple(names), tuple(numbers), comparison
        self._fill()

    def _fill(self) -> None:
        if self._comparison is None:
            self.model.show((), (), (), ())
            return
        every = self._comparison.figures
        results = [row for row in every if row.differs] if self.only.isChecked() else every
        # Their names are in the column headers.
        plans = [row for row in self._comparison.plans if row.label != "name"]
        named = [replace(row, label=self._comparison.name_of(row)) for row in results]
        self.model.show(self._names, self._numbers, plans, named)
        self.table.place_columns()


class _Sheet(Table):
    """The table, with a piece of each run's line under its name."""

    def __init__(self, theme: ThemeManager, model: ComparisonModel) -> None:
        super().__init__(model, "what differs")
        header = _Header(theme, self)
        self.setHorizontalHeader(header)
        header.setFixedHeight(HEADER)
        header.setHighlightSections(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setItemDelegate(_Cell(theme, self))
        theme.changed.connect(self.viewport().update)

    def place_columns(self) -> None:
        """Divide the width among the runs; if there are many, the table scrolls."""
        runs = self.model().columnCount() - 1
        if runs < 1:
            return
        least, most = _NAMES
        width = self.viewport().width()
        usual = min(max(round(width * _SHARE_OF_NAMES), least), most)
        names = max(usual, min(self._wanted_by_names(), width - runs * _ROOMY))
        if runs > _PAIR:
            enough = self._least(runs)
            names = max(least, min(names, width - runs * enough))
        else:
            enough = _LEAST_OF_PAIR
        each = max((width - names) // runs, enough)
        self.setColumnWidth(0, names)
        for column in range(1, runs + 1):
            self.setColumnWidth(column, each)

    def _wanted_by_names(self) -> int:
        return self._wanted("mono", [0])

    def _least(self, runs: int) -> int:
        """How wide the columns of many runs are at the least: figures are read in full."""
        return min(max(_LEAST, self._wanted("strong", range(1, runs + 1))), _MOST)

    def _wanted(self, role: FontRole, columns: Iterable[int]) -> int:
        """How wide the longest text in these columns is, and what is around it."""
        metrics, model = QFontMetrics(font(role)), self.model()
        texts = (
            str(model.index(row, column).data())
            for column in columns
            for row in range(model.rowCount())
        )
        longest = max((metrics.horizontalAdvance(text) for text in texts), default=0)
        return 2 * _SIDE + _AROUND + longest

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the new width."""
        super().resizeEvent(event)
        self.place_columns()


class _Header(QHeaderView):
    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        theme.changed.connect(self.viewport().update)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:  # noqa: N802
        """Draw the name, and the run's colour and dash under it."""
        painter.save()
        super().paintSection(painter, rect, section)
        painter.restore()
        number = self.model().headerData(section, Qt.Orientation.Horizontal, COLOUR_ROLE)
        if number is None:
            return
        tokens = self._theme.tokens
        pen = QPen(QColor(tokens.device_colour(number)), _LINE)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dash := tokens.device_dash(number):
            pen.setDashPattern([part / _LINE for part in dash])
        painter.setPen(pen)
        y, left = rect.bottom() - 3, rect.left() + _SIDE
        painter.drawLine(left, y, left + _SAMPLE, y)


class _Cell(QStyledItemDelegate):
    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def initStyleOption(  # noqa: N802 - Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Fields as in a plan file, names of figures muted, the best in bold."""
        super().initStyleOption(option, index)
        if index.column() == 0:
            option.textElideMode = Qt.TextElideMode.ElideMiddle
        if index.data(IS_FIELD_ROLE):
            # The end of `training.batch_size` says more than its beginning.
            option.textElideMode = Qt.TextElideMode.ElideLeft
            option.font = font("mono")
        elif index.column() == 0:
            option.palette.setColor(QPalette.ColorRole.Text, QColor(self._theme.tokens.muted))
        elif index.data(IS_BEST_ROLE):
            option.font = font("strong")
