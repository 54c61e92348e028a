"""What archives of a user's say of themselves, which anybody can have written: `.npz`, `.keras`."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, Any, Final
from zipfile import ZipFile

from gpu_studio.common.figures import size
from gpu_studio.plan.values import printable

_LONGEST: Final = 1 << 16
"""Bytes. NumPy itself parses no header of more than 10,000 letters, but reads up to 4 GiB first."""
_LONGEST_NAME: Final = 80
_DESCRIPTIONS: Final = ("config.json", "metadata.json")
_LARGEST_DESCRIPTION: Final = 64 * 1024 * 1024
"""Bytes. That of a model of 10,000 layers has some ten million; Keras reads up to 4 GiB of it."""


def brief(name: str) -> str:
    """The name of an array as a sentence may have it: an archive may hold any."""
    text = printable(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What an array says of itself, a NumPy type as `dtype`, and how many bytes that takes."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: Any
    size: int


def npy_header(file: IO[bytes]) -> NpyHeader:
    """The header at the beginning of `file`, of which no more than 64 KiB are read.

    Raises ValueError for what is none.
    """
    # Imported on first use: the window's start waits for who imports this.
    import numpy as np

    head = io.BytesIO(file.read(_LONGEST))
    try:
        wide = np.lib.format.read_magic(head) != (1, 0)
        read = np.lib.format.read_array_header_2_0 if wide else np.lib.format.read_array_header_1_0
        shape, columns_first, dtype = read(head)
    except Exception as error:  # NumPy parses Python, and quotes all of what it cannot parse
        raise ValueError("the header of an array cannot be made out") from error
    if any(length < 0 for length in shape):
        raise ValueError(f"an array says to have the shape {shape}")
    return NpyHeader(shape, columns_first, dtype, head.tell())


def overlong(archive: ZipFile) -> str:
    """Why a model's description in a `.keras` file is none, as a sentence's end; else empty."""
    for each in archive.infolist():
        if each.filename in _DESCRIPTIONS and each.file_size > _LARGEST_DESCRIPTION:
            return (
                f"{each.filename} in it has {size(each.file_size)}, and no model's description has "
                f"more than {size(_LARGEST_DESCRIPTION)}: save the model again"
            )
    return ""
