"""The windows that are open, and what a program that starts later asks of them: open this plan.

Each window has a folder of its own in the user's runtime directory and holds a lock in it for as
long as it lives, so that nothing that a dead window leaves is mistaken for one. A request is a file
in that folder. The window that takes or refuses it renames the file, and so does the one who asked
and waits no longer; a file is renamed once, so a plan is opened once. A
socket, even a local one, would be a door that a program without servers need not have.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from gpu_studio.contract import lock
from gpu_studio.contract.files import json_line, make_private_directory, read_json, write_private

ANSWER_S: Final = 5.0
"""A window that has not answered by then is busy, or hangs."""
_STEP_S: Final = 0.01
_LOCK, _ASKED, _TAKEN, _REFUSED = "lock", ".asked", ".taken", ".refused"
_SURROUNDINGS: Final = (
    "DISPLAY", "WAYLAND_DISPLAY", "CUDA_VISIBLE_DEVICES", "GPU_STUDIO_SETTINGS",
    "GPU_STUDIO_SIMULATE", "GPU_STUDIO_PRACTICE",
)  # fmt: skip


class WindowRequest(msgspec.Struct, frozen=True):
    """What a window is asked: to open `plan`, an absolute path, or a `new` one, and show `page`.

    `here` must be the window's own surroundings. With `only`, a window refuses a plan that it has
    not open already. `token` is the desktop's leave to come to the front.
    """

    here: str
    plan: str = ""
    new: bool = False
    page: str = ""
    only: bool = False
    token: str = ""


def surroundings(runs_dir: Path) -> str:
    """What two windows must share to stand for each other: Python, runs, display, cards."""
    named = (f"{name}={os.environ.get(name, '')}" for name in _SURROUNDINGS)
    return "\n".join((sys.prefix, str(runs_dir), *named))


def windows_folder() -> Path | None:
    """Where the windows of this user on this computer are listed.

    None without a runtime directory that is the user's alone.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    with suppress(OSError):
        status = Path(runtime).stat()
        if runtime and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
            return Path(runtime) / "gpu-studio" / "windows"
    return None


class OpenWindow:
    """This process's window, as others see it until `close`. Raises OSError if it cannot be listed.

    New requests are new files in its `folder`.
    """

    def __init__(self, windows: Path) -> None:
        self.folder = windows / f"{os.getpid()}-{secrets.token_hex(4)}"
        make_private_directory(self.folder)
        self._lock = lock.reserve(self.folder / _LOCK)

    def requests(self) -> Iterator[tuple[Path, WindowRequest]]:
        """What is asked now, each with its file. What is no request is passed over."""
        for path in sorted(self.folder.glob(f"*{_ASKED}")):
            with suppress(OSError):
                yield path, read_json(path, _decoded)

    def answer(self, path: Path, *, take: bool) -> bool:
        """Take a request, or refuse it; whether there was still somebody who waited for that."""
        try:
            path.rename(path.with_suffix(_TAKEN if take else _REFUSED))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Be listed no more."""
        _clear(self.folder)
        self._lock.release()


def hand_over(request: WindowRequest, patience: float = ANSWER_S) -> bool:
    """Have a window that is open do it: one that has the plan open already, else the newest.

    Each has `patience` seconds to answer. Whether one has taken it.
    """
    windows = windows_folder()
    there = _alive(windows) if windows is not None else []
    for only in (True, False) if request.plan else (False,):
        asked = msgspec.structs.replace(request, only=only)
        for folder in list(there):
            answer = _ask(folder, asked, patience)
            if answer == _TAKEN:
                return True
            if answer is None:
                there.remove(folder)
    return False


def _alive(windows: Path) -> list[Path]:
    """The folders of the windows that live, the newest first; those of the dead are removed."""
    found = []
    with suppress(OSError):
        for folder in windows.iterdir():
            if lock.held(folder / _LOCK):
                found.append(((folder / _LOCK).stat().st_mtime_ns, folder))
            elif (folder / _LOCK).exists():
                _clear(folder)
    return [folder for _, folder in sorted(found, reverse=True)]


def _ask(folder: Path, request: WindowRequest, patience: float) -> str | None:
    """What the window answers; None if it does not, or cannot be asked."""
    path = folder / f"{secrets.token_hex(8)}{_ASKED}"
    try:
        write_private(path, json_line(request))
    except OSError:
        return None
    end = time.monotonic() + patience
    while time.monotonic() < end and path.exists():
        time.sleep(_STEP_S)
    with suppress(OSError):
        path.rename(path.with_suffix(".withdrawn"))
    answer = next((each for each in (_TAKEN, _REFUSED) if path.with_suffix(each).exists()), None)
    for suffix in (_TAKEN, _REFUSED, ".withdrawn"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    return answer


def _clear(folder: Path) -> None:
    with suppress(OSError):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _decoded(data: bytes) -> WindowRequest:
    return msgspec.json.decode(data, type=WindowRequest)
