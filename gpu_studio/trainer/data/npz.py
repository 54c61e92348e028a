"""Read data from the user's `.npz` file.

Arrays are mapped from the file where that is possible, read otherwise, and never unpickled.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from gpu_studio.contract.user_files import hint
from gpu_studio.plan.archives import brief, npy_header
from gpu_studio.trainer.data.arrays import NAMES, nested, no_groups, source_of, wanted_names
from gpu_studio.trainer.data.free_memory import check_memory, free_bytes
from gpu_studio.trainer.data.values import Array, LoadedData
from gpu_studio.trainer.errors import DataError

_SMALLER = (
    (
        "Save it with numpy.savez instead of numpy.savez_compressed: arrays that "
        "are not compressed stay in the file."
    ),
    "Save images as bytes (uint8), or give fewer samples.",
    "If it should not be so large, the file is damaged.",
)
_HOW = "Write it with numpy.savez_compressed(path, x_train=…, y_train=…, x_test=…, y_test=…)."


def read_npz(path: Path, groups: str | None = None) -> LoadedData:
    """Return the samples in `path`, the splits that it brings, and the groups if named.

    The file holds `x_train` and `y_train`, or `x` and `y`; optionally `x_val` and `y_val`, `x_test`
    and `y_test`. Of several inputs or targets, each is an array of its own: `x/left`, `x/right`,
    `y/0`. `sample_weight` (`sample_weight_val`, …) says how much each sample counts. Raises
    DataError for a file that is missing, truncated, pickled or no `.npz`, and for arrays that do
    not match.
    """
    found = read_arrays(path, partial(_wanted, groups=groups))
    made = source_of(path.name, nested(found.arrays), groups)
    return made.with_all(file=found.file)


@dataclass(frozen=True, slots=True)
class NpzArrays:
    """The arrays of a file by name, and the file itself if some of them are mapped from it."""

    arrays: dict[str, Array]
    file: MappedFile | None


def read_arrays(path: Path, wanted: Callable[[Path, Sequence[str]], Sequence[str]]) -> NpzArrays:
    """Read the arrays that `wanted(path, names)` chooses, in that order, without unpickling.

    Large uncompressed arrays stay in the file. Raises DataError, also if the arrays to be read do
    not fit into the free memory; that is checked before any of them is read.
    """
    if not path.is_file():
        advice = ["Put it back there, or change data.file in the plan; it is relative to the plan."]
        raise DataError(f"There is no data file {path}{hint(path) or '.'}", advice)
    if not zipfile.is_zipfile(path):
        raise _no_npz(path)
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            return _arrays(
                path, opened, {name: member_of(archive, name) for name in wanted(path, names)}
            )
    except DataError:
        raise
    except NoArrayError as error:
        raise DataError(f"{path.name}: {brief(str(error))} is no array.", [_HOW]) from error
    except MemoryError as error:
        raise _too_large(path, error) from error
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds for a damaged file
        raise _unreadable(path, error) from error


def _arrays(path: Path, opened: IO[bytes], members: Mapping[str, Member]) -> NpzArrays:
    """Map the arrays that can be mapped, and read the others if there is memory for them."""
    read = sum(member.size for member in members.values() if not member.mapped)
    check_memory(f"The arrays in {path.name}", read, free_bytes(), _SMALLER)
    file = MappedFile(path, opened) if any(member.mapped for member in members.values()) else None
    return NpzArrays({name: _array(each, file, opened) for name, each in members.items()}, file)


def _array(member: Member, file: MappedFile | None, opened: IO[bytes]) -> Array:
    return member.map(file, opened) if file is not None and member.mapped else member.read()


def _wanted(path: Path, found: Sequence[str], groups: str | None) -> Sequence[str]:
    names = wanted_names({name.split("/")[0] for name in found}, groups)
    if names is None:
        raise DataError(
            f"{path.name} holds {_in_short(found) or 'nothing'}, but needs {NAMES}.", [_HOW]
        )
    if groups is not None and groups not in found:
        raise no_groups(path.name, found, groups)
    order = {name: place for place, name in enumerate(names)}
    used = [name for name in found if name.split("/")[0] in order]
    return sorted(used, key=lambda name: order[name.split("/")[0]])


def _in_short(names: Sequence[str]) -> str:
    shown = [brief(name) for name in sorted(names)[:_FEW]]
    more = len(names) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)


def _no_npz(path: Path) -> DataError:
    return DataError(
        f"{path} is no .npz file, or it is cut off: its table of contents is missing.",
        [_HOW, "If it was copied or downloaded, do that again: the file may be incomplete."],
    )


def _too_large(path: Path, error: MemoryError) -> DataError:
    return DataError(
        f"{path} does not fit into memory: {error}.",
        _SMALLER,
    )


def _unreadable(path: Path, error: Exception) -> DataError:
    if "pickle" in str(error):
        return DataError(
            f"{path} holds pickled Python objects, which GPU Studio never loads: "
            "loading them can run any program.",
            [
                (
                    "Save arrays of numbers: an array of objects becomes one by "
                    "array.astype('float32')."
                ),
                "Groups may be texts: array.astype(str).",
                _HOW,
            ],
        )
    return DataError(
        f"{path} cannot be read: {error}.",
        ["The file may be incomplete or damaged: make it again.", _HOW],
    )


_FEW = 20
MAPPED_BYTES = 1 << 26
"""Arrays of at least this size are mapped: of a smaller one nothing would be gained."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_MAGIC = b"PK\x03\x04"
_PIECE = 1 << 20


class NoArrayError(Exception):
    """A member of the archive is no array."""


@dataclass(frozen=True, slots=True)
class Member:
    """An array of an archive. `skipped` bytes of the member come before its numbers."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns_first: bool
    skipped: int

    @property
    def size(self) -> int:
        """The bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def mapped(self) -> bool:
        """Whether the array can be mapped from the archive's file."""
        as_it_is = self.info.compress_type == zipfile.ZIP_STORED and not self.info.flag_bits & 1
        return as_it_is and not self.columns_first and self.size >= MAPPED_BYTES

    def read(self) -> Array:
        """Read the array into memory.

        Raises what zipfile and NumPy raise for a damaged one, and MemoryError.
        """
        with self.archive.open(self.info) as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def map(self, file: MappedFile, opened: IO[bytes]) -> Array:
        """Map the array from the file, which is read once in full for its checksum."""
        with self.archive.open(self.info) as member:
            there = sum(map(len, iter(lambda: member.read(_PIECE), b"")))
        if there < self.skipped + self.size:
            raise zipfile.BadZipFile(f"{self.info.filename} is cut off")
        return file.array(self.dtype, self.shape, self._begin(opened) + self.skipped)

    def _begin(self, opened: IO[bytes]) -> int:
        """Return where the member's bytes begin.

        The header before them, which zipfile has checked, gives its own length.
        """
        opened.seek(self.info.header_offset)
        magic, name, extra = _LOCAL_HEADER.unpack(opened.read(_LOCAL_HEADER.size))
        if magic != _MAGIC:
            raise zipfile.BadZipFile("a member is not where the table of contents has it")
        return int(self.info.header_offset) + _LOCAL_HEADER.size + int(name) + int(extra)


def member_of(archive: zipfile.ZipFile, name: str) -> Member:
    """The member called `name` or `name.npy`, of which only the header is read.

    Raises NoArrayError, and ValueError for an array of Python objects or one that says to be larger
    than it is.
    """
    info = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    with archive.open(info) as file:
        if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
            raise NoArrayError(name)
        file.seek(0)
        header = npy_header(file)
    dtype = header.dtype
    if dtype.hasobject:
        raise ValueError("it holds pickled objects")
    member = Member(archive, info, header.shape, dtype, header.columns_first, header.size)
    if member.size > info.file_size - header.size:
        raise ValueError(
            f"{brief(name)} says that it has {member.size:,} bytes, but "
            f"{info.file_size - header.size:,} are there"
        )
    return member


class MappedFile:
    """An open file, and its state when it was opened.

    Touching numbers that a file no longer has would end the process by a signal, and numbers
    written meanwhile would silently be trained on: so `check` comes first. A file whose name
    another one has taken is still there.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, os.fdopen(os.dup(file.fileno()), "rb")
        self._was = self._state()

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Array:
        """Map the numbers from byte `offset` on.

        Raises ValueError or OSError where the file does not hold that many.
        """
        return np.asarray(np.memmap(self._file, dtype, "r", offset, shape))

    def check(self) -> None:
        """Raises DataError if the file has changed."""
        if self._state() != self._was:
            raise DataError(
                f"{self._path} was changed while the run was reading it.",
                [
                    "Train it as a new run, once nothing writes to the file any more.",
                    (
                        "Write new data under another name, then rename that file: a run under way "
                        "keeps the old one."
                    ),
                ],
            )

    def _state(self) -> tuple[int, int]:
        found = os.fstat(self._file.fileno())
        return found.st_size, found.st_mtime_ns
