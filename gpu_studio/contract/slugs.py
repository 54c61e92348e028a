"""Names of files and of jobs, made of names that people give."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from typing import Final

SLUG_LENGTH: Final = 40
_MOST_BYTES: Final = 100
"""With a run's time and its four digits, no file system has names too short for that."""
_NOTHING: Final = "run"


def slug(name: str) -> str:
    """Write `name` for a file: at most 40 lower-case letters and digits of any script, and hyphens.

    `run` if none remain. Latin letters lose their marks, and one that another case writes as
    several is those: ß is ss. Left out is what this system's names of files cannot hold.
    """
    encoding = sys.getfilesystemencoding()
    text = unicodedata.normalize("NFC", _with_hyphens(_taken_apart(name)))
    known = text.encode(encoding, "ignore").decode(encoding)[:SLUG_LENGTH]
    while len(os.fsencode(known)) > _MOST_BYTES:
        known = known[:-1]
    return known.strip("-") or _NOTHING


def plain_slug(name: str) -> str:
    """Write `name` for a job of Slurm or Kubernetes: at most 40 of a to z, digits and hyphens.

    `run` if none remain.
    """
    plain = _taken_apart(name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_LENGTH].strip("-") or _NOTHING


def _taken_apart(name: str) -> str:
    """`name` in lower case, each letter before its marks."""
    return unicodedata.normalize("NFKD", name.casefold()).casefold()


def _with_hyphens(text: str) -> str:
    """A hyphen for each row of what is no letter, no mark of a letter and no digit."""
    kept: list[str] = []
    for letter in text:
        last = kept[-1] if kept else "-"
        if unicodedata.category(letter).startswith("M"):
            # A mark stays in scripts that cannot be read without it.
            kept += [] if last.isascii() else [letter]
        elif letter.isalpha() or letter.isdecimal():
            kept.append(letter)
        elif last != "-":
            kept.append("-")
    return "".join(kept).lstrip("-")
