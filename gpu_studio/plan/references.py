"""References to a function in a Python file: `models.py:build_model`."""

from __future__ import annotations

from dataclasses import dataclass
from keyword import iskeyword
from pathlib import PurePath

SUFFIX = ".py"


@dataclass(frozen=True, slots=True)
class Reference:
    """The function `function` in the Python file `file`, as the plan writes its path."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"

    @property
    def file_name(self) -> str:
        """The file without its folders."""
        return PurePath(self.file).name


def reference(text: str) -> Reference | None:
    """Parse `text`; None if it is not of the form `file.py:function`.

    The last colon separates, as a folder's name may contain one.
    """
    file, colon, function = text.rpartition(":")
    name = PurePath(file).name
    if (
        not colon
        or not text.isprintable()
        or not name.lower().endswith(SUFFIX)
        or len(name) == len(SUFFIX)
    ):
        return None
    is_function = function.isidentifier() and not iskeyword(function)
    return Reference(file, function) if is_function else None
