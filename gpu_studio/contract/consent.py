"""Which of the user's own Python code may run: none does before the user has allowed it.

A file is allowed with its present content, by SHA-256: a changed file needs a new answer. A user
who edits code often can allow its folder, and with it every file in and below it, whatever the
content. What a file imports from its own folder (`user_files`) needs consent like the file itself;
other imports are what the user has installed, as anywhere in Python. Lines of shell that a plan
gives Slurm need consent, too, all of them together and as they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import msgspec
from platformdirs import user_config_path

from gpu_studio.common.paths import real_path
from gpu_studio.common.safe_files import lock_if_there_are_locks, open_regular, read_regular
from gpu_studio.contract.files import JSON_ERRORS, make_private_directory, write_private

FILE = "allowed-code.json"
LONGEST_WAIT = 3.0
"""Seconds in which another program will have written down what it has to, unless it is held up."""
_LARGEST_FILE = 16 * 1024 * 1024


class Standing(StrEnum):
    """What a user has said about a file."""

    ALLOWED = "allowed"
    CHANGED = "changed"
    """It was allowed, but has changed since."""
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Allowances:
    """What may run: `files`, each with the SHA-256 (hex) of its content, and `folders`.

    A folder covers everything below it. All paths are absolute and resolved. `shell` are the
    SHA-256 of lines of shell. `problem` says in a sentence why the stored allowances could not be
    read; then nothing is allowed.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()
    problem: str = ""


class _File(msgspec.Struct, frozen=True):
    files: dict[str, str] = {}
    folders: list[str] = []
    shell: list[str] = []


def allowances_file() -> Path:
    """The file that stores this user's allowances."""
    return Path(user_config_path("gpu-studio")) / FILE


def allowances() -> Allowances:
    """Everything that this user has allowed."""
    path = allowances_file()
    try:
        # Users may keep their settings elsewhere and link to them from here.
        kept = msgspec.json.decode(read_regular(path, _LARGEST_FILE, follow=True), type=_File)
    except FileNotFoundError:
        return Allowances()
    except (OSError, *JSON_ERRORS) as error:
        why = getattr(error, "strerror", None) or error
        return Allowances(
            problem=f"{path} cannot be read ({why}), so that no Python file is allowed: remove it."
        )
    return Allowances(dict(kept.files), tuple(kept.folders), tuple(kept.shell))


def digest(code: bytes) -> str:
    """The SHA-256 of a file's content, in hex."""
    return hashlib.sha256(code).hexdigest()


def standing(path: Path, code: bytes) -> Standing:
    """Whether `code`, the content of the file at `path`, may run."""
    known, real = allowances(), real_path(path)
    if any(real.is_relative_to(folder) for folder in known.folders if Path(folder).is_absolute()):
        return Standing.ALLOWED
    allowed = known.files.get(str(real))
    if allowed is None:
        return Standing.NEW
    return Standing.ALLOWED if allowed == digest(code) else Standing.CHANGED


def allow_file(path: Path, code: bytes) -> None:
    """Allow the file at `path` as long as its content is `code`.

    Raises OSError if that cannot be stored.
    """
    _change(lambda known: replace(known, files={**known.files, str(real_path(path)): digest(code)}))


def allow_folder(folder: Path) -> None:
    """Allow all Python files in and below `folder`, whatever they hold. Raises OSError."""
    real = str(real_path(folder))
    _change(lambda known: replace(known, folders=tuple(dict.fromkeys((*known.folders, real)))))


def is_shell_allowed(lines: Sequence[str]) -> bool:
    """Whether these lines of shell may run, which they may if there are none."""
    return not lines or _digest_of(lines) in allowances().shell


def allow_shell(lines: Sequence[str]) -> None:
    """Allow these lines of shell, in this order, whatever plan has them. Raises OSError."""
    new = _digest_of(lines)
    _change(lambda known: replace(known, shell=tuple(dict.fromkeys((*known.shell, new)))))


def withdraw_shell() -> int:
    """Stop allowing any lines of shell; return how many plans' there were. Raises OSError."""
    return len(_change(lambda known: replace(known, shell=())).shell)


def _digest_of(lines: Sequence[str]) -> str:
    return digest("\n".join(lines).encode("utf-8", "surrogatepass"))


def withdraw(path: Path) -> bool:
    """Stop allowing the file or folder at `path`; return whether it was allowed. Raises OSError."""
    # Also by the name under which it was allowed, in case a link has taken its place.
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
    """Store what `change` makes of the allowances; return the previous ones. Raises OSError."""
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
    file = _File(files=after.files, folders=list(after.folders), shell=list(after.shell))
    try:
        return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"
    except UnicodeEncodeError as error:
        raise OSError(
            "its path is no UTF-8, and cannot be written down: give it another name"
        ) from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on `path` while writing, against other windows and commands. Raises OSError."""
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        if not lock_if_there_are_locks(descriptor, LONGEST_WAIT):
            raise OSError(f"another program holds {path}: end it, or wait for it")
        yield
    finally:
        os.close(descriptor)
