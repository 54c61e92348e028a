"""Where the guide says what to do about a failure: by its kind, or else by its words.

The page `failures` quotes what the program says, with dots for what differs from case to case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    found = [(size, place) for size, words, place in _quotes() if words.search(message)]
    return max(found)[1] if found else PAGE


@cache
def _quotes() -> tuple[tuple[int, re.Pattern[str], str], ...]:
    """Of each quote how much it says, what matches its message, and the place where it stands."""
    return tuple(
        (len(quote), _matching(quote), part.place)
        for part in guide().sections(PAGE)
        for quote in _QUOTE.findall(part.text)
    )


def _matching(quote: str) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, quote.rstrip(_DOTS).split(_DOTS))), re.DOTALL)
