"""Words that somebody types to find a text: which of them count, and what may stand for them.

Texts and words are compared in small letters, with spaces for `_`, `-`, `.` and `/`. A word is
found where one begins with it, whatever its ending: `slices` in `slice`, `stopped` in `stop`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_FILLERS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "can",
        "do",
        "does",
        "for",
        "from",
        "get",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "so",
        "that",
        "the",
        "then",
        "this",
        "to",
        "use",
        "was",
        "we",
        "what",
        "when",
        "where",
        "which",
        "why",
        "with",
        "you",
        "your",
    ]
)
"""Words that say nothing of what is looked for, unless they stand alone."""
_ALIKE: Final[Mapping[str, tuple[str, ...]]] = {
    "abort": ("stop",),
    "allreduce": ("all reduce",),
    "bfloat16": ("mixed precision", "16 bits"),
    "cancel": ("stop",),
    "dark": ("dark", "colours"),
    "fine": ("fine", "trained before"),
    "float16": ("mixed precision", "16 bits"),
    "fp16": ("mixed precision", "16 bits"),
    "freeze": ("frozen", "freeze"),
    "gpu": ("gpu", "card"),
    "logout": ("logging out", "logout"),
    "multi": ("multi", "several"),
    "nan": ("nan", "no number", "not a number"),
    "oom": ("out of memory",),
    "overfit": ("by heart", "overfit"),
    "parallel": ("parallel", "replica", "placement"),
    "pipeline": ("pipeline", "stage"),
    "quit": ("quit", "closing", "closed"),
    "remove": ("remove", "delet"),
    "reproducible": ("seed", "reproducible"),
    "sampling": ("sampling", "looking"),
    "segfault": ("segmentation fault",),
    "theme": ("theme", "colours"),
    "tuning": ("tuning", "before"),
    "uninstall": ("desktop remove", "uninstall"),
    "vram": ("memory",),
}
"""Words of others for what the guide calls otherwise."""
_LEAST_STEM: Final = 4
_LETTERS: Final = re.compile(r"\w+")


def plain(text: str) -> str:
    """A text as it is compared, of the same length.

    >>> plain("A micro-batch, training.batch_size")
    'a micro batch, training batch size'
    """
    return re.sub(r"[_\-./]", " ", text.lower())


def patterns(words: str) -> list[re.Pattern[str]]:
    """One pattern for each of the words that count, to be searched in a plain text.

    >>> [bool(each.search("two slices of a card")) for each in patterns("the slice on GPUs")]
    [True, True]
    """
    given = [each for word in words.split() if (each := " ".join(_LETTERS.findall(plain(word))))]
    counted = [word for word in given if word not in _FILLERS] or given
    return [_pattern(word) for word in dict.fromkeys(counted)]


def stem(word: str) -> str:
    """A word in small letters without its usual endings.

    >>> [stem(word) for word in ("batches", "stopping", "paused", "loss", "slices")]
    ['batch', 'stop', 'paus', 'loss', 'slice']
    """
    ending = re.search(r"(?:(?<=[sx])es|(?<=[cs]h)es|(?<!s)s|ing|ed)$", word)
    if ending is None or ending.start() < _LEAST_STEM - 1:
        return word
    short = word[: ending.start()]
    is_double = ending[0] in ("ing", "ed") and short[-1] == short[-2]
    return short[:-1] if is_double and short[-1] not in "ls" else short


def _pattern(word: str) -> re.Pattern[str]:
    begun = stem(word)
    alike = _ALIKE.get(word) or _ALIKE.get(begun) or (begun,)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, alike))})")
