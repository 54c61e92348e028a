"""What differs between the runs that are selected: their plans first, then what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QPainter, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gpu_studio.runs.results.comparison import Comparison, Row, metric_names
from gpu_studio.ui.models.runs.comparison_model import COLOUR_ROLE, IS_BEST_ROLE, IS_FIELD_ROLE, ComparisonModel
from gpu_studio.ui.models.runs.run_summary import metric_words
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.fields.switch import Switch
from gpu_studio.ui.widgets.labels import Label
from gpu_studio.ui.widgets.tables.table import HEADER, Table

_NAMES, _LEAST = (150, 196), 116
_SHARE_OF_NAMES, _ROOMY, _AROUND = 0.36, 150, 4
_PAIR, _LEAST_OF_PAIR = 2, 92
"""Of two runs both are in sight at once, also where that makes their columns narrow."""
_SAMPLE = 28
_LINE = 2.0
_SIDE = 12


class DiffersCard(Card):
    """A table with a column for each run. The best of a figure is bold and has a mark; fields of plans have none."""

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
        """Say what is still being waited for; nothing takes no room."""
        self.words.setText(words)
        self.words.setVisible(bool(words))

    def show_comparison(self, names: Sequence[str], numbers: Sequence[int], comparison: Comparison | None) -> None:
        """Show this comparison of runs of these names, whose colours have these numbers."""
        self._names, self._numbers, self._comparison = tuple(names), tuple(numbers), comparison
        self._fill()

    def _fill(self) -> None:
        if self._comparison is None:
            self.model.show((), (), (), ())
            return
        every = self._comparison.figures
        results = [row for row in every if row.differs] if self.only.isChecked() else every
        # Their names stand over the columns.
        plans = [row for row in self._comparison.plans if row.label != "name"]
        self.model.show(self._names, self._numbers, plans, [_in_words(row, self._comparison) for row in results])
        self.table.place_columns()


def _in_words(row: Row, comparison: Comparison) -> Row:
    """The row of a metric by the name that it has on the screen."""
    names = metric_names(comparison.runs)
    return replace(row, label=metric_words(row.label, names)) if row.label in names else row


class _Sheet(Table):
    """The table, and under the name of each run a piece of its line."""

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
        """Share the width among the runs; where they are many the table scrolls."""
        runs = self.model().columnCount() - 1
        if runs < 1:
            return
        least, most = _NAMES
        width = self.viewport().width()
        usual = min(max(round(width * _SHARE_OF_NAMES), least), most)
        names = max(usual, min(self._wanted_by_names(), width - runs * _ROOMY))
        each = max((width - names) // runs, _LEAST if runs > _PAIR else _LEAST_OF_PAIR)
        self.setColumnWidth(0, names)
        for column in range(1, runs + 1):
            self.setColumnWidth(column, each)

    def _wanted_by_names(self) -> int:
        metrics, model = QFontMetrics(font("mono")), self.model()
        names = (str(model.index(row, 0).data()) for row in range(model.rowCount()))
        return 2 * _SIDE + _AROUND + max((metrics.horizontalAdvance(name) for name in names), default=0)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the new width."""
        super().resizeEvent(event)
        self.place_columns()


class _Header(QHeaderView):
    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        theme.changed.connect(self.viewport().update)

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:  # noqa: N802, N803 - Qt's names
        """Draw the name, and the run's colour and dash under it."""
        painter.save()
        super().paintSection(painter, rect, logicalIndex)
        painter.restore()
        number = self.model().headerData(logicalIndex, Qt.Orientation.Horizontal, COLOUR_ROLE)
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

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:  # noqa: N802 - Qt's name
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
