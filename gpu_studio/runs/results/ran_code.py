"""The user's Python code that a run used, compared with its files' present content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpu_studio.contract import Code
from gpu_studio.contract.consent import digest
from gpu_studio.plan.local_modules import read_code

_SHOWN = 12
"""Digits of a SHA-256 that tell files apart for a person."""
_WORDS = {"same": "", "changed": ", which has changed since", "gone": ", which is no longer there"}


@dataclass(frozen=True, slots=True)
class RanCode:
    """The code of the plan's `part`; `sha256` is the file's as it ran, `now` its present status.

    `function` is empty for a module that was imported from the folder of the named file.
    """

    part: Literal["model", "data", "training"]
    file: str
    function: str
    sha256: str
    now: Literal["same", "changed", "gone"]

    @property
    def label(self) -> str:
        """A label that names its role: `code of the model`, `helper.py for the model`."""
        return (
            f"code of the {self.part}"
            if self.function
            else f"{Path(self.file).name} for the {self.part}"
        )

    @property
    def words(self) -> str:
        """In words: `build_model in models.py, SHA-256 043d1275078f, which has changed since`."""
        name = Path(self.file).name
        what = f"{self.function} in {name}" if self.function else f"{name}, imported"
        return f"{what}, SHA-256 {self.sha256[:_SHOWN]}{_WORDS[self.now]}"


def ran_code(reported: Iterable[Code]) -> tuple[RanCode, ...]:
    """The code that a run reported, compared with the files."""
    return tuple(
        RanCode(each.part, each.file, each.function, each.sha256, _now(each)) for each in reported
    )


def _now(code: Code) -> Literal["same", "changed", "gone"]:
    try:
        return "same" if digest(read_code(Path(code.file))) == code.sha256 else "changed"
    except FileNotFoundError:
        return "gone"
    except (OSError, ValueError):
        return "changed"
