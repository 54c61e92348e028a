"""Tell somebody without a terminal why there is no window: a dialog or a notification, and a log.

A window that is started from a menu has nowhere to write to. What keeps it from opening may be Qt
itself, so the dialog is a process of its own, and after it come the desktop's own programs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, suppress
from html import escape
from pathlib import Path
from typing import Any, Final, TextIO, cast

from gpu_studio.cli.command import REFUSED, escaped, make_streams_whole

TITLE: Final = "GPU Studio could not start"
_MOST: Final = 4000
"""Letters that are shown at most; of a traceback the log has all."""
_BUS: Final = "org.freedesktop.Notifications"


def has_terminal() -> bool:
    """Whether somebody can read what is written."""
    return any(map(os.isatty, range(3)))


def with_errors_shown(work: Callable[[], int]) -> int:
    """Do the work of a command; what it refuses, and what breaks it, is shown, not only written."""
    make_streams_whole()
    heard = _Heard(sys.stderr)
    try:
        with redirect_stderr(cast("TextIO", heard)):
            code = work()
    except Exception as error:  # noqa: BLE001 - nobody else is there to tell of it
        written = traceback.format_exc()
        sys.stderr.write(written)
        show(f"{type(error).__name__}: {error}", written)
        return REFUSED
    if code == REFUSED and heard.text.strip():
        show(heard.text.strip())
    return code


class _Heard:
    """Keeps the beginning of what is written, and is `stream` in all else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text[: _MOST - len(self.text)]
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def show(text: str, whole: str = "") -> None:
    """Show the text by the first means that works; the log has the `whole`, by default the same."""
    log = _noted(whole or text)
    place = f"\n\nThis is noted in {log}." if log else "\n\nIt could be noted in no file."
    own = text.removeprefix("gpu-studio: ")
    said = escaped(own[:1].upper() + own[1:])[:_MOST] + place
    for command in _means(said):
        with suppress(OSError):
            if (
                subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode
                == 0
            ):
                return


def _noted(text: str) -> Path | None:
    """Where the text now stands in a file, in place of that of the last time."""
    from gpu_studio.common.safe_files import replace_whole

    log = _log_folder() / "start.log"
    try:
        for folder in (log.parent.parent, log.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_whole(log, [f"{text}\n".encode(errors="backslashreplace")])
    except OSError:
        return None
    return log


def _log_folder() -> Path:
    """Where the window's errors are noted, too; also in an environment that lacks packages."""
    try:
        from platformdirs import user_log_path
    except ImportError:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
        return state / "gpu-studio/log"
    return user_log_path("gpu-studio")


def _means(text: str) -> Iterator[list[str]]:
    """What may show the text: on a display our own dialog, or another's; else a notification."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        yield [sys.executable, "-P", "-m", "gpu_studio.ui.window.start_failure", TITLE, text]
        yield from _installed(
            ["kdialog", "--title", TITLE, "--error", escape(text, quote=False)],
            ["zenity", "--error", "--no-markup", f"--title={TITLE}", f"--text={text}"],
            ["xmessage", "-center", "-title", TITLE, text],
        )
    quoted = [json.dumps(part, ensure_ascii=False) for part in (TITLE, escape(text, quote=False))]
    call = [
        "gdbus",
        "call",
        "--session",
        f"--dest={_BUS}",
        "--object-path=/org/freedesktop/Notifications",
    ]
    yield from _installed(
        ["notify-send", "-u", "critical", "-a", "GPU Studio", TITLE, escape(text, quote=False)],
        [
            *call,
            f"--method={_BUS}.Notify",
            "GPU Studio",
            "0",
            "gpu-studio",
            *quoted,
            "[]",
            "{}",
            "0",
        ],
    )


def _installed(*commands: list[str]) -> Iterator[list[str]]:
    return (command for command in commands if shutil.which(command[0]))
