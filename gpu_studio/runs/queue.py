"""The queue of a runs directory: plans that wait for their devices, in a person's chosen order."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio import plan as plans
from gpu_studio.common.processes import start_in_background
from gpu_studio.common.safe_files import read_text
from gpu_studio.contract import (
    Resume,
    json_line,
    lock,
    make_own_directory,
    read_json,
    refuse_link,
    slug,
    write_private,
)
from gpu_studio.plan import LARGEST_BYTES, AbsolutePlan, PlanError
from gpu_studio.runs.paths import command_in
from gpu_studio.runs.queue_entry import HELD_BY_HAND, QueueEntry, Removed, Wait

FOLDER, RUNNER_LOCK = "queue", "queue.lock"
_EDIT_SECONDS = 5.0
STARTING_SECONDS = 5.0
"""A runner that was started for a change of the queue is there after so long."""


class QueueError(Exception):
    """The request to the queue is impossible: why, and what to do, in words."""


class Queue:
    """The queue of the runs directory `runs`. Changes raise OSError if the disk refuses them."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.folder = runs / FOLDER
        self.runner_lock = runs / RUNNER_LOCK

    @property
    def has_runner(self) -> bool:
        """Whether a runner process is active."""
        return lock.held(self.runner_lock)

    @property
    def is_forsaken(self) -> bool:
        """Whether something may start and no runner is there to start it, as after a reboot."""
        # By more than that it is in the future where the clock was set back.
        if self.has_runner or abs(time.time() - self.version() / 1e9) < STARTING_SECONDS:
            return False
        return bool(self.startable())

    def entries(self) -> tuple[QueueEntry, ...]:
        """Every entry, the next one first, without those whose files cannot be read."""
        order = self._order()
        found = [
            entry
            for path in self.folder.glob("*.plan.toml")
            if (entry := self._entry(_id_of(path)))
        ]
        ranks = {name: rank for rank, name in enumerate(order)}
        return tuple(
            sorted(found, key=lambda each: (ranks.get(each.id, len(ranks)), each.added, each.id))
        )

    def startable(self) -> tuple[QueueEntry, ...]:
        """The entries that are not held."""
        return tuple(entry for entry in self.entries() if not entry.held)

    def waits(self) -> dict[str, Wait]:
        """What each entry waits for, as last written by the runner."""
        return _read(self.folder / "waits.json", dict[str, Wait]) or {}

    def version(self) -> int:
        """A number that changes with every change of the queue."""
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return 0

    def find(self, text: str) -> QueueEntry:
        """The entry that `text` means: its id, a prefix of it, or a part of only one.

        Raises QueueError.
        """
        known = {entry.id: entry for entry in self.entries()}
        if text in known:
            return known[text]
        candidates = [name for name in known if name.startswith(text)] or [
            name for name in known if text in name
        ]
        if len(candidates) == 1 and text:
            return known[candidates[0]]
        if not known:
            raise QueueError(empty(self.runs))
        there = ", ".join(candidates or known)
        raise QueueError(f"{text!r} is no one entry of the queue: write which of {there}.")

    def plan_of(self, entry: QueueEntry) -> AbsolutePlan:
        """The entry's plan. Raises PlanError."""
        return plans.with_absolute_files(plans.load(self._plan_file(entry.id)), Path(entry.base))

    def add(
        self,
        plan: AbsolutePlan,
        base: Path,
        *,
        predicted: Mapping[str, int] | None = None,
        incomplete: tuple[str, ...] = (),
        bounds: tuple[str, ...] = (),
        resume: Resume | None = None,
    ) -> QueueEntry:
        """Append a plan, whose trainer starts in `base`. With `resume` it continues a run."""
        name = f"{slug(plan.name)[:24].strip('-')}-{secrets.token_hex(2)}"
        entry = QueueEntry(
            id=name,
            name=plan.name,
            added=time.time(),
            base=str(base.absolute()),
            predicted=dict(predicted or {}),
            incomplete=incomplete,
            bounds=bounds,
            run=resume.run.id if resume else "",
            checkpoint=resume.checkpoint.name if resume else "",
        )
        text = plans.dumps(plan)
        self.restore(Removed(entry, text, len(self.entries())))
        return entry

    def restore(self, removed: Removed) -> None:
        """Put an entry back in its previous position."""
        with self.editing():
            order = [each.id for each in self.entries() if each.id != removed.entry.id]
            self._write(removed.entry)
            write_private(self._plan_file(removed.entry.id), removed.text.encode())
            order.insert(removed.place, removed.entry.id)
            self._put("order.json", order)

    def remove(self, name: str) -> Removed:
        """Remove an entry. Raises QueueError if it is gone, as when it was just started."""
        with self.editing():
            order = [each.id for each in self.entries()]
            entry = self._there(name)
            text = read_text(self._plan_file(name), LARGEST_BYTES)
            self._drop(name)
            return Removed(entry, text, order.index(name))

    def move(self, name: str, place: int) -> None:
        """Move an entry to position `place`, 0 being the next; values out of range are clamped."""
        with self.editing():
            self._there(name)
            order = [each.id for each in self.entries() if each.id != name]
            order.insert(max(0, place), name)
            self._put("order.json", order)

    def shift(self, name: str, by: int) -> None:
        """Move an entry `by` places down, or up if negative."""
        order = [each.id for each in self.entries()]
        if name in order:
            self.move(name, order.index(name) + by)

    def hold(self, name: str, why: str = HELD_BY_HAND) -> None:
        """Hold an entry until it is released."""
        self.change(name, held=why, now=False, claimed=0.0)

    def release(self, name: str) -> None:
        """Let an entry start when its devices have the memory."""
        self.change(name, held="")

    def let_pass(self, name: str) -> None:
        """Let later entries start on the devices that an entry waits for."""
        self.change(name, lets_pass=True)

    def keep(self, name: str) -> None:
        """Reserve the devices that an entry waits for again."""
        self.change(name, lets_pass=False)

    def start_now(self, name: str) -> None:
        """Make the runner start an entry next, whatever is free."""
        self.change(name, held="", now=True)

    def change(self, name: str, **values: Any) -> None:
        """Change an entry's data. Raises QueueError if it is gone."""
        with self.editing():
            self._write(msgspec.structs.replace(self._there(name), **values))

    def drop(self, name: str) -> None:
        """Remove an entry that was started."""
        with self.editing():
            self._drop(name)

    def tell(self, waits: Mapping[str, str]) -> None:
        """Write what the entries wait for, if that changed, and keep the times since when.

        For the runner.
        """
        before, now = self.waits(), time.time()
        reported = {name: _since(Wait(text, now), before.get(name)) for name, text in waits.items()}
        if reported != before:
            self._put("waits.json", reported)

    @contextmanager
    def editing(self) -> Iterator[None]:
        """Hold the lock for changes to the queue.

        Raises QueueError if another process holds it too long.
        """
        make_own_directory(self.folder)
        try:
            held = lock.take(self.folder / ".lock", _EDIT_SECONDS)
        except lock.LockHeldError:
            raise QueueError(
                f"Another process is changing the queue in {self.folder}: try again."
            ) from None
        try:
            yield
        finally:
            held.release()

    def _there(self, name: str) -> QueueEntry:
        entry = self._entry(name)
        if entry is None:
            raise QueueError(f"{name} is no longer in the queue: it was started or removed.")
        return entry

    def _entry(self, name: str) -> QueueEntry | None:
        found: QueueEntry | None = _read(self.folder / f"{name}.json", QueueEntry)
        # Anybody may have written it: a path for a name would have files elsewhere changed.
        is_its_own = found is not None and found.id == name and _is_name(name)
        return found if found and is_its_own and _is_name(found.run or name) else None

    def _write(self, entry: QueueEntry) -> None:
        self._put(f"{entry.id}.json", entry)

    def _drop(self, name: str) -> None:
        self._plan_file(name).unlink(missing_ok=True)
        (self.folder / f"{name}.json").unlink(missing_ok=True)

    def _order(self) -> list[str]:
        return _read(self.folder / "order.json", list[str]) or []

    def _put(self, name: str, value: Any) -> None:
        refuse_link(self.folder)
        write_private(self.folder / name, json_line(value))

    def _plan_file(self, name: str) -> Path:
        return self.folder / f"{name}.plan.toml"


def why(error: PlanError | OSError) -> str:
    """An error as one line, as the reason why an entry is held."""
    if isinstance(error, PlanError):
        return " ".join(str(problem) for problem in error.problems)
    return (
        f"{error.filename}: {error.strerror}" if error.strerror and error.filename else str(error)
    )


def _since(wait: Wait, before: Wait | None) -> Wait:
    goes_on = before is not None and before.what == wait.what
    return Wait(wait.text, before.since) if before is not None and goes_on else wait


def _is_name(text: str) -> bool:
    return os.sep not in text and text not in (".", "..")


def _id_of(path: Path) -> str:
    return path.name.removesuffix(".plan.toml")


def _read(path: Path, kind: Any) -> Any:
    try:
        return read_json(path, msgspec.json.Decoder(kind).decode)
    except OSError:
        return None


LOG = "runner.log"


def empty(runs: Path) -> str:
    """Say that the queue of this folder is empty, and how to fill it."""
    return f"The queue is empty: add a plan, with: {command_in(runs, 'queue add PLAN')}"


def ensure_runner(runs: Path) -> subprocess.Popen[bytes] | None:
    """Start the runner of the queue of `runs` if it has work and none is active; return at once.

    It outlives this process. Call `poll` on it from time to time while this process lives. None if
    there is no work for it. Raises OSError if it cannot be started.
    """
    queue = Queue(runs)
    if queue.has_runner or not queue.startable():
        return None
    make_own_directory(queue.folder)
    return start_in_background(("--runs-dir", str(runs), "queue", "run"), queue.folder / LOG)
