"""Files opened and written safely, wherever others may have put something in their place.

What is no regular file is refused before it is opened: a pipe would block forever, a device may
never end or may act, and a symbolic link reads or writes something else. Links are followed
only where the user chose the name (`follow`). Every refusal is an OSError with reason and file
name.

A file on disk is replaced whole or not at all; a symbolic link stays one. A new file can be
read by its owner only; one that replaces a file of the same user keeps that file's permissions.
A path that is not a file on disk (`/dev/stdout`, a pipe, `/dev/null`) is written to and never
replaced. No spreadsheet evaluates the text of a CSV line as a formula.
"""

from __future__ import annotations

import csv
import errno
import fcntl
import io
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from gpu_studio.common.figures import size

PRIVATE_FILE = 0o600
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link, which is not followed here",
}


class NotRegularError(OSError):
    """The path is not a regular file."""


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Open the regular file at `path` with `os.open` flags; a new file is 0600. Never blocks.

    Child processes do not inherit the descriptor. Raises NotRegularError, IsADirectoryError,
    OSError.
    """
    _refuse_irregular(path, follow=follow)
    unfollowed = 0 if follow else os.O_NOFOLLOW
    descriptor = os.open(
        path, flags | unfollowed | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, PRIVATE_FILE
    )
    # Checked again: it may have been replaced since.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegularError(errno.EINVAL, "this is no file", str(path))


def opened(path: Path, *, follow: bool = False) -> BinaryIO:
    """Open the regular file at `path` for reading in pieces; raises as `open_regular` does."""
    return os.fdopen(open_regular(path, follow=follow), "rb")


def read_regular(path: Path, most: int, *, follow: bool = False) -> bytes:
    """Read all of the regular file at `path`.

    Raises as `open_regular` does, and OSError if the file is larger than `most` bytes.
    """
    with opened(path, follow=follow) as file:
        held = file.read(most + 1)
    if len(held) > most:
        raise OSError(
            errno.EINVAL, f"this is larger than the {size(most)} that it may have", str(path)
        )
    return held


def read_text(path: Path, most: int, *, follow: bool = False) -> str:
    """As `read_regular`, as text: bytes that are not UTF-8 become replacement characters."""
    return read_regular(path, most, follow=follow).decode("utf-8", "replace")


def _refuse_irregular(path: Path, *, follow: bool) -> None:
    try:
        mode = path.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        return  # it may be created, or opening it raises the same error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise NotRegularError(errno.EINVAL, f"this is no file, but {kind}", str(path))


_MOST_LINKS = 40
"""After so many links Linux, too, takes a path for a circle."""
_DESCRIPTORS = Path("/proc")


_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing alone, which do not say of which file."""


def write_output(path: Path, parts: Iterable[bytes]) -> None:
    """Write `parts` to `path` as they arrive.

    Raises OSError and leaves the previous file intact.
    """
    try:
        if is_stream(path):
            _write_into(path, parts)
        else:
            target = Path(os.path.realpath(path))
            replace_whole(target, parts, _permissions(target))
    except OSError as error:
        if error.filename is None and error.errno in _DISK_FULL:
            error.filename = str(path)
        raise


def is_stream(path: Path) -> bool:
    """Say whether `path` is a pipe, a terminal, a device, or an open file of this process."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _names_a_descriptor(path))


def _permissions(path: Path) -> int:
    """The permissions of the user's own file at `path`; otherwise those of a new file."""
    try:
        status = path.stat()
    except OSError:
        return PRIVATE_FILE
    return stat.S_IMODE(status.st_mode) & 0o777 if status.st_uid == os.geteuid() else PRIVATE_FILE


def _names_a_descriptor(path: Path) -> bool:
    """Whether the path names an open file by its descriptor, such as `/dev/stdout`, `/dev/fd/3`."""
    for _ in range(_MOST_LINKS):
        if Path(os.path.realpath(path.parent)).is_relative_to(_DESCRIPTORS):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _write_into(path: Path, parts: Iterable[bytes]) -> None:
    if stat.S_ISBLK(path.stat().st_mode):
        raise OSError(
            errno.EINVAL, "this is a disk, which would be overwritten: name a file", str(path)
        )
    # Appended, because a file that the shell redirects to may already have content. Opening a pipe
    # that nobody reads would otherwise block forever.
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK
        )
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(
            errno.ENXIO, "nobody reads this pipe: start its reader first", str(path)
        ) from error
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines(parts)


def replace_whole(target: Path, parts: Iterable[bytes], permissions: int = PRIVATE_FILE) -> None:
    """Write `parts` to `target` so that a reader sees either the old file or the whole new one.

    The temporary file has an unpredictable name, at which nobody can have planted a link. Raises
    OSError, which names the target.
    """
    descriptor, temporary = _temporary_beside(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fchmod(file.fileno(), permissions)
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None and error.errno in _DISK_FULL:
            error.filename = str(target)
        raise


def remove_older(paths: Iterable[Path], end: float) -> list[Path]:
    """Remove what was last changed at `end` (s since 1970) or before, with all that is in it.

    Of a link it is the link, and not what that leads to. What cannot be removed stays. Returns
    those that were so old.
    """
    old = [path for path in paths if _changed_by(path, end)]
    for path in old:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
    return old


def _changed_by(path: Path, end: float) -> bool:
    try:
        return path.lstat().st_mtime <= end
    except OSError:  # gone meanwhile
        return False


def unnamed_file(folder: Path) -> BinaryIO:
    """Create a file without a name on the disk of `folder`, which is made (0700) if need be.

    It can be read and written, and is gone once it is closed, or its process has ended. Raises
    OSError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)


def _temporary_beside(target: Path) -> tuple[int, Path]:
    """Create a file (0600) in the same folder; return its descriptor and path.

    Raises OSError, which names the target.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    return descriptor, Path(name)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a spreadsheet takes a cell for a formula (OWASP, *CSV Injection*)."""


def csv_line(cells: Iterable[Any], separator: str = ",") -> str:
    """Return the cells as one CSV line. None is an empty cell; no text is taken for a formula."""
    text = io.StringIO()
    # With this line terminator, a cell that contains either of its characters is quoted.
    lines = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    lines.writerow([_harmless(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n")


def _harmless(cell: Any) -> Any:
    return (
        f"'{cell}"
        if isinstance(cell, str) and cell.startswith(_FORMULA) and not _is_number(cell)
        else cell
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What file systems without locks say."""
_RETRY_SECONDS = 0.01


@contextmanager
def in_turn(path: Path, seconds: float) -> Iterator[None]:
    """Hold a lock on the file at `path` while entered, or after `seconds` of waiting go without.

    Raises OSError where the file cannot be opened.
    """
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        lock_if_there_are_locks(descriptor, seconds)
        yield
    finally:
        os.close(descriptor)


def lock_if_there_are_locks(descriptor: int, seconds: float) -> bool:
    """As `lock_within`, for what may be done without a lock where the file system has none."""
    try:
        return lock_within(descriptor, seconds)
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            return True
        raise


def lock_within(descriptor: int, seconds: float) -> bool:
    """Lock the open file exclusively; return whether that succeeded within `seconds`.

    Raises OSError if its file system knows no locks.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_RETRY_SECONDS)
        else:
            return True
