"""Where the guide says what to do about a failure: by its kind, or else by its words.

The page `failures` quotes what the program says, with dots for what differs from case to case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from gpu_studio.common.guide import guide

PAGE: Final = "failures"
PARTS: Final[Mapping[str, str]] = {
    "out_of_memory": "out-of-memory-on-a-device",
    "host_memory": "out-of-memory-of-the-computer",
    "not_finite": "the-loss-is-no-number",
    "layer": "a-layer-could-not-compute",
    **dict.fromkeys(("data", "model", "plan"), "the-data-the-model-or-the-plan-cannot-be-used"),
    **dict.fromkeys(("cluster", "worker_lost"), "several-workers"),
    **dict.fromkeys(("user_code", "import"), "your-own-code"),
    "device_lost": "a-card-failed",
    "disk": "a-full-disk",
    "system": "anything-else",
}
"""The part of the page, by the kind of a run's failure."""
_QUOTE = re.compile(r"^> (.+)$", re.MULTILINE)
_DOTS = "…"


def place_of_failure(message: str, kind: str = "") -> str:
    """The place in the guide about a failure or a warning; its page where no part is about it.

    >>> place_of_failure("The trainer ended without a word: it was killed, or the computer went "
    ...                  "down.")
    'failures#a-run-that-is-lost'
    """
    if kind in PARTS:
        return f"{PAGE}#{PARTS[kind]}"
    found = [(size, place) for size, parts, place in _quotes() if _says(message, parts)]
    return max(found)[1] if found else PAGE


def _says(message: str, parts: Sequence[str]) -> bool:
    """Whether a message has the parts of a quote in their order, with something between two."""
    at = 0
    for part in parts:
        found = message.find(part, at)
        if found < 0:
            return False
        at = found + len(part) + 1
    return True


@cache
def _quotes() -> tuple[tuple[int, tuple[str, ...], str], ...]:
    """Of each quote how much it says, what is between its dots, and the place where it stands."""
    return tuple(
        (len(quote), tuple(quote.rstrip(_DOTS).split(_DOTS)), part.place)
        for part in guide().sections(PAGE)
        for quote in _QUOTE.findall(part.text)
    )
