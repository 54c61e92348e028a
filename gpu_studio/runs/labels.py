"""What a run is called: its number, and the labels that a person gave it.

A run's title is its number and name, `#7 digits on four devices`. The name, tags and note
stand in a file beside the plan; the numbers of all runs of a folder stand in one file there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import msgspec

from gpu_studio.common.safe_files import lock_if_there_are_locks, open_regular, read_regular
from gpu_studio.common.toml_text import toml_tables
from gpu_studio.contract import JSON_ERRORS, RunDirectory, write_private
from gpu_studio.plan import LARGEST_BYTES

FILE = "labels.json"
LONGEST_NAME = 120
LONGEST_TAG = 40
LONGEST_NOTE = 20_000
_LONGEST_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Labels:
    """The tags of a run, in the order in which they were given, its note, and any given name.

    `problem` says in a sentence why an existing file could not be read; it is empty otherwise.
    """

    tags: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""
    name: str = ""

    def __bool__(self) -> bool:
        """Whether there are any labels."""
        return bool(self.tags or self.note or self.name)


NOTHING = Labels()


class _File(msgspec.Struct, frozen=True):
    tags: list[Annotated[str, msgspec.Meta(max_length=LONGEST_TAG)]] = []
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)] = ""


def labels_file(run: RunDirectory) -> Path:
    """The file with the labels of `run`."""
    return run.path / FILE


def read_labels(run: RunDirectory) -> Labels:
    """Return the labels of `run`.

    None if the file is missing or unreadable, as `problem` then says.
    """
    path = labels_file(run)
    try:
        return _decoded(read_regular(path, _LONGEST_FILE))
    except (FileNotFoundError, IsADirectoryError):
        return NOTHING
    except OSError as error:
        why = error.strerror or error
        return Labels(problem=f"What was written on the run in {path} cannot be read: {why}.")
    except JSON_ERRORS as error:
        why = f"What was written on the run in {path} cannot be read: {error}."
        return Labels(problem=f"{why} What you write now takes their place.")


def write_labels(run: RunDirectory, labels: Labels) -> None:
    """Replace the labels of `run`; without any, the file is removed.

    Raises OSError if the folder is missing or not writable, ValueError if the note is longer than
    20 000 characters.
    """
    if len(labels.note) > LONGEST_NOTE:
        raise ValueError(
            f"A note has at most {LONGEST_NOTE} characters, and this one has {len(labels.note)}."
        )
    path = labels_file(run)
    if not labels:
        path.unlink(missing_ok=True)
        return
    file = _File(tags=list(tidy_tags(labels.tags)), note=labels.note, name=tidy_name(labels.name))
    # A lone surrogate, as from a broken clipboard, cannot be encoded in UTF-8.
    write_private(path, msgspec.json.format(_encoded(file), indent=2) + b"\n")


def tidy_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return each tag once, as one word of at most 40 letters; case differences do not count."""
    words = ("-".join(tag.split())[:LONGEST_TAG] for tag in tags)
    found: dict[str, str] = {}
    for word in words:
        if word:
            found.setdefault(word.casefold(), word)
    return tuple(found.values())


def tidy_name(text: str) -> str:
    """Return a name on one line, without surrounding spaces, of at most 120 letters."""
    return " ".join(text.split())[:LONGEST_NAME].strip()


def split_tags(text: str) -> tuple[str, ...]:
    """Split a line of tags separated by commas."""
    return tidy_tags(text.split(","))


def _decoded(data: bytes) -> Labels:
    file = msgspec.json.decode(data, type=_File)
    return Labels(tidy_tags(file.tags), file.note, name=tidy_name(file.name))


def _encoded(file: _File) -> bytes:
    clean = _File([_clean(tag) for tag in file.tags], _clean(file.note), _clean(file.name))
    return msgspec.json.encode(clean)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


Change = Callable[[Labels], Labels]


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a change: the labels of each changed run `before` and `after` it.

    `why_not` says why others were not changed.
    """

    before: dict[RunDirectory, Labels]
    after: dict[RunDirectory, Labels]
    why_not: str = ""

    def undo(self) -> Changed:
        """Take the change back, and no more: what was written since stays."""
        back = _changed(
            {run: _taken_back(old, self.after[run]) for run, old in self.before.items()}
        )
        if back.before or back.why_not:
            return back
        return replace(back, why_not="It was changed anew since, and stays as it is.")


def _taken_back(before: Labels, after: Labels) -> Change:
    """What leads from `after` to `before`, for labels that may be neither any more."""
    was, is_now = ({tag.casefold() for tag in each.tags} for each in (before, after))

    def change(now: Labels) -> Labels:
        kept = [tag for tag in now.tags if tag.casefold() not in is_now - was]
        again = [tag for tag in before.tags if tag.casefold() not in is_now]
        return Labels(
            tags=before.tags if now.tags == after.tags else tidy_tags([*kept, *again]),
            note=before.note if now.note == after.note else now.note,
            name=before.name if now.name == after.name else now.name,
        )

    return change


def change_labels(runs: Iterable[RunDirectory], change: Change) -> Changed:
    """Change the labels of each run as they are on disk now; unchanged ones are not written.

    What another program changes at the same time is kept, unless this changes the same.
    """
    return _changed(dict.fromkeys(runs, change))


def _changed(changes: Mapping[RunDirectory, Change]) -> Changed:
    with ExitStack() as held:
        # In one order, so that two programs do not wait for each other.
        for folder in sorted({run.path.parent for run in changes}):
            _keep_others_from(folder, held)
        wanted = ((run, old := read_labels(run), change(old)) for run, change in changes.items())
        return _write({run: new for run, old, new in wanted if new != old})


def with_tags(tags: Sequence[str], shared: Sequence[str]) -> Change:
    """Replace the tags that all the runs shared, and keep each run's other tags."""
    gone = {tag.casefold() for tag in shared} - {tag.casefold() for tag in tags}
    return lambda labels: replace(
        labels,
        tags=tidy_tags([*(tag for tag in labels.tags if tag.casefold() not in gone), *tags]),
        problem="",
    )


def with_note(note: str) -> Change:
    """Replace the note."""
    return lambda labels: replace(labels, note=note, problem="")


def with_name(name: str) -> Change:
    """Replace the name; an empty one restores the plan's."""
    return lambda labels: replace(labels, name=tidy_name(name), problem="")


def shared_tags(several: Sequence[Labels]) -> tuple[str, ...]:
    """The tags common to all of them, in the order of the first."""
    if not several:
        return ()
    return tuple(tag for tag in several[0].tags if all(tag in labels.tags for labels in several))


def shared_note(several: Sequence[Labels]) -> str | None:
    """The note that all of them have; None if they differ."""
    notes = {labels.note for labels in several}
    return notes.pop() if len(notes) == 1 else None


def _write(wanted: dict[RunDirectory, Labels]) -> Changed:
    before: dict[RunDirectory, Labels] = {}
    after: dict[RunDirectory, Labels] = {}
    failed: list[str] = []
    for run, labels in wanted.items():
        old = read_labels(run)
        try:
            write_labels(run, labels)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            failed.append(f"{run.id}: {why or error}")
        else:
            before[run], after[run] = old, read_labels(run)
    return Changed(before, after, _sentence(failed))


def _sentence(failed: Sequence[str]) -> str:
    if not failed:
        return ""
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return (
        f"This could not be written on {failed[0]}{more}. Look whether the "
        "folder is there and may be written."
    )


def _keep_others_from(runs: Path, held: ExitStack) -> None:
    """Until `held` ends, other programs wait for a while before they change labels here.

    Where nothing can be locked, or another program holds the lock for long, nobody waits.
    """
    with suppress(OSError):
        descriptor = open_regular(runs / NUMBERS_FILE, os.O_RDWR)
        held.callback(os.close, descriptor)
        lock_if_there_are_locks(descriptor, _WAIT_SECONDS)


NUMBERS_FILE: Final = ".numbers"
_MOST_BYTES: Final = 64 * 1024 * 1024
_LONGEST_ID: Final = 255
"""Bytes: no folder has a longer name."""
_WAIT_SECONDS: Final = 2.0
Numbers = Mapping[str, int]


def number_of(run: RunDirectory) -> int | None:
    """The number of `run`; None if its folder has not assigned one."""
    return numbers_in(run.path.parent).get(run.id)


def numbers_in(runs: Path) -> Numbers:
    """The numbers assigned so far in this folder of runs, by run id."""
    path = runs / NUMBERS_FILE
    try:
        status = path.lstat()
        return _read_numbers(path, status.st_ino, status.st_size, status.st_mtime_ns)
    except OSError:
        return {}


def number_all(runs: Path, found: Iterable[RunDirectory]) -> Numbers:
    """The numbers of these runs of the folder; those without one get the next, oldest first.

    In another user's folder, or one that is not writable, new numbers are not stored and may differ
    next time.
    """
    names = [run.id for run in found]
    given = numbers_in(runs)
    if all(name in given for name in names):
        return given
    try:
        given = _give_numbers(runs, names)
    except OSError:
        given = numbers_in(runs)
    last = max(given.values(), default=0)
    missing = [name for name in names if name not in given]
    return {**given, **{name: last + place for place, name in enumerate(missing, 1)}}


def _give_numbers(runs: Path, names: Iterable[str]) -> Numbers:
    """Store the next numbers for those of these runs that have none.

    Raises OSError if that fails.
    """
    if runs.stat().st_uid != os.geteuid():
        raise PermissionError(f"{runs} belongs to somebody else.")
    descriptor = open_regular(runs / NUMBERS_FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        if not lock_if_there_are_locks(descriptor, _WAIT_SECONDS):
            raise TimeoutError(f"{runs / NUMBERS_FILE} is locked.")
        given = numbers_in(runs)
        # A name with a line break would be two lines.
        missing = [os.fsencode(name) for name in names if name not in given and "\n" not in name]
        if missing:
            cut = b"" if _ends_whole(descriptor) else b"\n"
            os.write(descriptor, cut + b"".join(name + b"\n" for name in missing))
    finally:
        os.close(descriptor)
    return numbers_in(runs)


def _ends_whole(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


@lru_cache(maxsize=8)
def _read_numbers(path: Path, _inode: int, _size: int, _changed: int) -> Numbers:
    """The numbers in this version of the file. Of two lines for one run the first counts."""
    found: dict[str, int] = {}
    for number, line in enumerate(read_regular(path, _MOST_BYTES).split(b"\n"), 1):
        if 0 < len(line) <= _LONGEST_ID:
            found.setdefault(os.fsdecode(line), number)
    return MappingProxyType(found)


def title(number: int | None, name: str) -> str:
    """A run's number and name; the name alone if it has no number."""
    return f"#{number} {name}" if number is not None else name


def title_of(run: RunDirectory) -> str:
    """The title of `run`, from its files."""
    return title(number_of(run), name_of(run))


def parent_title(run: RunDirectory, parent: str | None) -> str:
    """What the run with the id `parent`, which `run` was resumed from, is called now.

    Its id if it is not beside `run` any more; empty if there is none.
    """
    if parent is None:
        return ""
    with suppress(OSError, ValueError):  # a stranger may have written anything as an id
        folder = run.path.with_name(parent)
        if folder.is_dir():
            return title_of(RunDirectory(folder))
    return parent


def name_of(run: RunDirectory) -> str:
    """The name that a person gave to `run`, or else its plan's."""
    return read_labels(run).name or plan_name(run)


def plan_name(run: RunDirectory) -> str:
    """Return the name in the run's plan file; the run's id if that cannot be read."""
    try:
        text = read_regular(run.plan_file, LARGEST_BYTES).decode("utf-8-sig")
        name = toml_tables(text).get("name", run.id)
    except (OSError, ValueError):
        return run.id
    return str(name)
