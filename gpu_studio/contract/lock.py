"""The lock on `trainer.lock`, which a trainer holds from before its first instruction to its end.

The lock is BSD `flock`, which belongs to the open file and not to the process: the launcher opens
and locks the file, the trainer inherits the descriptor through `$GPU_STUDIO_LOCK_FD`, and the
launcher closes its own copy. So there is no moment without a holder, and the kernel releases the
lock the moment the trainer is gone, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from gpu_studio.common.safe_files import (
    WITHOUT_LOCKS,
    NotRegularError,
    lock_within,
    open_regular,
    read_text,
)
from gpu_studio.contract import kernel

ENVIRONMENT = "GPU_STUDIO_LOCK_FD"
_LONGEST_SIGNATURE = 64 * 1024
_LARGEST_PID, _MOST_DIGITS = 2**31 - 1, 19
"""Anybody may have written the signature: larger numbers than these no kernel gives."""
_RENEWAL_S = 2.0
"""Readers hold a lock for an instant."""


class LockHeldError(Exception):
    """Another trainer is alive in this run directory."""


class NoLocksError(OSError):
    """The file system has no locks, as some that several machines share."""

    def __init__(self, folder: Path, error: OSError) -> None:
        """`error` is what the system said of a lock in `folder`."""
        words = (
            f"this file system keeps no locks ({error.strerror}), by which every program sees that "
            "another is at work there. Choose a folder on another one, or have it mounted with "
            "locks (NFS: not with nolock; Lustre: with flock)"
        )
        super().__init__(error.errno, words, str(folder))


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that signed the lock, on the computer called `host`.

    `boot` is that computer's boot id (see `kernel.boot_id`), `memory_kills` the number of processes
    its kernel had killed for lack of memory when this one began, and `started` when that was (see
    `kernel.started`); empty or None if not known. `namespace` is that of its process id (see
    `kernel.pid_namespace`).
    """

    pid: int
    host: str
    boot: str = ""
    memory_kills: int | None = None
    started: int | None = None
    namespace: str = ""

    @property
    def is_here(self) -> bool:
        """Whether that process runs on this computer."""
        return self.host == socket.gethostname()

    @property
    def is_gone(self) -> bool:
        """Whether the process has certainly ended: it would be visible here, and is not there."""
        return self._is_visible and not self._runs and not kernel.is_hidden(self.pid)

    @property
    def is_alive(self) -> bool:
        """Whether the process certainly lives: it is visible here."""
        return self._is_visible and self._runs

    @property
    def _is_visible(self) -> bool:
        """Whether it would be visible here, if it lives."""
        if not self.is_here or self.started is None or not self.boot or not self.namespace:
            return False
        return (self.boot, self.namespace) == (kernel.boot_id(), kernel.pid_namespace())

    @property
    def _runs(self) -> bool:
        return kernel.started(self.pid) == self.started


_ours: WeakSet[Lock] = WeakSet()
"""The locks of this process.

A child that is forked, as `multiprocessing` does in a user's own code, has no share.
"""


def _let_go_in_child() -> None:
    for one in list(_ours):
        one.hand_over()


os.register_at_fork(after_in_child=_let_go_in_child)


class Lock:
    """A lock that this process holds until `release`, or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        _ours.add(self)

    def sign(self, pid: int) -> None:
        """Write into the file that process `pid` of this computer holds it.

        Skipped if the disk is full.
        """
        known = (
            pid,
            socket.gethostname(),
            kernel.boot_id(),
            kernel.memory_kills(),
            kernel.started(pid),
            kernel.pid_namespace(),
        )
        words = ("-" if word in (None, "") else str(word) for word in known)
        with contextlib.suppress(OSError):
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, f"{' '.join(words)}\n".encode(), 0)

    def leave_word(self, words: str) -> None:
        """Write `words` below the signature. This works on a full disk: the space is allocated."""
        line = f"{words}\n".encode("utf-8", "surrogateescape")  # a path may be no UTF-8
        with contextlib.suppress(OSError):
            os.pwrite(self.descriptor, line, os.fstat(self.descriptor).st_size)

    @property
    def signed(self) -> bool:
        """Whether a holder has signed."""
        return os.fstat(self.descriptor).st_size > 0

    @property
    def deleted(self) -> bool:
        """Whether the file was removed, so that nobody can see that the lock is held."""
        return os.fstat(self.descriptor).st_nlink == 0

    @property
    def place(self) -> Path | None:
        """Where the file is now, also if its folder was moved; None if it is gone or not known."""
        try:
            return None if self.deleted else Path(f"/proc/self/fd/{self.descriptor}").readlink()
        except OSError:  # released, or a system without /proc
            return None

    def renew(self, path: Path) -> None:
        """Hold a new file at `path`, as the one that was there is gone: only so is a holder seen.

        Nothing is done where another has come in between, or where no file can be made.
        """
        with contextlib.suppress(OSError):
            descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            try:
                if lock_within(descriptor, _RENEWAL_S):
                    os.dup2(descriptor, self.descriptor, inheritable=False)
                    self.sign(os.getpid())
            finally:
                os.close(descriptor)

    def release(self) -> None:
        """Release the lock for every process that shares it. Releasing it twice is harmless."""
        if self.descriptor >= 0:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
            self.hand_over()

    def hand_over(self) -> None:
        """Close this process's copy; the process that inherited the lock still holds it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def take(path: Path, timeout: float = 2.0) -> Lock:
    """Hold the lock at `path`: the inherited one if the launcher passed it, else a new one.

    A reader's probe holds the lock for an instant, so taking it is tried for `timeout` seconds.
    Raises LockHeldError if another trainer has it, OSError if the file cannot be opened or locked.
    """
    return adopt(path) or _signed(reserve(path, timeout))


def reserve(path: Path, timeout: float = 2.0) -> Lock:
    """Hold the lock at `path`, unsigned, for a process that has not been started yet.

    Raises as `take` does.
    """
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        if not lock_within(descriptor, timeout):
            raise LockHeldError(
                f"Another trainer is already at work in {path.parent}: stop it first."
            )
    except OSError as error:
        os.close(descriptor)
        if error.errno in WITHOUT_LOCKS:
            raise NoLocksError(path.parent, error) from error
        raise
    except BaseException:
        os.close(descriptor)
        raise
    return Lock(descriptor)


def adopt(path: Path) -> Lock | None:
    """Return the lock at `path` inherited from the launcher; None if none was.

    Child processes do not inherit it, and the variable that names it is removed from the
    environment so that none mistakes it for its own.
    """
    descriptor = _named_descriptor(os.environ.pop(ENVIRONMENT, ""))
    if descriptor is None or not _is_file(descriptor, path):
        return None
    os.set_inheritable(descriptor, False)
    return _signed(Lock(descriptor))


def held(path: Path) -> bool:
    """Say whether a process holds the lock at `path`. Never waits, and never blocks a trainer.

    A lock whose signer is gone counts as free: a process that it started has inherited it by
    mistake. Where there are no locks any more, it is held if its signer is known to live.
    """
    try:
        descriptor = open_regular(path)
    except (
        FileNotFoundError,
        NotADirectoryError,
        IsADirectoryError,
        NotRegularError,
        PermissionError,
    ):
        return False  # nobody can have locked it, or this user may not know
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except BlockingIOError:
        signer = last_holder(path)
        return signer is None or not signer.is_gone
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
        signer = last_holder(path)
        return signer is not None and signer.is_alive
    finally:
        os.close(descriptor)
    return False


def holder(path: Path) -> Holder | None:
    """Return who holds the lock at `path` now.

    None if nobody does, or if the holder has not signed yet.
    """
    return last_holder(path) if held(path) else None


def last_holder(path: Path) -> Holder | None:
    """Return who held the lock at `path` last, or holds it now; None if nobody ever signed it."""
    signature, _, _ = _text(path).partition("\n")
    pid, host, boot, kills, started, namespace = (*signature.split(), *[""] * 6)[:6]
    number = _number(pid)
    if not number or number > _LARGEST_PID:
        return None
    return Holder(
        number, host, boot.strip("-"), _number(kills), _number(started), namespace.strip("-")
    )


def last_words(path: Path) -> str:
    """Return the text that the lock's last holder left below its signature; empty if none."""
    return _text(path).partition("\n")[2].strip()


def _text(path: Path) -> str:
    try:
        return read_text(path, _LONGEST_SIGNATURE)
    except OSError:
        return ""


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() and len(word) <= _MOST_DIGITS else None


def _signed(lock: Lock) -> Lock:
    try:
        lock.sign(os.getpid())
    except BaseException:
        lock.hand_over()
        raise
    return lock


def _named_descriptor(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
