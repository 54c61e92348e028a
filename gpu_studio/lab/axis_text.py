"""Axes of a study as a person types them: a field of the plan, and values with commas between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gpu_studio.common.toml_text import toml_tables
from gpu_studio.lab.study import StudyAxis, axis_of
from gpu_studio.plan import inline

_HOW: Final = 'Write values with commas between them, as 0.001, 0.01 or "adam", "sgd".'


def values_in(text: str) -> list[Any]:
    """The values typed: as in a plan file, and words without quotes are texts.

    Raises ValueError with what to write.
    """
    inner = text.strip()
    try:
        tables = toml_tables(f"values = [{inner}]")
    except ValueError:
        words = [word.strip() for word in inner.split(",") if word.strip()]
        if any(set(word) & set("[]{}\"'=\n") for word in words):
            raise ValueError(_HOW) from None
        return [_value(word) for word in words]
    # A line break in the text could smuggle in a second key.
    if tables.keys() != {"values"}:
        raise ValueError(_HOW)
    return list(tables["values"])


def _value(word: str) -> Any:
    try:
        return toml_tables(f"value = {word}")["value"]
    except ValueError:
        return word


def typed_axis(field: str, text: str) -> StudyAxis:
    """The axis as it was typed. Raises ValueError with what to write."""
    if not field.strip():
        raise ValueError("Name a field of the plan, as training.learning_rate.")
    values = values_in(text)
    if not values:
        raise ValueError(_HOW)
    unique = [each for place, each in enumerate(values) if each not in values[:place]]
    return axis_of(field.strip(), unique)


def text_of(axis: StudyAxis) -> str | None:
    """The values of an axis as they are typed; None if its choices cannot be typed so."""
    if any(list(each.fields) != [axis.name] for each in axis.choices):
        return None
    values: Sequence[Any] = [each.fields[axis.name] for each in axis.choices]
    if any(isinstance(each, list | dict) for each in values):
        return None
    return ", ".join(inline(each) for each in values)
