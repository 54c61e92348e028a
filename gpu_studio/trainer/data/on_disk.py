"""Arrays in a file of this process, for data that take more memory than there is.

The file has no name, and is gone with the process, however that ends. Arrays are mapped from it:
what is read of them lies in the system's cache, which gives way to whoever needs memory.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from platformdirs import user_cache_path

from gpu_studio.common.figures import size
from gpu_studio.common.safe_files import unnamed_file
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError

_ALIGNED = 64


@dataclass(frozen=True, slots=True)
class RecordField:
    """What a record has of one array: type and shape of a row, and what makes a piece of rows."""

    kind: np.dtype[Any]
    piece: Callable[[int], Array]
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OnShelf:
    """An array that lies in such a file until it is asked for.

    It is not mapped: a map takes a descriptor and one of the kernel's places for maps, and there
    are too few of both for all pieces of a large table.
    """

    file: BinaryIO
    first: int
    dtype: np.dtype[Any]
    rows: int

    def __len__(self) -> int:
        return self.rows

    def read(self) -> Array:
        """Read it into memory. Raises DataError."""
        try:
            self.file.seek(self.first)
            found = self.file.read(self.rows * self.dtype.itemsize)
        except OSError as error:
            raise _unread(error.strerror or str(error)) from error
        return np.frombuffer(found, self.dtype, self.rows)


class Shelf:
    """An unnamed file on disk, to which arrays are appended."""

    def __init__(self) -> None:
        """Raises DataError if there can be no such file."""
        try:
            self._file = unnamed_file(shelf_folder())
        except OSError as error:
            raise _no_disk(error) from error
        self._end = 0

    @property
    def bytes(self) -> int:
        """How many bytes lie in it."""
        return self._end

    def put(self, array: Array) -> OnShelf:
        """Append the array's numbers, and return where they lie. Raises DataError."""
        return OnShelf(self._file, self._append(array.dtype, [array]), array.dtype, len(array))

    def put_all(self, dtype: np.dtype[Any], pieces: Iterable[Array], rows: int) -> Array:
        """Append `rows` rows that come in `pieces`, and return them as they lie in the file.

        Each is written before the next is made. Raises DataError.
        """
        first = self._append(dtype, pieces)
        try:
            return np.asarray(np.memmap(self._file, dtype, "r", first, (rows,)))
        except OSError as error:
            raise _unread(error.strerror or str(error)) from error

    def _append(self, dtype: np.dtype[Any], pieces: Iterable[Array]) -> int:
        """Write the pieces one after another, and return where they begin."""
        first = -(-self._end // _ALIGNED) * _ALIGNED
        try:
            self._file.seek(first)
            for piece in pieces:
                # By writing, and not through the map: a full disk would end the process there.
                self._file.write(piece.astype(dtype, copy=False).tobytes())
            self._file.flush()
        except OSError as error:
            raise _no_disk(error) from error
        self._end = self._file.tell()
        return first

    def records(self, fields: Mapping[str, RecordField], rows: Sequence[int]) -> dict[str, Array]:
        """Append one record for each row, so that all of a sample lies side by side.

        `rows` are the lengths of the pieces in which each field gives its numbers.
        """
        names = {name: f"f{place}" for place, name in enumerate(fields)}
        kind = np.dtype([(names[name], each.kind, each.shape) for name, each in fields.items()])

        def piece(number: int) -> Array:
            made = np.empty(rows[number], kind)
            for name, each in fields.items():
                made[names[name]] = each.piece(number)
            return made

        whole = self.put_all(kind, map(piece, range(len(rows))), sum(rows))
        return {name: whole[inner] for name, inner in names.items()}


def shelf_folder() -> Path:
    """The folder whose disk holds such files."""
    return user_cache_path("gpu-studio")


def check_disk(what: str, needed: int, free: int, advice: Sequence[str]) -> None:
    """Raises DataError if `what`, a plural, do not fit onto the disk either.

    `free` is the memory that was too little for them.
    """
    folder = shelf_folder()
    there = next(each for each in (folder, *folder.parents) if each.exists())
    left = shutil.disk_usage(there).free
    if needed > left:
        raise DataError(
            f"{what} take {size(needed)}: more than the {size(free)} of memory that are free, and "
            f"than the {size(left)} on the disk of {folder}, where they would lie instead.",
            [*advice, "Or make room on that disk; XDG_CACHE_HOME names another."],
        )


def _no_disk(error: OSError) -> DataError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    first = "Make room on its disk." if full else "Make it a folder of your own."
    return DataError(
        f"The numbers that do not fit into memory cannot be written to {shelf_folder()}: "
        f"{error.strerror or error}.",
        [first, "Or name another folder in XDG_CACHE_HOME."],
    )


def _unread(why: str) -> DataError:
    return DataError(
        f"The numbers that were written to {shelf_folder()} cannot be read again: {why}.",
        ["Look at the folder's disk.", "Or name another folder in XDG_CACHE_HOME."],
    )
