"""Images in every supported format, written byte by byte, and folders of them."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

COLOUR = (200, 100, 50)
JPEG_COLOUR = (10, 21, 201)
JPEG = base64.b85decode(
    "|JeWF01!$>Nk#wx0RaIl0W1Ij|JwjV00IF40RaI50RaI50s;a81OoyB0s;jD1Oo&H1qKEN1qKEN2MGuU2MGrT1_%oX2?"
    "`1d3JL}Y3k(Yi3<(Mf3jf;xLjeK;0s;a81p@;G3I_%U3JMAe3JMAe3JMAe3JMAe3JMAe3JMAe3JMAe3JMAe3JMAe3JMA"
    "e3JMAe3JMAe3JU+g01*fP5C8}R0U`hb5di}c0sq7R6#xMN00000000000000000009|HJ?k5CH%H0000000000000000"
    "095Q02KiN0RR910000000000000073ID_Z6cGUc00000000000000000030+5ij#0RRFK0}%i}0FvM<fW80O"
)
"""16 × 8 pixels (height × width) of JPEG_COLOUR."""
# PNG's kinds of colour, by channels: grey, grey and alpha, colours, colours and alpha.
_PNG_KINDS = {1: 0, 2: 4, 3: 2, 4: 6}


def plain(*channels: int, height: int = 5, width: int = 7) -> np.ndarray:
    """Pixels of one colour, uint8 (height, width, channels)."""
    return np.full((height, width, len(channels)), channels, np.uint8)


def png(pixels: np.ndarray) -> bytes:
    """A PNG of these pixels, uint8 (height, width, channels) with 1 to 4 channels."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, _PNG_KINDS[channels], 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(rows))
        + _chunk(b"IEND", b"")
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def bmp(pixels: np.ndarray, bits: int = 24, packing: int = 0) -> bytes:
    """A BMP of pixels with 3 channels, 24 or 32 bits each.

    What other `bits` and `packing` it says is not true.
    """
    height, width, _ = pixels.shape
    turned = pixels[::-1, :, ::-1]
    if bits == 32:
        turned = np.concatenate([turned, np.full((height, width, 1), 255, np.uint8)], axis=2)
    rows = b"".join(row.tobytes() + b"\0" * (-row.size % 4) for row in turned)
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, packing, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + header + rows


def gif(*colours: tuple[int, int, int], height: int = 6, width: int = 8) -> bytes:
    """A GIF with a frame of each of these colours, at most four."""
    palette = bytes(
        value for colour in [*colours, *[(0, 0, 0)] * (4 - len(colours))] for value in colour
    )
    frames = (_frame(number, height, width) for number in range(len(colours)))
    return (
        b"GIF89a"
        + struct.pack("<HHBBB", width, height, 0x81, 0, 0)
        + palette
        + b"".join(frames)
        + b";"
    )


def _frame(colour: int, height: int, width: int) -> bytes:
    """Uncompressed: the table of codes, each of three bits, is cleared (4) before it grows.

    5 ends it.
    """
    codes = [code for _ in range(height * width) for code in (4, colour)] + [5]
    bits = [code >> place & 1 for code in codes for place in range(3)]
    packed = np.packbits(bits, bitorder="little").tobytes()
    blocks = (packed[at : at + 255] for at in range(0, len(packed), 255))
    head = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02"
    return head + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write these files below `folder`, by their paths in it; the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def two_classes(folder: Path, each: int = 12) -> Path:
    """A folder with `each` images of each of the classes `dark` and `light`."""
    shades = {"dark": range(each), "light": range(255, 255 - each, -1)}
    return put(
        folder,
        {
            f"{name}/{place:02}.png": png(plain(shade))
            for name in shades
            for place, shade in enumerate(shades[name])
        },
    )
