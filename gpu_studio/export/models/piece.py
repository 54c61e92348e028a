"""What the models' files have in common."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.export.layout import call, indented, options


@dataclass(frozen=True, slots=True)
class Piece:
    """A model: the lines in `build_model` from `inputs` to `x`, its docstring, and functions that stand before it."""

    words: str
    layers: str
    before: str = ""


def layer(kind: str, *arguments: str, of: str = "x", **given: object) -> str:
    """`x = keras.layers.Kind(…)(of)`, indented as in a function's body."""
    return indented(call("x = ", f"keras.layers.{kind}", [*arguments, *options(given)], after=f"({of})", indent=4), 4)


def dropout(rate: float, name: str) -> list[str]:
    """The line of a dropout layer; none for a rate of 0."""
    return [layer("Dropout", repr(rate), name=name)] if rate > 0 else []
