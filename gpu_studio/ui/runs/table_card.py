"""The table's card: the filter above the table, or a message if nothing matches.

The filter is a text field, chips, tags, and the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QActionGroup, QKeyEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.figures import grouped
from gpu_studio.ui.kit import GRID, Button, CardFrame, Label, OptionButton, ThemeManager, font
from gpu_studio.ui.runs.run_rows import CHIPS, HELP, Chip, Order, RunFilter, parse
from gpu_studio.ui.runs.run_table import RunTable

_MIDDLE = Qt.AlignmentFlag.AlignHCenter


class TableCard(CardFrame):
    """The filter above the table.

    The table keeps its place, and its selection, while nothing is found.
    """

    def __init__(self, bar: FilterBar, table: RunTable, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setAccessibleName("runs")
        self.body.setContentsMargins(6, 6, 6, 6)
        self.body.setSpacing(2)
        self.clear = Button("Clear the filter")
        self.clear.clicked.connect(bar.clear)
        self._bar, self._table = bar, table
        self._nothing = self._make_nothing()
        self._stack = QStackedWidget()
        self._stack.addWidget(table)
        self._stack.addWidget(self._nothing)
        self.body.addWidget(bar)
        self.body.addWidget(self._stack, 1)

    def show_found(self, found: bool) -> None:
        """Show the table, or that no run matches."""
        self._stack.setCurrentWidget(self._table if found else self._nothing)

    def height_within(self, most: int) -> int:
        """Return the height of the filter and all rows of the table, or that no run matches.

        If all rows exceed `most` pixels, it has as many whole rows as fit.
        """
        margins = self.body.contentsMargins()
        around = (
            margins.top()
            + margins.bottom()
            + self.body.spacing()
            + 2
            + self._bar.sizeHint().height()
        )
        if self._stack.currentWidget() is self._nothing:
            return around + self._nothing.sizeHint().height()
        whole = self._table.sizeHint().height()
        row = self._table.verticalHeader().defaultSectionSize()
        over = max(-(-(around + whole - most) // row), 0)
        return around + whole - over * row

    def _make_nothing(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setSpacing(GRID + 4)
        column.addStretch(1)
        column.addWidget(Label("No run is as you ask for", "title"), alignment=_MIDDLE)
        column.addWidget(Label("Ask for less, or for something else.", "muted"), alignment=_MIDDLE)
        column.addWidget(self.clear, alignment=_MIDDLE)
        column.addStretch(1)
        return made


_PAUSE_MS = 120
_SEARCH_WIDTH = 220
_FEW_TAGS = 3


class FilterBar(QWidget):
    """Shows and edits a `RunFilter`.

    `changed` fires a moment after the last letter, and at once for a chip.

    `left` is Escape in a field that is empty, or Return: the focus shall go to the table.
    `order_chosen` has an Order.
    """

    changed = Signal()
    left = Signal()
    order_chosen = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chip: Chip = "all"
        self._tags: frozenset[str] = frozenset()
        self._known: tuple[str, ...] = ()
        self.search = _search_field()
        self.search.installEventFilter(self)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self.changed)
        self.search.textChanged.connect(self._pause.start)
        self._group = QButtonGroup(self)
        self.chips = {chip: self._make_chip(chip, words) for chip, words in CHIPS.items()}
        self.tags = OptionButton("tags", theme, "Show only runs with these tags")
        self._tag_menu = QMenu("Tags", self)
        self.tags.set_menu(self._tag_menu)
        self.count = Label(role="muted")
        self.order = OptionButton(
            "newest", theme, "In which order the runs stand; live ones are on top always"
        )
        self.order.set_menu(self._order_menu())
        self._lay_out()
        self.set_tags(())

    @property
    def filter(self) -> RunFilter:
        """The present filter."""
        return RunFilter(parse(self.search.text()), self._chip, self._tags)

    def clear(self) -> None:
        """Clear the filter."""
        self.search.clear()
        self._pause.stop()
        self._chip, self._tags = "all", frozenset()
        self.chips["all"].setChecked(True)
        self._fill_tags()
        self.changed.emit()

    def set_count(self, shown: int, total: int) -> None:
        """Show the numbers of shown runs and of all runs."""
        self.count.setText(f"{grouped(shown)} of {grouped(total)}" if self.filter else "")

    def set_tags(self, known: Sequence[str]) -> None:
        """Offer these tags. A tag in the filter is offered even if no run has it, to be removed."""
        if tuple(known) != self._known or not known:
            self._known = tuple(known)
            self._fill_tags()

    def show_order(self, order: Order) -> None:
        """Show the present order."""
        self.order.set_text(_ORDERS.get(str(order), f"by {order.column}"))
        for action in self._orders.actions():
            action.setChecked(action.data() == str(order))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Escape clears the filter, then leaves; Return and Down move to the table."""
        if (
            watched is self.search
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            if event.key() == Qt.Key.Key_Escape and self.filter:
                self.clear()
                return True
            if event.key() in _LEAVING:
                self._pause.stop()
                self.changed.emit()
                self.left.emit()
                return True
        return super().eventFilter(watched, event)

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, 2, GRID, 2)
        row.setSpacing(GRID // 2)
        row.addWidget(self.search)
        row.addSpacing(GRID)
        for chip in self.chips.values():
            row.addWidget(chip)
        row.addWidget(self.tags)
        row.addStretch(1)
        row.addWidget(self.count)
        row.addSpacing(GRID)
        row.addWidget(self.order)

    def _make_chip(self, chip: Chip, words: str) -> OptionButton:
        made = OptionButton.switch(words, self._theme, _TIPS[chip], on=chip == "all")
        made.clicked.connect(partial(self._choose, chip))
        self._group.addButton(made)
        return made

    def _choose(self, chip: Chip, _checked: bool = True) -> None:
        self._chip = chip
        self.changed.emit()

    def _fill_tags(self) -> None:
        offered = [*self._known, *sorted(self._tags - set(self._known))]
        self._tag_menu.clear()
        for tag in offered:
            action = self._tag_menu.addAction(tag.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(tag in self._tags)
            action.toggled.connect(partial(self._ask_for, tag))
        chosen = sorted(self._tags)
        self.tags.set_text(f"tag {', '.join(chosen[:_FEW_TAGS])}" if chosen else "tags")
        self.tags.setVisible(bool(offered))

    def _ask_for(self, tag: str, wanted: bool) -> None:
        self._tags = self._tags | {tag} if wanted else self._tags - {tag}
        # The menu is refilled only after it has closed: the signal comes from its own entry.
        QTimer.singleShot(0, self, self._fill_tags)
        self.changed.emit()

    def _order_menu(self) -> QMenu:
        menu = QMenu("Order", self)
        self._orders = QActionGroup(menu)
        for text, words in _ORDERS.items():
            action = menu.addAction(words)
            action.setCheckable(True)
            action.setData(text)
            action.triggered.connect(partial(self._choose_order, text))
            self._orders.addAction(action)
        return menu

    def _choose_order(self, text: str, _checked: bool = True) -> None:
        self.order_chosen.emit(Order.read(text))


_LEAVING = (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down)
_TIPS: dict[Chip, str] = {
    "all": "Show every run",
    "live": "Show runs whose trainer is at work",
    "finished": "Show runs that came to their end",
    "stopped": "Show runs that were stopped before their end",
    "failed": "Show runs that failed or were lost",
}
_ORDERS = {
    "started:down": "newest",
    "started:up": "oldest",
    "run:up": "by name",
    "state:up": "by state",
    "best:down": "best",
    "duration:down": "longest",
    "memory:down": "most memory",
    "energy:down": "most energy",
}


def _search_field() -> QLineEdit:
    field = QLineEdit()
    field.setPlaceholderText("Find runs…")
    field.setAccessibleName("find runs")
    field.setToolTip(f"{HELP} (Ctrl+F)")
    field.setFont(font("text"))
    field.setFixedWidth(_SEARCH_WIDTH)
    return field
