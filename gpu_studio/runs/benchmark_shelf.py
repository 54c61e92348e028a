"""Kept results of benchmarks: files in the user's data directory, listed, named, and deleted."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from gpu_studio.common.safe_files import read_regular, remove_older
from gpu_studio.contract import make_own_directory, make_private_directory, write_private
from gpu_studio.lab.benchmark_results import (
    BENCHMARKS,
    BenchmarkError,
    BenchmarkResult,
    dumps_result,
    loads_result,
)

SUFFIX: Final = ".benchmark.json"
TENSORFLOW: Final = "TensorFlow"
"""What a result calls its version."""
_LARGEST: Final = 8 * 1024 * 1024
_TIME: Final = "%Y%m%dT%H%M%SZ"
_TRASH: Final = ".trash"
_KEPT_IN_TRASH_S: Final = 86_400.0


def benchmarks_folder() -> Path:
    """The folder of the results, in the user's data directory; it need not exist."""
    return (user_data_path("gpu-studio") / "lab").absolute()


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result and its file. One that cannot be read has none, and `why_not` says why."""

    path: Path
    result: BenchmarkResult | None
    why_not: str = ""

    @property
    def name(self) -> str:
        """What it is called: the name of its file without the ending."""
        return self.path.name.removesuffix(SUFFIX)

    @property
    def benchmark(self) -> str:
        """Of which benchmark it is; of one that cannot be read, by its name, or empty."""
        if self.result is not None:
            return self.result.benchmark
        rest = self.name.partition("-")[2]
        return next((each for each in BENCHMARKS if f"{rest}-".startswith(f"{each}-")), "")


def kept_results(folder: Path | None = None) -> list[KeptResult]:
    """All results in the folder, the newest first. Raises OSError if it cannot be listed."""
    folder = folder or benchmarks_folder()
    if not folder.is_dir():
        return []
    names = (each.name for each in folder.iterdir() if each.name.endswith(SUFFIX))
    stems = sorted(name.removesuffix(SUFFIX) for name in names)
    return [kept_in(folder / f"{stem}{SUFFIX}") for stem in reversed(stems)]


def kept_in(path: Path) -> KeptResult:
    """The result in a file, or why it cannot be read."""
    try:
        return KeptResult(path, load_result(path))
    except (BenchmarkError, OSError) as error:
        return KeptResult(path, None, str(error))


def load_result(path: Path) -> BenchmarkResult:
    """Read a result. Raises BenchmarkError, or OSError if the file cannot be read."""
    return loads_result(read_regular(path, _LARGEST, follow=True), path.name)


def result_named(text: str, folder: Path | None = None) -> KeptResult:
    """The one result that is meant: by its path, its name or the beginning of it, or a benchmark.

    A benchmark's name, or `latest`, means the newest of it, or of all. Raises BenchmarkError.
    """
    if (path := Path(text)).is_file():
        return KeptResult(path, load_result(path))
    return _readable(kept_named(text, folder))


def kept_named(text: str, folder: Path | None = None) -> KeptResult:
    """The same among the kept ones, also one that cannot be read. Raises BenchmarkError."""
    return _named(text, kept_results(folder), "gpu-studio lab list shows those that are there")


def deleted_named(text: str, folder: Path | None = None) -> KeptResult:
    """The same among those in the trash. Raises BenchmarkError."""
    trash = (folder or benchmarks_folder()) / _TRASH
    return _named(text, kept_results(trash), "what was deleted a day ago may be gone for good")


def _named(text: str, results: Sequence[KeptResult], advice: str) -> KeptResult:
    for each in results:
        newest = text == "latest" or (each.result is not None and each.result.benchmark == text)
        if newest or each.name == text:
            return each
    begun = [each for each in results if each.name.startswith(text)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        names = ", ".join(each.name for each in begun[:5])
        raise BenchmarkError(f"{len(begun)} results begin with {text} ({names}): write more of it.")
    raise BenchmarkError(f"There is no result {text}: {advice}.")


def _readable(kept: KeptResult) -> KeptResult:
    if kept.result is None:
        raise BenchmarkError(kept.why_not)
    return kept


def keep_result(result: BenchmarkResult, folder: Path | None = None) -> Path:
    """Write the result to a new file, readable by its user alone. Raises OSError."""
    folder = folder or benchmarks_folder()
    make_private_directory(folder)
    stem = f"{time.strftime(_TIME, time.gmtime(result.begun))}-{result.benchmark}"
    for path in _free(folder, stem):
        write_private(path, dumps_result(result))
        return path
    raise FileExistsError(folder / stem)


def delete_result(kept: KeptResult) -> Path:
    """Move a result to the trash of its folder, and return where it lies now. Raises OSError.

    What was deleted a day ago or earlier is removed for good.
    """
    trash = kept.path.parent / _TRASH
    make_own_directory(trash)
    remove_older(trash.iterdir(), time.time() - _KEPT_IN_TRASH_S)
    os.utime(kept.path, follow_symlinks=False)
    return kept.path.rename(trash / kept.path.name)


def restore_result(path: Path) -> Path:
    """Move a result out of the trash again. Raises OSError, also if another has its name now."""
    target = path.parent.parent / path.name
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    return path.rename(target)


def _free(folder: Path, stem: str) -> Iterator[Path]:
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    paths = (folder / f"{name}{SUFFIX}" for name in names)
    return (path for path in paths if not os.path.lexists(path))
