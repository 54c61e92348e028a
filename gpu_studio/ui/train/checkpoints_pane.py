"""The checkpoints tab: the table and, beside the tabs, the actions on the selected checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QMenu, QWidget

from gpu_studio.contract.events import Checkpoint
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.painting import PaintedLine
from gpu_studio.ui.kit.tables.table import HEADER, ROW, Table
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.train.checkpoints_model import EVALUATED, CheckpointsModel

_WIDTHS = {0: 132, 1: 72, 2: 80, 3: 78, 4: 72, 5: 80, 6: 96}
_ROWS = 4
_TABS = 60
"""The tabs, and the card's margins."""
NONE_SELECTED = "Select a checkpoint"
ONE_ONLY = "Select one checkpoint"
LIVE = "The run is still training: stop it before you resume from one of its checkpoints"
_ACTIONS = {
    "resume": ("Resume", "Resume from this", "Go on from this checkpoint, as a new run"),
    "evaluate": (
        "Evaluate",
        "Evaluate",
        "Loss and metrics on the test split, else on the validation split (Return)",
    ),
    "save": (
        "Save…",
        "Save as .keras…",
        "Write the model with these weights to a file that Keras loads",
    ),
    "reveal": ("Folder", "Reveal folder", "Open the checkpoint's folder in the file manager"),
}
"""By name: what stands on the button, what in the menu, and the tip."""


class CheckpointsPane(Table):
    """The table, in which Return evaluates the selection; `tools` are placed elsewhere.

    `wanted(name)` asks for `resume`, `evaluate`, `save` or `reveal`; `cancelled` to cancel what
    `show_work` shows. `allowed` fires when the set of possible actions changes, as `why_not` says.
    """

    wanted = Signal(str)
    cancelled = Signal()
    allowed = Signal()

    def __init__(
        self, theme: ThemeManager, model: CheckpointsModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(model, "Checkpoints", parent)
        self._checkpoints = model
        self._live = False
        self.set_widths(_WIDTHS, stretch=EVALUATED)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.menu = QMenu("Checkpoint", self)
        self.menu.setToolTipsVisible(True)
        self.buttons = {name: Button(words[0], small=True) for name, words in _ACTIONS.items()}
        self.menu_actions = {
            name: self.menu.addAction(words[1]) for name, words in _ACTIONS.items()
        }
        self.work, self.cancel = (
            PaintedLine(theme, "caption", side=Qt.AlignmentFlag.AlignRight),
            Button("Cancel"),
        )
        self.tools = self._make_tools()
        self._connect()
        self._allow()

    @property
    def selected(self) -> Sequence[Checkpoint]:
        """The selected checkpoints, from the top."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self._checkpoints.rows[row] for row in rows]

    @property
    def wanted_height(self) -> int:
        """The height at which the card shows the newest checkpoints below its tabs."""
        return HEADER + ROW * min(self._checkpoints.rowCount(), _ROWS) + _TABS

    def set_live(self, live: bool) -> None:
        """Set whether the run still trains: only a run that has ended can be resumed."""
        if live != self._live:
            self._live = live
            self._allow()

    def show_work(self, text: str) -> None:
        """Show what is under way, with a button that cancels it; an empty text means nothing."""
        self.work.set_text(text)
        if not text:
            self.cancel.clearFocus()
        self.cancel.setVisible(bool(text))

    def why_not(self, name: str) -> str:
        """Return why this action is impossible now; empty if it is possible."""
        count = len(self.selectionModel().selectedRows())
        if not count:
            return NONE_SELECTED
        if name == "resume" and self._live:
            return LIVE
        return ONE_ONLY if count > 1 and name != "evaluate" else ""

    def want(self, name: str) -> None:
        """Request this action if it is possible now."""
        if not self.why_not(name):
            self.wanted.emit(name)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Return evaluates."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.want("evaluate")
        else:
            super().keyPressEvent(event)

    def _connect(self) -> None:
        for name in _ACTIONS:
            self.buttons[name].clicked.connect(lambda _checked=False, name=name: self.want(name))
            self.menu_actions[name].triggered.connect(
                lambda _checked=False, name=name: self.want(name)
            )
        self.cancel.clicked.connect(self.cancelled)
        self.selectionModel().selectionChanged.connect(self._allow)
        for changed in (self._checkpoints.rowsRemoved, self._checkpoints.modelReset):
            changed.connect(self._allow)
        self.customContextMenuRequested.connect(self._open_menu)

    def _open_menu(self, place: QPoint) -> None:
        if self.selectionModel().hasSelection():
            self.menu.popup(self.viewport().mapToGlobal(place))

    def _allow(self) -> None:
        for name, (_text, _menu, tip) in _ACTIONS.items():
            why_not = self.why_not(name)
            for one in (self.buttons[name], self.menu_actions[name]):
                one.setEnabled(not why_not)
                one.setToolTip(why_not or tip)
        self.allowed.emit()

    def _make_tools(self) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        self.cancel.setProperty("small", True)
        self.cancel.setAccessibleName("Cancel what is being done with checkpoints")
        self.cancel.hide()
        row.addWidget(self.work, 1)
        row.addWidget(self.cancel)
        for name, button in self.buttons.items():
            button.setAccessibleName(_ACTIONS[name][1].rstrip("…"))
            row.addWidget(button)
        return holder
