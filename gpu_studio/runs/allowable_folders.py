"""Which folders may be allowed as a whole: none in which files appear that their user never meant to run."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from platformdirs import user_downloads_path

_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108  to tell them from others


def why_not(folder: Path) -> str:
    """Why Python in and below `folder` cannot be allowed at once, as the end of a sentence; empty if it can be."""
    real = folder.resolve()
    if Path.home().resolve().is_relative_to(real):
        return "all files of its user are below it"
    if real in _TEMPORARY or real.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        return "temporary files of all programs are put there"
    if real.is_relative_to(user_downloads_path().resolve()):
        return "whatever is downloaded is put there"
    try:
        others_write = bool(real.stat().st_mode & stat.S_IWOTH)
    except OSError as error:
        return f"it cannot be looked at ({error.strerror or error})"
    return "every user of this computer can put files there" if others_write else ""
