"""Unsaved changes of plans, kept in a file for each plan beside the settings."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path

import msgspec

from gpu_studio.common.cut_texts import cut
from gpu_studio.contract import (
    LockHeldError,
    json_line,
    lock,
    make_private_directory,
    read_json,
    write_private,
)
from gpu_studio.contract.numbers import Moment
from gpu_studio.plan import Plan

SUFFIX = ".draft.json"
_LONGEST_TITLE = 80
_LARGEST = 12 * 1024 * 1024
"""Bytes: more than twice what a plan may have, which is there as it was and as it is."""


class Draft(msgspec.Struct, frozen=True):
    """The `text` of a plan as it was edited, and `base`, the text that the editing began from.

    `path` is the plan's file; empty for a plan that has none, which `id` tells from others. `time`
    is when the draft was written, in seconds since 1970 (UTC). `mending` is set for the text of a
    file that could not be used as a plan. `half_typed` is what was typed since as the plan's text,
    if that is no plan yet: `text` is then the last one that was.
    """

    id: str
    path: str
    name: str
    text: str
    base: str
    time: Moment
    mending: bool = False
    half_typed: str | None = None

    @property
    def title(self) -> str:
        """The plan's name or, if it has none, its file's; short enough for a menu."""
        nameless = self.mending or self.name == Plan().name
        return cut(Path(self.path).name if self.path and nameless else self.name, _LONGEST_TITLE)


_decoder = msgspec.json.Decoder(Draft)


_MOST_ALIKE = 9
_LOCK_S = 0.1
"""Others hold the lock of a draft for good, or to look at it."""


class Drafts:
    """The drafts in one folder. Files that cannot be read are left alone and not listed.

    What is written or taken up here is this window's until `close`. Another window that has the
    same plan open meanwhile does not see it, and writes another draft, with a number in its id.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: dict[str, tuple[str, lock.Lock | None]] = {}

    def write(self, draft: Draft) -> None:
        """Save a draft, replacing the one of the same plan. Raises OSError."""
        make_private_directory(self._folder)
        draft = msgspec.structs.replace(draft, id=self._written_as(draft.id))
        write_private(self._file(draft.id), json_line(draft))

    def remove(self, key: str) -> None:
        """Delete the draft that was written or taken up here for this id, if there is one."""
        if key in self._mine:
            name, held = self._mine.pop(key)
            with suppress(OSError):
                self._file(name).unlink(missing_ok=True)
            self._let_go(name, held)

    def get(self, key: str) -> Draft | None:
        """A draft with this id, or this and a number, that is no other window's; None without."""
        names = (self.name_of(key), *islice(_names(key), _MOST_ALIKE))
        found = (self._free(self._file(name)) for name in names)
        return next(filter(None, found), None)

    def all(self) -> list[Draft]:
        """Return every draft that is no other window's, the newest first."""
        return sorted(self._found(), key=lambda draft: draft.time, reverse=True)

    def take_up(self, key: str, draft: Draft) -> None:
        """Go on with a draft: what is written for `key` from now on replaces it."""
        if self.name_of(key) != draft.id or key not in self._mine:
            self._claim(key, draft.id)

    def name_of(self, key: str) -> str:
        """The id that the draft which is written here for `key` has."""
        return self._mine[key][0] if key in self._mine else key

    def close(self) -> None:
        """Leave the drafts to other windows."""
        while self._mine:
            _, (name, held) = self._mine.popitem()
            self._let_go(name, held)

    def _written_as(self, key: str) -> str:
        """The id to write under, now this window's: one that no draft of another window has."""
        if key not in self._mine:
            free = (name for name in _names(key) if not self._file(name).exists())
            next(name for name in free if self._claim(key, name))
        return self.name_of(key)

    def _claim(self, key: str, name: str) -> bool:
        try:
            held = lock.reserve(self._lock_file(name), _LOCK_S)
            while held.deleted:  # between opening and locking, by the window that let it go
                held.hand_over()
                held = lock.reserve(self._lock_file(name), _LOCK_S)
        except LockHeldError:
            return False
        except OSError:  # nothing can be locked there
            held = None
        if key in self._mine:
            self._let_go(*self._mine[key])
        self._mine[key] = name, held
        return True

    def _let_go(self, name: str, held: lock.Lock | None) -> None:
        if held is not None:
            with suppress(OSError):
                self._lock_file(name).unlink(missing_ok=True)
            held.release()

    def _free(self, file: Path) -> Draft | None:
        """The draft in a file, unless it is another window's, or its id is of another file."""
        draft = _read(file)
        if draft is None or self._file(draft.id) != file:
            return None
        is_mine = draft.id in (mine for mine, _ in self._mine.values())
        return draft if is_mine or not lock.held(self._lock_file(draft.id)) else None

    def _found(self) -> Iterator[Draft]:
        with suppress(OSError):
            yield from filter(None, map(self._free, self._folder.glob(f"*{SUFFIX}")))

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{SUFFIX}"

    def _lock_file(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


def _names(key: str) -> Iterator[str]:
    """The ids of drafts of one plan, of which each window has another."""
    yield key
    yield from (f"{key}-{number}" for number in count(2))


def id_of(path: Path) -> str:
    """Return the id of the draft of the plan in a file."""
    return hashlib.sha256(bytes(path)).hexdigest()[:32]


def repair_id_of(path: Path) -> str:
    """What tells the draft of the text of a file that is no plan from others."""
    return f"{id_of(path)}-text"


def new_id() -> str:
    """Return an id for a plan without a file."""
    return uuid.uuid4().hex


def made(
    key: str, path: Path | None, name: str, text: str, base: str, half_typed: str | None = None
) -> Draft:
    """Return a draft with the present time."""
    of = str(path) if path else ""
    return Draft(key, of, name, text, base, time.time(), half_typed=half_typed)


def made_of_text(path: Path, text: str, base: str) -> Draft:
    """Return a draft, with the present time, of a broken file that held `base` when read."""
    return Draft(repair_id_of(path), str(path), path.name, text, base, time.time(), mending=True)


def _read(file: Path) -> Draft | None:
    try:
        return read_json(file, _decoder.decode, _LARGEST)
    except OSError:
        return None
