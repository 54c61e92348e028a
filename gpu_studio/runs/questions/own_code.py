"""Questions about plans with the user's Python code, asked only once it is allowed.

They are asked again when the code changes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from gpu_studio.contract.own_modules import code_files
from gpu_studio.plan import Plan
from gpu_studio.plan.problems import listed
from gpu_studio.runs.questions.ask import AskError
from gpu_studio.runs.sources import consent_needed

MOST_FILES = 500
"""So many Python files of a folder are looked at for changes: a question waits for that."""
_MOST_ENTRIES = 10_000


class NotAllowedError(AskError):
    """The question was not asked, because it would run `files`, which are not allowed as they are.

    `short` says so without advice.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        are = "is" if len(files) == 1 else "are"
        self.files = tuple(files)
        self.short = f"{listed(path.name for path in files)} {are} not allowed yet"
        super().__init__(
            f"{self.short}: read first, then allow (gpu-studio code allow "
            f"{shlex.join(map(str, files))})."
        )


def refuse_unless_allowed(plan: Plan, base: Path) -> None:
    """Raise NotAllowedError if a question about `plan` would run code that is not allowed."""
    if needed := consent_needed(plan, base):
        raise NotAllowedError([path for path, _ in needed])


def files_of_code(plan: Plan, base: Path) -> list[str]:
    """The Python files that an answer about `plan` depends on: those that it runs, and all beside.

    Includes those of packages there; at most MOST_FILES in total.
    """
    named = code_files(plan, base)
    beside = (
        path
        for folder in dict.fromkeys(file.parent for file in named)
        for path in _python_files(folder)
    )
    return [str(path) for path in dict.fromkeys((*named, *islice(beside, MOST_FILES)))]


def _python_files(folder: Path) -> Iterator[Path]:
    entries = _entries(folder)
    yield from (path for path in entries if path.suffix == ".py")
    for package in entries:
        inside = [] if package.suffix else _entries(package)
        if any(path.name == "__init__.py" for path in inside):
            yield from (path for path in inside if path.suffix == ".py")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(islice(folder.iterdir(), _MOST_ENTRIES))
    except OSError:  # a file, or gone
        return []
