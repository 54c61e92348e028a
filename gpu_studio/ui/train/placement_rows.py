"""Table rows of a run's placement.

They show where each layer was placed and where it ran, and what was sent between devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import Qt

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract import Crossing
from gpu_studio.runs.reading.placements import (
    NONE,
    LayerRow,
    PassRow,
    asked_in_words,
    edge_in_words,
    misplaced_in_words,
)
from gpu_studio.ui.kit import Index, PlainTable

SPOTS_ROLE: Final = Qt.ItemDataRole.UserRole + 2
"""What a cell of devices shows: a tuple of spots."""
SIGN_ROLE: Final = Qt.ItemDataRole.UserRole + 3
"""The verdict of a layer's row."""
LAYER, ASKED, _FIRST_PASS = range(3)
EDGE, BETWEEN, PASS, TENSORS, BYTES = range(5)
NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Spot:
    """A device in a cell with a note beside its name; `place` is the number of its colour."""

    device: str
    place: int | None
    words: str = ""
    wrong: bool = False


class _SpotTable(PlainTable[Any]):
    """Rows with cells of devices, whose colours follow from `places`."""

    def __init__(self) -> None:
        super().__init__()
        self.places: Mapping[str, int] = {}

    def spots(self, row: Any, column: int) -> tuple[Spot, ...]:
        """The devices in a cell."""
        raise NotImplementedError

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """As any table, and the devices of a cell."""
        if index.isValid() and role == SPOTS_ROLE:
            return self.spots(self.rows[index.row()], index.column())
        return super().data(index, role)


class PlacementModel(_SpotTable):
    """A row per layer: the requested device, and where each pass ran, with operation counts."""

    headers = ("Layer", "Asked", "Forward", "Backward", "Update")

    def key(self, row: LayerRow) -> str:
        """The layer's name."""
        return row.layer

    def text(self, row: LayerRow, column: int) -> str:
        """The words of a cell."""
        if column == LAYER:
            return row.layer
        if column == ASKED:
            left_out = ", left out by the plan" if row.by_plan is False else ""
            return f"{asked_in_words(row)}{left_out}"
        return _ran(row.passes[column - _FIRST_PASS])

    def spots(self, row: LayerRow, column: int) -> tuple[Spot, ...]:
        """The devices that were requested, or on which a pass ran."""
        if column == LAYER:
            return ()
        if column == ASKED:
            return tuple(self._spot(device, *self._beside(row, device)) for device in _homes(row))
        done = row.passes[column - _FIRST_PASS]
        strayed = {each.device for each in done.wrong}
        return tuple(
            self._spot(device, grouped(count), device in strayed) for device, count in done.ran
        )

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """As any table; the verdict of the row, and in a tooltip what is wrong."""
        if not index.isValid():
            return None
        row: LayerRow = self.rows[index.row()]
        if role == SIGN_ROLE:
            return row.verdict
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(row, index.column()) or self.text(row, index.column())
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == LAYER:
            return f"{row.layer}, {row.verdict}"
        return super().data(index, role)

    def _spot(self, device: str, words: str, wrong: bool = False) -> Spot:
        return Spot(device, self.places.get(device), words, wrong)

    @staticmethod
    def _beside(row: LayerRow, device: str) -> tuple[str]:
        if row.by_plan is False:
            return ("left out",)
        return ("join",) if device == row.joined_on else ("",)


class CrossingsModel(_SpotTable):
    """A row for each edge between devices in a step, the largest first."""

    headers = ("Crosses", "From → to", "Pass", "Tensors", "A step")
    right = frozenset({TENSORS, BYTES})

    def key(self, row: Crossing) -> tuple[str, ...]:
        """The layers, the pass and the devices."""
        return row.source, row.target, row.way, row.from_device, row.to_device

    def text(self, row: Crossing, column: int) -> str:
        """The words of a cell."""
        if column == BYTES:
            return NOT_KNOWN if row.bytes is None else figures.size(row.bytes)
        devices = f"{row.from_device} → {row.to_device}"
        return (edge_in_words(row), devices, row.way, grouped(row.tensors))[column]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """As any table; in a tooltip all of a row."""
        if index.isValid() and role == Qt.ItemDataRole.ToolTipRole:
            row = self.rows[index.row()]
            edge, devices, way, _, amount = (
                self.text(row, column) for column in range(len(self.headers))
            )
            return f"{edge}, {way}: {plural(row.tensors, 'tensor')} {devices}, {amount} a step"
        return super().data(index, role)

    def spots(self, row: Crossing, column: int) -> tuple[Spot, ...]:
        """The device it leaves, and the one it reaches."""
        if column != BETWEEN:
            return ()
        return tuple(
            Spot(device, self.places.get(device)) for device in (row.from_device, row.to_device)
        )


def _homes(row: LayerRow) -> tuple[str, ...]:
    joined = (row.joined_on,) if row.joined_on else ()
    return tuple(dict.fromkeys((*row.asked, *joined)))


def _ran(done: PassRow) -> str:
    strayed = {each.device for each in done.wrong}
    words = (
        f"{'⚠ ' if device in strayed else ''}{device} {grouped(count)}"
        for device, count in done.ran
    )
    return ", ".join(words) or NONE


def _tip(row: LayerRow, column: int) -> str:
    wrong = row.wrong if column <= ASKED else row.passes[column - _FIRST_PASS].wrong
    return "\n".join(misplaced_in_words(each) for each in wrong)
