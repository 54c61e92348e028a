"""Unsaved changes of plans, kept in a file for each plan beside the settings."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from gpu_studio.common.cut_texts import cut
from gpu_studio.contract import make_private_directory, read_json, write_private
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


class Drafts:
    """The drafts in one folder. Files that cannot be read are left alone and not listed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, draft: Draft) -> None:
        """Save a draft, replacing the one of the same plan. Raises OSError."""
        make_private_directory(self._folder)
        write_private(self._file(draft.id), msgspec.json.encode(draft))

    def remove(self, key: str) -> None:
        """Delete the draft with this id, if there is one."""
        with suppress(OSError):
            self._file(key).unlink(missing_ok=True)

    def get(self, key: str) -> Draft | None:
        """The draft with this id; None if there is none."""
        return _read(self._file(key))

    def all(self) -> list[Draft]:
        """Return every draft, the newest first."""
        return sorted(self._found(), key=lambda draft: draft.time, reverse=True)

    def _found(self) -> Iterator[Draft]:
        with suppress(OSError):
            for file in self._folder.glob(f"*{SUFFIX}"):
                if (draft := _read(file)) is not None and self._file(draft.id) == file:
                    yield draft

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{SUFFIX}"


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
