"""Check the files and folders that a plan names: present, complete, allowed, without pickles.

Only names and headers are read, and Python files as text. The trainer checks whether the arrays
match each other, and the model the data, and whether every image of a folder can be read.
"""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gpu_studio.contract.code_reading import read_as_text
from gpu_studio.contract.consent import Standing, allowances, read_code, standing
from gpu_studio.contract.nearest_file import hint
from gpu_studio.contract.own_modules import code_files, modules_beside
from gpu_studio.plan import Plan, Problem
from gpu_studio.plan.image_folders import ImageFolderError, layout_of
from gpu_studio.plan.references import reference
from gpu_studio.plan.relocation import absolute

_Check = Callable[[zipfile.ZipFile], str]
_KERAS_PARTS = {"config.json", "model.weights.h5"}


@dataclass(frozen=True, slots=True)
class ConsentProblem(Problem):
    """A Python file at `path` that is not allowed as it is: the one problem that consent solves."""

    path: Path
    standing: Standing


def file_problems(plan: Plan, folder: Path) -> list[Problem]:
    """Problems with the files and folders that `plan` names.

    Relative ones are taken from `folder`.
    """
    return [
        *_problems("model.file", plan.model.file, folder, ".keras", _lacks_keras_parts),
        *_problems("data.file", plan.data.file, folder, ".npz", _holds_pickles),
        *_folder_problems("data.folder", plan.data.folder, folder),
        *_code_problems("model.python", plan.model.python, folder),
        *_code_problems("data.python", plan.data.python, folder),
    ]


def consent_needed(plan: Plan, folder: Path) -> list[tuple[Path, Standing]]:
    """The readable Python files that `plan` runs and that are not allowed as they are."""
    return _not_allowed(code_files(plan, folder))


def _not_allowed(files: Sequence[Path]) -> list[tuple[Path, Standing]]:
    found: list[tuple[Path, Standing]] = []
    for path in files:
        try:
            said = standing(path, read_code(path))
        except (OSError, ValueError):
            continue
        if said is not Standing.ALLOWED:
            found.append((path, said))
    return found


def _code_problems(field: str, text: str | None, folder: Path) -> Iterator[Problem]:
    named = reference(text) if text else None
    if named is None:
        return
    path, shown = absolute(named.file, folder), f'"{text}"'
    try:
        code = read_code(path)
    except FileNotFoundError:
        yield Problem(
            field, shown, f"there is no such file: {path} is where it was looked for{hint(path)}"
        )
    except (OSError, ValueError) as error:
        yield Problem(
            field, shown, f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        )
    else:
        yield from _problems_of_code(field, shown, path, named.function, code)


def _problems_of_code(
    field: str, shown: str, path: Path, function: str, code: bytes
) -> Iterator[Problem]:
    found = read_as_text(code)
    if wrong := found.problem or found.lacks(function):
        yield Problem(field, shown, wrong)
        return
    for file, said in _not_allowed([path, *modules_beside(path)]):
        yield ConsentProblem(field, shown, _ask_for_consent(file, said), file, said)


def _ask_for_consent(path: Path, said: Standing) -> str:
    if problem := allowances().problem:
        return problem
    how = f"read it, then allow it (gpu-studio code allow {shlex.quote(str(path))})"
    if said is Standing.CHANGED:
        return (
            f"{path.name} has changed since it was allowed, and it may do whatever you may: {how}"
        )
    return f"nothing of {path.name} has been run yet, and it may do whatever you may: {how}"


def _problems(
    field: str, name: str | None, folder: Path, kind: str, check: _Check
) -> Iterator[Problem]:
    if not name or not name.isprintable():
        return
    advice = _advice(absolute(name, folder), kind, check)
    if advice:
        yield Problem(field, f'"{name}"', advice)


def _advice(path: Path, kind: str, check: _Check) -> str:
    incomplete = f"this is no {kind} file, or it is cut off: make or copy it again"
    try:
        if not path.is_file():
            return f"there is no such file: {path} is where it was looked for{hint(path)}"
        if not zipfile.is_zipfile(path):
            return incomplete
        with zipfile.ZipFile(path) as archive:
            return check(archive)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    except Exception:  # noqa: BLE001  a damaged file makes zipfile, zlib and NumPy stumble in a dozen ways
        return incomplete


def _folder_problems(field: str, name: str | None, folder: Path) -> Iterator[Problem]:
    if name and name.isprintable() and (advice := _advice_of_folder(absolute(name, folder))):
        yield Problem(field, f'"{name}"', advice)


def _advice_of_folder(path: Path) -> str:
    try:
        if not path.is_dir():
            return (
                f"there is no such folder: {path} is where it was looked "
                f"for{hint(path, folders=True)}"
            )
        layout_of(path)
    except ImageFolderError as error:
        return f"it {error}"
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    return ""


def _lacks_keras_parts(archive: zipfile.ZipFile) -> str:
    missing = _KERAS_PARTS - set(archive.namelist())
    return (
        f"it lacks {' and '.join(sorted(missing))}: save the model with model.save"
        if missing
        else ""
    )


def _holds_pickles(archive: zipfile.ZipFile) -> str:
    for name in archive.namelist():
        if name.endswith(".npy"):
            with archive.open(name) as file:
                if _dtype(file).hasobject:
                    return (
                        f"{name.removesuffix('.npy')} holds pickled Python objects, which are "
                        "never loaded because "
                        "loading them can run any program: save arrays of numbers"
                    )
    return ""


def _dtype(file: IO[bytes]) -> Any:
    """The type of an `.npy` file's elements, from its header.

    Raises ValueError for what is none.
    """
    # Imported on first use: the window's start waits for this module.
    import numpy as np

    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    return read(file)[2]
