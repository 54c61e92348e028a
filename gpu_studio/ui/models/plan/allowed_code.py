"""The files and folders of Python that their user has allowed, as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu_studio.runs.consent import Standing, allowances, read_code, standing
from gpu_studio.runs.wording import UNKNOWN
from gpu_studio.ui.models.plain_table import PlainTable
from gpu_studio.ui.models.plan.code_file import moment

_STANDING = {
    Standing.ALLOWED: "as it is now",
    Standing.CHANGED: "as it was: it has changed since",
    Standing.NEW: "as it was: a link stands there now",
}


@dataclass(frozen=True, slots=True)
class AllowedRow:
    """One of them: what is allowed of it, and when it was last changed, both in words."""

    path: Path
    allowed: str
    changed: str = UNKNOWN


class AllowedModel(PlainTable[AllowedRow]):
    """Where it is, what is allowed, when it changed."""

    headers = ("File or folder", "Allowed", "Last change")

    def key(self, row: AllowedRow) -> Path:
        """Its path."""
        return row.path

    def text(self, row: AllowedRow, column: int) -> str:
        """The words of a cell."""
        return (str(row.path), row.allowed, row.changed)[column]


def allowed_rows() -> tuple[list[AllowedRow], str]:
    """What is allowed, folders first; and why that cannot be said, else nothing."""
    known = allowances()
    folders = [_folder(Path(name)) for name in sorted(known.folders)]
    return [*folders, *(_file(Path(name)) for name in sorted(known.files))], known.problem


def _folder(path: Path) -> AllowedRow:
    return AllowedRow(path, "all in and below it" if path.is_dir() else "all in and below it: it is not there now")


def _file(path: Path) -> AllowedRow:
    try:
        said, changed = standing(path, read_code(path)), moment(path.stat().st_mtime)
    except FileNotFoundError:
        return AllowedRow(path, "as it was: it is not there now")
    except OSError as error:
        return AllowedRow(path, f"as it was: it cannot be read ({error.strerror or error})")
    return AllowedRow(path, _STANDING[said], changed)
