"""What the models' files have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_studio.export.layout import call, indented, options

Feeds = Mapping[str, tuple[str, ...]]
"""Layers in the order in which they run, each with those that it takes its inputs from."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A model: the lines in `build_model` from `inputs` to `x`, its docstring, and functions that stand before it.

    `feeds` are its layers up to `x`, where they are not simply those of the lines, one after another.
    """

    words: str
    layers: str
    before: str = ""
    feeds: Feeds = field(default_factory=dict)


def layer(kind: str, *arguments: str, of: str = "x", **given: object) -> str:
    """`x = keras.layers.Kind(…)(of)`, indented as in a function's body."""
    return indented(call("x = ", f"keras.layers.{kind}", [*arguments, *options(given)], after=f"({of})", indent=4), 4)


def dropout(rate: float, name: str) -> list[str]:
    """The line of a dropout layer; none for a rate of 0."""
    return [layer("Dropout", repr(rate), name=name)] if rate > 0 else []
