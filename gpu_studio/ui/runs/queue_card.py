"""The queue, at the top of the Runs page as long as an entry waits in it."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QEvent, QObject, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.ui.kit import HEADER, ROW, ActionButton, ActionSet, Button, CardFrame, Label, Table
from gpu_studio.ui.kit.settings import QUEUE_FOLDED, Settings
from gpu_studio.ui.runs.queue_model import QueueModel

MOST_ROWS, FEWEST_ROWS = 4, 2
LOW = 700
"""Under so many pixels of the page the runs need the space more than the queue."""
_WIDTHS = {0: 200, 1: 200}
_HOW, _HOW_WHOLE = "started in the background", "They start with or without this window"
_BUTTONS = (
    ("queue_up", "Up"),
    ("queue_down", "Down"),
    ("queue_hold", "Hold"),
    ("queue_pass", "Let others pass"),
    ("queue_start", "Start now"),
    ("queue_remove", "Remove"),
)


class ShownQueue(Protocol):
    """The queue as the card shows it. `changed` fires after each reading."""

    model: QueueModel
    selected: str
    forsaken: bool

    @property
    def changed(self) -> SignalInstance:
        """Report a change of the queue."""

    def watch(self) -> None:
        """Read the queue now, and repeatedly while it is visible."""

    def rest(self) -> None:
        """Stop reading."""

    def select(self, name: str) -> None:
        """Apply the actions to this entry."""


class QueueTable(Table):
    """The rows, which can be dragged. `removed` reports Delete."""

    removed = Signal()

    def __init__(self, model: QueueModel, parent: QWidget | None = None) -> None:
        super().__init__(model, "plans that wait", parent)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDragDropOverwriteMode(False)
        self.setDropIndicatorShown(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.set_widths(_WIDTHS, stretch=2)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete takes the row out."""
        if event.key() == Qt.Key.Key_Delete:
            self.removed.emit()
        else:
            super().keyPressEvent(event)


class QueueCard(CardFrame):
    """Shows the queue while its `page` is visible; hidden while the queue is empty.

    It can be folded to its head, which is remembered: the runs then have the space.
    """

    def __init__(
        self, control: ShownQueue, actions: ActionSet, settings: Settings, page: QWidget
    ) -> None:
        super().__init__("Queue", page)
        self._control, self._page, self._settings = control, page, settings
        self.table = QueueTable(control.model)
        self.count = Label(role="caption")
        self.count.setToolTip(_HOW_WHOLE)
        self.buttons = {
            name: ActionButton(actions[name], text=text, small=True) for name, text in _BUTTONS
        }
        self.header.addWidget(self.count)
        self.go_on = ActionButton(actions["queue_go_on"], "primary", text="Go on", small=True)
        self.fold = Button("", "quiet", small=True)
        self.fold.clicked.connect(lambda: self._set_folded(not self._folded))
        self.header.addWidget(self.go_on)
        for button in self.buttons.values():
            self.header.addWidget(button)
        self.header.addWidget(self.fold)
        self.body.addWidget(self.table)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.table.addActions([actions[name] for name, _ in _BUTTONS])
        self.table.removed.connect(actions["queue_remove"].trigger)
        self.table.selectionModel().selectionChanged.connect(self._select)
        control.changed.connect(self._show)
        page.installEventFilter(self)
        self._show()
        if page.isVisible():
            control.watch()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Follow the queue only while the page is seen."""
        if event.type() == QEvent.Type.Show:
            self._control.watch()
        elif event.type() == QEvent.Type.Hide:
            self._control.rest()
        elif event.type() == QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    @property
    def _folded(self) -> bool:
        return self._settings.get(QUEUE_FOLDED) == "yes"

    def _set_folded(self, folded: bool) -> None:
        self._settings.set(QUEUE_FOLDED, "yes" if folded else "no")
        self._show()

    def _show(self) -> None:
        rows = self._control.model.rows
        self.setVisible(bool(rows))
        how = "nobody works the queue" if self._control.forsaken else _HOW
        self.count.setText(f"{plural(len(rows), 'plan')} · {how}")
        self.go_on.setVisible(self._control.forsaken)
        self._name_fold()
        self._fit()
        place = self._control.model.place_of(self._control.selected)
        if place is not None:
            self.table.choose_row(place)
        entry = next((each.entry for each in rows if each.entry.id == self._control.selected), None)
        self._name("queue_hold", "Release" if entry and entry.held else "Hold")
        self._name("queue_pass", "Keep devices" if entry and entry.lets_pass else "Let others pass")

    def _name_fold(self) -> None:
        folded = self._folded
        self.table.setHidden(folded)
        for button in self.buttons.values():
            button.setHidden(folded)
        self.fold.setText("Show" if folded else "Fold")
        self.fold.setAccessibleName("Show the queue" if folded else "Fold the queue")
        self.fold.setToolTip(
            "Show what waits"
            if folded
            else "Show only how many wait, and leave the space to the runs"
        )

    def _name(self, button: str, text: str) -> None:
        self.buttons[button].setText(text)
        self.buttons[button].setAccessibleName(text)

    def _fit(self) -> None:
        most = FEWEST_ROWS if self._page.height() < LOW else MOST_ROWS
        rows = len(self._control.model.rows)
        # A row that is scrolled out of view must not show its edge either.
        self.table.setFixedHeight(HEADER + min(rows, most) * ROW + (2 if rows <= most else 0))

    def _select(self) -> None:
        rows = self.table.selectionModel().selectedRows()
        if rows:
            self._control.select(self._control.model.rows[rows[0].row()].entry.id)
