"""What a person wrote on a run: a name, tags to find it by, and a note, in a file of their own beside the plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from gpu_studio.regular_files import read_regular
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import write_private

FILE = "labels.json"
LONGEST_NAME = 120
LONGEST_TAG = 40
LONGEST_NOTE = 20_000
_LONGEST_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Labels:
    """The tags of a run, in the order in which they were given, its note, and a name where it was given one.

    `problem` says in a sentence why a file that is there could not be read; it is empty where all is well.
    """

    tags: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""
    name: str = ""

    def __bool__(self) -> bool:
        """Whether a person wrote anything."""
        return bool(self.tags or self.note or self.name)


NOTHING = Labels()


class _File(msgspec.Struct, frozen=True):
    tags: list[Annotated[str, msgspec.Meta(max_length=LONGEST_TAG)]] = []
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""


def labels_file(run: RunDirectory) -> Path:
    """Where the labels of `run` stand."""
    return run.path / FILE


def read_labels(run: RunDirectory) -> Labels:
    """Return what was written on `run`: nothing if the file is not there, or cannot be read, which `problem` says."""
    path = labels_file(run)
    try:
        return _decoded(read_regular(path, _LONGEST_FILE))
    except (FileNotFoundError, IsADirectoryError):
        return NOTHING
    except OSError as error:
        return Labels(problem=f"What was written on the run in {path} cannot be read: {error.strerror or error}.")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = f"What was written on the run in {path} cannot be read: {error}."
        return Labels(problem=f"{why} What you write now takes their place.")


def write_labels(run: RunDirectory, labels: Labels) -> None:
    """Write on `run`, in place of what was there; where nothing is left the file goes.

    Raises OSError if the folder is not there or cannot be written, ValueError if the note is longer than 20 000
    characters.
    """
    if len(labels.note) > LONGEST_NOTE:
        raise ValueError(f"A note has at most {LONGEST_NOTE} characters, and this one has {len(labels.note)}.")
    path = labels_file(run)
    if not labels:
        path.unlink(missing_ok=True)
        return
    file = _File(tags=list(tidy_tags(labels.tags)), note=labels.note, name=tidy_name(labels.name))
    # A lone surrogate, as from a broken clipboard, has no place in UTF-8.
    write_private(path, msgspec.json.format(_encoded(file), indent=2) + b"\n")


def tidy_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return each tag once, as one word of at most 40 letters; of two that differ only in case the first."""
    words = ("-".join(tag.split())[:LONGEST_TAG] for tag in tags)
    found: dict[str, str] = {}
    for word in words:
        if word:
            found.setdefault(word.casefold(), word)
    return tuple(found.values())


def tidy_name(text: str) -> str:
    """Return a name on one line, without room around it, of at most 120 letters."""
    return " ".join(text.split())[:LONGEST_NAME].strip()


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags in a line that a person typed, with commas between them."""
    return tidy_tags(text.split(","))


def _decoded(data: bytes) -> Labels:
    file = msgspec.json.decode(data, type=_File)
    return Labels(tidy_tags(file.tags), file.note, name=tidy_name(file.name))


def _encoded(file: _File) -> bytes:
    clean = _File([_clean(tag) for tag in file.tags], _clean(file.note), _clean(file.name))
    return msgspec.json.encode(clean)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
