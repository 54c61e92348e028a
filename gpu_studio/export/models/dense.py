"""Dense layers only."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.export.models.piece import Piece, dropout, layer


def mlp(facts: Facts) -> Piece:
    """Dense layers, one after another."""
    options = facts.model_options
    lines = _flat(facts)
    for index, units in enumerate(options["hidden"]):
        suffix = f"_{index}" if index else ""
        lines.append(
            layer("Dense", str(units), of=_first(lines), activation=options["activation"], name=f"dense{suffix}")
        )
        lines += dropout(options["dropout"], f"dropout{suffix}")
    return Piece("Dense layers, one after another.", "\n".join(lines or [_AS_IT_IS]))


def linear(facts: Facts) -> Piece:
    """A straight line."""
    return Piece("One dense unit: its weights are the slope and the intercept.", "\n".join(_flat(facts) or [_AS_IT_IS]))


_AS_IT_IS = "    x = inputs"


def _flat(facts: Facts) -> list[str]:
    return [layer("Flatten", of="inputs", name="flatten")] if len(facts.source.shape) > 1 else []


def _first(lines: list[str]) -> str:
    return "x" if lines else "inputs"
