"""Data from an `.npz` file of one's own, never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from gpu_studio.runs.failures.nearest_file import hint
from gpu_studio.trainer.data.mapped_file import MappedFile
from gpu_studio.trainer.data.named_arrays import NAMES, no_groups, source_of, wanted_names
from gpu_studio.trainer.data.npz_members import Member, NoArrayError, member_of
from gpu_studio.trainer.data.room import check_room, free_bytes
from gpu_studio.trainer.data.values import Array, Source
from gpu_studio.trainer.errors import DataError

_SMALLER = (
    "Save it with numpy.savez instead of numpy.savez_compressed: arrays that are not compressed stay in the file.",
    "Save images as bytes (uint8), or give fewer samples.",
    "If it should not be so large, the file is damaged.",
)
_HOW = "Write it with numpy.savez_compressed(path, x_train=…, y_train=…, x_test=…, y_test=…)."


def read_npz(path: Path, groups: str | None = None) -> Source:
    """The samples in `path`, with the splits that it brings, and the group of each where their array is named.

    The file holds `x_train` and `y_train`, or `x` and `y`; perhaps `x_val` and `y_val`, `x_test` and `y_test`. Raises
    DataError for a file that is missing, truncated, no `.npz`, pickled, or whose arrays do not go together.
    """
    found = read_arrays(path, partial(_wanted, groups=groups))
    made = source_of(path.name, found.arrays, groups)
    return made.with_all(file=found.file)


@dataclass(frozen=True, slots=True)
class Found:
    """The arrays of a file by their names, and that file where some of them are mapped from it."""

    arrays: dict[str, Array]
    file: MappedFile | None


def read_arrays(path: Path, wanted: Callable[[Path, Sequence[str]], Sequence[str]]) -> Found:
    """The arrays of the file that `wanted(path, names)` chooses among its names, in that order; nothing unpickled.

    Large ones that are not compressed stay in the file. Raises DataError, also where those to be read do not fit into
    the memory that is free, which is told before any of them is read.
    """
    if not path.is_file():
        advice = ["Put it back there, or change data.file in the plan; it is relative to the plan."]
        raise DataError(f"There is no data file {path}{hint(path) or '.'}", advice)
    if not zipfile.is_zipfile(path):
        raise _no_npz(path)
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            return _arrays(path, opened, {name: member_of(archive, name) for name in wanted(path, names)})
    except DataError:
        raise
    except NoArrayError as error:
        raise DataError(f"{path.name}: {error} is no array.", [_HOW]) from error
    except MemoryError as error:
        raise _too_large(path, error) from error
    except Exception as error:  # a damaged file makes zipfile, zlib and NumPy stumble in a dozen ways
        raise _unreadable(path, error) from error


def _arrays(path: Path, opened: IO[bytes], members: Mapping[str, Member]) -> Found:
    """Those that can be mapped are, the others are read if there is room for them."""
    read = sum(member.size for member in members.values() if not member.mapped)
    check_room(f"The arrays in {path.name}", read, free_bytes(), _SMALLER)
    file = MappedFile(path, opened) if any(member.mapped for member in members.values()) else None
    return Found({name: _array(each, file, opened) for name, each in members.items()}, file)


def _array(member: Member, file: MappedFile | None, opened: IO[bytes]) -> Array:
    return member.map(file, opened) if file is not None and member.mapped else member.read()


def _wanted(path: Path, found: Sequence[str], groups: str | None) -> Sequence[str]:
    names = wanted_names(found, groups)
    if names is None:
        raise DataError(f"{path.name} holds {', '.join(sorted(found)) or 'nothing'}, but needs {NAMES}.", [_HOW])
    if groups is not None and groups not in found:
        raise no_groups(path.name, found, groups)
    return names


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
            f"{path} holds pickled Python objects, which GPU Studio never loads: loading them can run any program.",
            [
                "Save arrays of numbers: an array of objects becomes one by array.astype('float32').",
                "Groups may be texts: array.astype(str).",
                _HOW,
            ],
        )
    return DataError(
        f"{path} cannot be read: {error}.", ["The file may be incomplete or damaged: make it again.", _HOW]
    )
