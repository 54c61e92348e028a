"""The rows of a table changed into others by the fewest words to Qt, so that selection and place survive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex


class Identified(Protocol):
    """A row that can be told from the others."""

    @property
    def id(self) -> str:
        """What stays the same when the rest of the row changes."""


T = TypeVar("T", bound=Identified)
Block = tuple[int, int]
_ROOT = QModelIndex()


def change_rows(model: QAbstractTableModel, rows: list[T], wanted: Sequence[T]) -> None:
    """Make `rows`, which `model` shows, be `wanted`, in time that grows with their number; ids are unique."""
    _remove(model, rows, {row.id for row in wanted})
    places = {row.id: place for place, row in enumerate(wanted)}
    _sort(model, rows, places)
    _insert(model, rows, wanted)
    _replace(model, rows, wanted)


def _remove(model: QAbstractTableModel, rows: list[T], kept: set[str]) -> None:
    for first, last in reversed(blocks(at for at, row in enumerate(rows) if row.id not in kept)):
        model.beginRemoveRows(_ROOT, first, last)
        del rows[first : last + 1]
        model.endRemoveRows()


def _sort(model: QAbstractTableModel, rows: list[T], places: dict[str, int]) -> None:
    order = sorted(range(len(rows)), key=lambda at: places[rows[at].id])
    if order == list(range(len(rows))):
        return
    model.layoutAboutToBeChanged.emit()
    new_place = {before: now for now, before in enumerate(order)}
    rows[:] = [rows[at] for at in order]
    kept = model.persistentIndexList()
    model.changePersistentIndexList(kept, [model.index(new_place[index.row()], index.column()) for index in kept])
    model.layoutChanged.emit()


def _insert(model: QAbstractTableModel, rows: list[T], wanted: Sequence[T]) -> None:
    here = {row.id for row in rows}
    for first, last in blocks(at for at, row in enumerate(wanted) if row.id not in here):
        model.beginInsertRows(_ROOT, first, last)
        rows[first:first] = wanted[first : last + 1]
        model.endInsertRows()


def _replace(model: QAbstractTableModel, rows: list[T], wanted: Sequence[T]) -> None:
    last_column = model.columnCount() - 1
    changed = [at for at, row in enumerate(wanted) if row is not rows[at] and row != rows[at]]
    for first, last in blocks(changed):
        rows[first : last + 1] = wanted[first : last + 1]
        model.dataChanged.emit(model.index(first, 0), model.index(last, last_column))


def blocks(numbers: Iterable[int]) -> list[Block]:
    """The first and the last of each unbroken stretch of rising numbers."""
    found = []
    for _, stretch in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in stretch]
        found.append((members[0], members[-1]))
    return found
