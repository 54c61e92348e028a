"""Values that a person types into a field, read and written as a plan file has them."""

from __future__ import annotations

import math
import re
import tomllib
from typing import Any

from gpu_studio.plan.problems import shown
from gpu_studio.plan.reading import Reader
from gpu_studio.plan.values import Options
from gpu_studio.plan.writing import inline

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
HOW_TO_WRITE = 'Write it as in a plan file: 0.9, 5, true, "a text", [1, 2] or { key = 1 }.'


def read_toml(text: str) -> Any:
    """One value written as TOML. Raises ValueError with what to write."""
    try:
        tables = tomllib.loads(f"value = {text.strip()}")
    except (ValueError, RecursionError):
        raise ValueError(HOW_TO_WRITE) from None
    # A line break in the text could smuggle in a second key.
    if tables.keys() != {"value"}:
        raise ValueError(HOW_TO_WRITE)
    reader = Reader()
    read = reader.value(Options, "", tables)
    if reader.problems:
        raise ValueError(_advice(reader.problems[0].advice))
    return read["value"]


def read_whole(text: str) -> int:
    """A whole number; spaces between its digits, and commas between thousands, do not matter.

    Raises ValueError with what to write.
    """
    bare = re.sub(r"\s", "", text)
    try:
        return int(bare.replace(",", "") if _GROUPED.fullmatch(bare) else bare)
    except ValueError:
        raise ValueError("Give a whole number.") from None


def read_real(text: str) -> float:
    """A finite number, as 0.5, 0,5 or 1e-3. Raises ValueError with what to write."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("Give a number, as 0.001 or 1e-3.")
    return value


def read_wholes(text: str) -> list[int]:
    """Whole numbers with commas between them, in brackets or not. Raises ValueError with what to write."""
    inner = text.strip().removeprefix("[").removesuffix("]").strip()
    parts = re.split(r"\s*[,;]\s*|\s+", inner.strip(",; ")) if inner else []
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError("Give whole numbers with commas between them, as 256, 128.") from None


def write_wholes(value: Any) -> str:
    """`256, 128`; what is no list of whole numbers, as a plan file has it."""
    if isinstance(value, list | tuple) and value and all(type(each) is int for each in value):
        return ", ".join(map(str, value))
    return inline(value)


def write_number(value: Any) -> str:
    """A number as short as it can be said; what is none, as a plan file has it."""
    return repr(value) if type(value) in (int, float) else inline(value)


def default_in_words(value: Any) -> str:
    """A default as it stands in a hint: `default 256, 256`."""
    text = value if isinstance(value, str) else write_wholes(value) if isinstance(value, list) else shown(value)
    return f"default {text}"


def _advice(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
