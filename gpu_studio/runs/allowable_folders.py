"""Which folders may be allowed whole: none where files appear that the user never meant to run."""

from __future__ import annotations

import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_downloads_path

_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108  to tell them from others
_ELSEWHERE = "Move it into your home folder, or allow its files one by one."


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a folder cannot be allowed as a whole, as the end of a sentence.

    And what to do instead, in a sentence.
    """

    reason: str
    advice: str


def objection(folder: Path) -> Objection | None:
    """The reason not to allow all Python in and below `folder`; None if there is none."""
    real = folder.resolve()
    if Path.home().resolve().is_relative_to(real):
        return Objection(
            "all files of its user are below it", "Allow files in it, or a folder below it."
        )
    if real in _TEMPORARY:
        return Objection(
            "temporary files of all programs are put there", "Allow files in it one by one."
        )
    if real.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        reason = (
            "it is among temporary files, and once it is gone anybody "
            "may put one of that name there"
        )
        return Objection(reason, _ELSEWHERE)
    if real.is_relative_to(user_downloads_path().resolve()):
        return Objection("whatever is downloaded is put there", _ELSEWHERE)
    try:
        others_write = bool(real.stat().st_mode & stat.S_IWOTH)
    except OSError as error:
        return Objection(
            f"it cannot be looked at ({error.strerror or error})", "Look whether it is there."
        )
    if others_write:
        advice = "Take that right from them, with chmod o-w, or allow its files one by one."
        return Objection("every user of this computer can put files there", advice)
    return None


def why_not(folder: Path) -> str:
    """Why Python in and below `folder` cannot be allowed at once, as the end of a sentence.

    Empty if it can be.
    """
    found = objection(folder)
    return found.reason if found else ""
