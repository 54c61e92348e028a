"""Practice cards: GPUs that are not there, which TensorFlow can carve and train on nevertheless.

A native library (`resources/practice`) adds them to TensorFlow. Their memory is the host's, with
the limits of real cards; their kernels are the CPU's. Here stands what all processes agree on: how
a person writes the cards, and the variables that hand them on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.common.figures import MIB, size

PRACTICE = "GPU_STUDIO_PRACTICE"
"""The variable with the practice cards as a person writes them, `4x2GiB`; empty without any."""
LIBRARY = f"{PRACTICE}_LIBRARY"
"""The variable with the folder of the built library."""
STATE = f"{PRACTICE}_STATE"
"""The variable with the folder in which each process notes what it holds of each card."""
COUNT, MEMORY_MIB = f"{PRACTICE}_COUNT", f"{PRACTICE}_MEMORY_MIB"
NAME, CAPABILITY = f"{PRACTICE}_NAME", f"{PRACTICE}_CAPABILITY"
CARDS_FILE, DRIVER_FILE = "libpracticecards.so", "libpracticedriver.so"
"""The library that TensorFlow loads, and the one that answers in place of the CUDA driver."""
CARD_NAME = "Practice card"
MOST_CARDS = 16
LEAST_MIB, MOST_MIB = 256, 1024 * 1024
_WRITTEN = re.compile(
    r"(?:([0-9]{1,3})\s*[x×]\s*)?([0-9]{1,7})\s*(mib|gib|mb|gb|m|g)", re.IGNORECASE
)


class PracticeError(ValueError):
    """There can be no such practice cards: why, and what to do."""


@dataclass(frozen=True, slots=True)
class PracticeCards:
    """So many equal cards, each with so many MiB of memory."""

    count: int
    memory_mib: int

    def __str__(self) -> str:
        """The cards as a person writes them, `4x2GiB`."""
        whole, rest = divmod(self.memory_mib, 1024)
        amount, unit = (self.memory_mib, "MiB") if rest else (whole, "GiB")
        return f"{self.count}x{amount}{unit}"

    @property
    def title(self) -> str:
        """The cards for a person to read, `4 × 2 GiB`."""
        return f"{self.count} × {size(self.memory_mib * MIB)}"


def practice_cards(text: str) -> PracticeCards:
    """The cards that `text` asks for: `4x2GiB`, `2 × 512 MiB`, `1x4GiB`, or `8GiB` for one.

    Raises PracticeError.
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise PracticeError(
            f"{text!r} is no number and size of practice cards: write 4x2GiB for four of 2 GiB"
        )
    count = int(found[1] or 1)
    memory = int(found[2]) * (1024 if found[3].lower().startswith("g") else 1)
    if not 1 <= count <= MOST_CARDS:
        raise PracticeError(f"{count} practice cards cannot be had: choose 1 to {MOST_CARDS}")
    if not LEAST_MIB <= memory <= MOST_MIB:
        raise PracticeError(
            f"a practice card of {size(memory * MIB)} cannot be had: "
            f"choose {size(LEAST_MIB * MIB)} to {size(MOST_MIB * MIB)}"
        )
    return PracticeCards(count, memory)


def in_words(text: str) -> str:
    """What an event or a variable says of practice cards, for a person to read: `4 × 2 GiB`."""
    try:
        return practice_cards(text).title
    except PracticeError:
        return text


def chosen(environ: Mapping[str, str] = os.environ) -> PracticeCards | None:
    """The practice cards of this process; None without any. Raises PracticeError."""
    text = environ.get(PRACTICE, "")
    return practice_cards(text) if text else None


def library(file: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The path of a file of the built library in this process; None without practice cards."""
    folder = environ.get(LIBRARY, "")
    return Path(folder) / file if folder else None


def identity(place: int) -> tuple[str, str]:
    """The UUID and the PCI address of the practice card with an index, as the library has them."""
    return (
        f"GPU-{0x9C71CE00 + place:08x}-0000-4000-8000-{place:012x}",
        f"00000000:{0x10 + 8 * place:02X}:00.0",
    )
