"""Floating-point operations as a person reads them."""

from __future__ import annotations

_UNITS = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")
_NEXT = 999.5
"""What is written with three digits from here on is a thousand."""


def flops_in_words(count: float) -> str:
    """In decimal units, to three digits: `0.67 MFLOP` is written `670 kFLOP`."""
    power = 0
    while count >= _NEXT and power < len(_UNITS) - 1:
        count, power = count / 1000, power + 1
    digits = f"{count:.3g}" if count < _NEXT else f"{count:.0f}"
    return f"{digits if power else f'{count:.0f}'} {_UNITS[power]}"
