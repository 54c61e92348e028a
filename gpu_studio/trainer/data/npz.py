"""Data from an `.npz` file of one's own, never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gpu_studio.runs.failures.nearest_file import hint
from gpu_studio.trainer.data.arrays import split_of, test_split_of
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError

_NAMES = "x_train and y_train (with x_test and y_test if there is a test split), or x and y"
_HOW = "Write it with numpy.savez_compressed(path, x_train=…, y_train=…, x_test=…, y_test=…)."


def read_npz(path: Path) -> tuple[Split, Split | None]:
    """The samples in `path`, and its test split if it brings one.

    The file holds `x_train` and `y_train`, and perhaps `x_test` and `y_test`; or `x` and `y`. Raises DataError for
    a file that is missing, truncated, no `.npz`, pickled, or whose arrays do not go together.
    """
    arrays = read_arrays(path, _wanted)
    x_name, y_name = list(arrays)[:2]
    whole = split_of(path.name, x_name, arrays[x_name], y_name, arrays[y_name])
    if "x_test" not in arrays:
        return whole, None
    return whole, test_split_of(path.name, arrays["x_test"], arrays["y_test"], whole)


def read_arrays(path: Path, wanted: Callable[[Path, Sequence[str]], Sequence[str]]) -> dict[str, Array]:
    """The arrays of the file that `wanted(path, names)` chooses among its names, in that order; nothing unpickled."""
    if not path.is_file():
        advice = ["Put it back there, or change data.file in the plan; it is relative to the plan."]
        raise DataError(f"There is no data file {path}{hint(path) or '.'}", advice)
    if not zipfile.is_zipfile(path):
        raise _no_npz(path)
    try:
        # Opened here, because NumPy leaves a file open that turns out to be damaged.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            found = {name: file[name] for name in wanted(path, file.files)}
    except DataError:
        raise
    except MemoryError as error:
        raise _too_large(path, error) from error
    except Exception as error:  # a damaged file makes zipfile, zlib and NumPy stumble in a dozen ways
        raise _unreadable(path, error) from error
    for name, array in found.items():
        if not isinstance(array, np.ndarray):  # NumPy hands out any other member of the archive as bytes
            raise DataError(f"{path.name}: {name} is no array.", [_HOW])
    return found


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
        ["Give fewer samples.", "Save images as bytes (uint8).", "If it should not be so large, the file is damaged."],
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
