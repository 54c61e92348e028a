"""The checkpoints of a run as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpu_studio.common import figures
from gpu_studio.contract.events import Checkpoint
from gpu_studio.runs.results.evaluations import Evaluation
from gpu_studio.ui.kit.metric_names import metric_label

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
