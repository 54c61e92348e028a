"""Data from an `.npz` file of one's own, never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from gpu_studio.runs.failures.nearest_file import hint
from gpu_studio.trainer.data.arrays import split_of, test_split_of
from gpu_studio.trainer.data.mapped_file import MappedFile
from gpu_studio.trainer.data.npz_members import Member, NoArrayError, member_of
from gpu_studio.trainer.data.room import check_room, free_bytes
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError

_NAMES = "x_train and y_train (with x_test and y_test if there is a test split), or x and y"
_SMALLER = (
    "Save it with numpy.savez instead of numpy.savez_compressed: arrays that are not compressed stay in the file.",
    "Save images as bytes (uint8), or give fewer samples.",
    "If it should not be so large, the file is damaged.",
)
_HOW = "Write it with numpy.savez_compressed(path, x_train=…, y_train=…, x_test=…, y_test=…)."


def read_npz(path: Path) -> tuple[Split, Split | None]:
    """The samples in `path`, and its test split if it brings one.

    The file holds `x_train` and `y_train`, and perhaps `x_test` and `y_test`; or `x` and `y`. Raises DataError for
    a file that is missing, truncated, no `.npz`, pickled, or whose arrays do not go together.
    """
    found = read_arrays(path, _wanted)
    arrays = found.arrays
    x_name, y_name = list(arrays)[:2]
    whole = replace(split_of(path.name, x_name, arrays[x_name], y_name, arrays[y_name]), file=found.file)
    if "x_test" not in arrays:
        return whole, None
    test = test_split_of(path.name, arrays["x_test"], arrays["y_test"], whole)
    return whole, replace(test, file=found.file)


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


def _wanted(path: Path, found: Sequence[str]) -> tuple[str, ...]:
    known = {"x_train", "y_train", "x_test", "y_test", "x", "y"} & set(found)
    for names in (("x_train", "y_train"), ("x_train", "y_train", "x_test", "y_test"), ("x", "y")):
        if known == set(names):
            return names
    raise DataError(f"{path.name} holds {', '.join(sorted(found)) or 'nothing'}, but needs {_NAMES}.", [_HOW])


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
            ["Save arrays of numbers: an array of objects becomes one by array.astype('float32').", _HOW],
        )
    return DataError(
        f"{path} cannot be read: {error}.", ["The file may be incomplete or damaged: make it again.", _HOW]
    )
