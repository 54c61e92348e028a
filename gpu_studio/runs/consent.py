"""Which Python code of a user's own may run: nothing does before its user has said so.

A file is allowed as it is, by the SHA-256 of what it holds: a file that has changed is asked about again. Whoever keeps
changing his own code allows its folder, and with it all that stands in and below it, whatever it holds. What a file
imports from its own folder (`own_modules`) is asked about like the file itself; what it imports from elsewhere is what
its user has installed, as anywhere in Python.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import msgspec
from platformdirs import user_config_path

from gpu_studio.regular_files import open_regular, opened, read_regular
from gpu_studio.runs.files import make_private_directory, write_private
from gpu_studio.runs.patient_lock import lock_within

FILE = "allowed-code.json"
LONGEST_WAIT = 3.0
"""Seconds in which another program will have written down what it has to, unless it is held up."""
_LARGEST_FILE = 16 * 1024 * 1024
LONGEST_CODE = 1024 * 1024
"""Bytes of the largest file that is taken for a program that a person wrote."""


class Standing(StrEnum):
    """What a user has said of a file."""

    ALLOWED = "allowed"
    CHANGED = "changed"
    """It was allowed, but has changed since."""
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Allowances:
    """What may run: `files`, each with the SHA-256 (hex) of what it held, and `folders` with all in and below them.

    All are absolute paths without links. `problem` says in a sentence why the file that holds them could not be read;
    nothing is allowed then.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    problem: str = ""


class _File(msgspec.Struct, frozen=True):
    files: dict[str, str] = {}
    folders: list[str] = []


def allowances_file() -> Path:
    """Where the allowances of this user stand."""
    return Path(user_config_path("gpu-studio")) / FILE


def allowances() -> Allowances:
    """Everything that this user has allowed."""
    path = allowances_file()
    try:
        # A person may keep his settings elsewhere, and link them here.
        kept = msgspec.json.decode(read_regular(path, _LARGEST_FILE, follow=True), type=_File)
    except FileNotFoundError:
        return Allowances()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        return Allowances(problem=f"{path} cannot be read ({why}), so that no Python file is allowed: remove it.")
    return Allowances(dict(kept.files), tuple(kept.folders))


def real_path(path: Path) -> Path:
    """`path` absolute and without links; links that go round in a circle stay as they are."""
    return Path(os.path.realpath(path))


def digest(code: bytes) -> str:
    """The SHA-256 of what a file holds, in hex."""
    return hashlib.sha256(code).hexdigest()


def read_code(path: Path) -> bytes:
    """What the Python file at `path` holds. Raises OSError, also for what is no file, or too long to be a program."""
    with opened(path, follow=True) as file:
        code = file.read(LONGEST_CODE + 1)
    if len(code) > LONGEST_CODE:
        raise OSError(f"it is larger than {LONGEST_CODE // 1024} KiB, and so no program that a person wrote")
    return code


def standing(path: Path, code: bytes) -> Standing:
    """Whether `code`, which is what the file at `path` holds, may run."""
    known, real = allowances(), real_path(path)
    if any(real.is_relative_to(folder) for folder in known.folders if Path(folder).is_absolute()):
        return Standing.ALLOWED
    allowed = known.files.get(str(real))
    if allowed is None:
        return Standing.NEW
    return Standing.ALLOWED if allowed == digest(code) else Standing.CHANGED


def allow_file(path: Path, code: bytes) -> None:
    """Allow the file at `path` as long as it holds `code`. Raises OSError if that cannot be written down."""
    _change(lambda known: replace(known, files={**known.files, str(real_path(path)): digest(code)}))


def allow_folder(folder: Path) -> None:
    """Allow all Python files in and below `folder`, whatever they hold. Raises OSError."""
    real = str(real_path(folder))
    _change(lambda known: replace(known, folders=tuple(dict.fromkeys((*known.folders, real)))))


def withdraw(path: Path) -> bool:
    """Allow the file or folder at `path` no longer; whether it was allowed. Raises OSError."""
    # Also by the name under which it was allowed, should a link stand in its place now.
    names = {str(path), str(real_path(path))}
    before = _change(
        lambda known: replace(
            known,
            files={name: value for name, value in known.files.items() if name not in names},
            folders=tuple(folder for folder in known.folders if folder not in names),
        )
    )
    return not names.isdisjoint((*before.files, *before.folders))


def _change(change: Callable[[Allowances], Allowances]) -> Allowances:
    """Write down what `change` makes of the allowances; what they were before. Raises OSError."""
    path = allowances_file()
    make_private_directory(path.parent)
    with _locked(path.with_suffix(".lock")):
        before = allowances()
        if before.problem:
            raise OSError(before.problem)
        after = change(before)
        if after != before:
            write_private(path, _written(after))
        return before


def _written(after: Allowances) -> bytes:
    file = _File(files=after.files, folders=list(after.folders))
    try:
        return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"
    except UnicodeEncodeError as error:
        raise OSError("its path is no UTF-8, and cannot be written down: give it another name") from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold `path` while another window or command may want to write, too. Raises OSError if that keeps it."""
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        if not lock_within(descriptor, LONGEST_WAIT):
            raise OSError(f"another program holds {path}: end it, or wait for it")
        yield
    finally:
        os.close(descriptor)
