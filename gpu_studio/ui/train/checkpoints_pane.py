"""The checkpoints tab: the checkpoints as rows of a table and, beside the tabs, the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QMenu, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import metric_label
from gpu_studio.contract import Checkpoint
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.ui.kit import GRID, HEADER, ROW, Button, PaintedLine, Table, ThemeManager
from gpu_studio.ui.train.live_run import FOLDER_GONE

_WIDTHS = {0: 156, 1: 72, 2: 80, 3: 78, 4: 72, 5: 80, 6: 96}
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
    "predict": (
        "Predict",
        "Predict samples",
        "What the model makes of some samples, held out where there are such",
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

    `wanted(name)` asks for one of the actions, such as `resume`; `cancelled` to cancel what
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
        self._live = self._gone = False
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

    def set_gone(self, gone: bool) -> None:
        """Set whether the run's folder is gone, and its checkpoints with it."""
        if gone != self._gone:
            self._gone = gone
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
        if self._gone:
            return FOLDER_GONE
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


Index = QModelIndex | QPersistentModelIndex
HEADERS = ("Checkpoint", "Epochs", "Step", "Value", "Best", "Size", "Written in", "Evaluated")
BEST, EVALUATED = HEADERS.index("Best"), HEADERS.index("Evaluated")
_ROOT = QModelIndex()


class CheckpointsModel(QAbstractTableModel):
    """The checkpoints that still exist, the newest first.

    Of those that were the best so far, the newest is the best. Beside each stands its evaluation,
    or the job under way.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Checkpoint] = []
        self._found: dict[str, Evaluation] = {}
        self._busy: dict[str, str] = {}

    @property
    def rows(self) -> Sequence[Checkpoint]:
        """The checkpoints, from the top."""
        return self._rows

    @property
    def best(self) -> int | None:
        """The row of the best checkpoint, else of the newest; None if there are none."""
        texts = (row for row, saved in enumerate(self._rows) if saved.best)
        return next(texts, 0 if self._rows else None)

    def set_evaluations(self, found: Mapping[str, Evaluation]) -> None:
        """Show the evaluations of these checkpoints, by name."""
        self._found = dict(found)
        self._tell(EVALUATED)

    def add_evaluation(self, found: Evaluation) -> None:
        """Show the evaluation of a checkpoint."""
        self.set_evaluations({**self._found, found.checkpoint: found})

    def set_busy(self, busy: Mapping[str, str]) -> None:
        """Show the job under way of these checkpoints, by name, instead of their evaluations."""
        if busy != self._busy:
            self._busy = dict(busy)
            self._tell(EVALUATED)

    def set_checkpoints(self, kept: Sequence[Checkpoint]) -> None:
        """Show these, given from the oldest to the newest."""
        wanted = list(reversed(kept))
        if wanted == self._rows:
            return
        self._remove_others({saved.name for saved in wanted})
        fresh = len(wanted) - len(self._rows)
        if fresh > 0 and wanted[fresh:] == self._rows:
            self.beginInsertRows(_ROOT, 0, fresh - 1)
            self._rows = wanted
            self.endInsertRows()
        elif wanted != self._rows:
            self.beginResetModel()
            self._rows = wanted
            self.endResetModel()
        self._tell(BEST)

    def _tell(self, column: int) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, column), self.index(len(self._rows) - 1, column))

    def _remove_others(self, names: set[str]) -> None:
        for row in reversed(range(len(self._rows))):
            if self._rows[row].name not in names:
                self.beginRemoveRows(_ROOT, row, row)
                del self._rows[row]
                self.endRemoveRows()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are checkpoints."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are headers."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the columns."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell."""
        if index.isValid() and role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.AccessibleTextRole,
        ):
            return self._text(self._rows[index.row()], index.column())
        if index.isValid() and role == Qt.ItemDataRole.ToolTipRole and index.column() == EVALUATED:
            found = self._found.get(self._rows[index.row()].name)
            return in_full(found) if found else None
        return None

    def _text(self, saved: Checkpoint, column: int) -> str:
        if column == BEST:
            return "★ best" if saved is self._best() else ""
        if column == EVALUATED:
            found = self._found.get(saved.name)
            return self._busy.get(saved.name) or (in_short(found) if found else "")
        return _texts(saved)[column]

    def _best(self) -> Checkpoint | None:
        return next((saved for saved in self._rows if saved.best), None)


def _texts(saved: Checkpoint) -> tuple[str, ...]:
    return (
        saved.name,
        figures.grouped(saved.epoch),
        figures.grouped(saved.step),
        "" if saved.value is None else figures.metric(saved.value),
        "",
        figures.size(saved.bytes),
        figures.span(saved.seconds),
    )


def in_short(found: Evaluation) -> str:
    """Return an evaluation with the loss last: `test accuracy 0.9620 · loss 0.1310`."""
    ordered = sorted(found.metrics, key=lambda name: name == "loss")
    texts = (
        f"{metric_label(name, found.metrics)} {figures.metric(found.metrics[name])}"
        for name in ordered
    )
    return f"{found.split} {' · '.join(texts)}"


def in_full(found: Evaluation) -> str:
    """Return an evaluation with all significant digits.

    It includes the number of samples, the device and the speed.
    """
    metrics = "\n".join(f"{name} {figures.metric(value)}" for name, value in found.metrics.items())
    samples = f"{figures.grouped(found.samples)} samples of the {found.split} split"
    return f"{metrics}\n{samples}, on {found.device} in {figures.span(found.seconds)}"
