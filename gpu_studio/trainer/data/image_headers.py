"""Read an image's size from the first bytes of its file: decoding it would trust it with memory."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import IO

from gpu_studio.trainer.errors import DataError

MOST_PIXELS = 2**28
"""Pixels of the largest image that is decoded: more than any camera takes, and 768 MiB decoded.

A file of a few kilobytes can claim to hold more, and decoding it would use up the memory.
"""
_HEAD = 64
_PALETTE = 3
"""The kind of colours of a PNG with a palette."""
_PNG, _JPEG, _GIF, _BMP = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM"
# Start of frame: FFC0 … FFCF, except the tables of Huffman (C4) and arithmetic coding (CC), and
# JPG (C8).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_UNPACKED = (0, 3)
"""Ways in which a BMP holds its pixels one by one; TensorFlow takes any other for these, too."""
_OTHERS = {
    b"RIFF": "WebP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"<": "a web page or SVG",
    b"%PDF": "PDF",
}
_SAVE_ANEW = "Save it as PNG or JPEG, or take it out of the folder."


def check_header(path: str) -> None:
    """Raises DataError, naming the file, if it is no image or too large to be decoded."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (100,000 of them: a text is faster)
            width, height = _size(path, file)
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from error
    except (struct.error, IndexError) as error:
        raise damaged(path) from error
    if width * height > MOST_PIXELS:
        raise DataError(
            f"The image {path} says that it is {width:,} pixels wide and {height:,} high: no more "
            f"than {MOST_PIXELS:,} pixels are decoded.",
            [
                "Make it smaller, or take it out of the folder.",
                "If nobody made it so large, the file is not to be trusted.",
            ],
        )


def check_mask(path: str, image: str) -> None:
    """Raises DataError if the mask at `path` cannot hold class ids for the pixels of `image`.

    Both are images that `check_header` has passed.
    """
    with open(path, "rb") as file, open(image, "rb") as other:  # noqa: PTH123 (as above)
        head, size, wanted = file.read(_HEAD), _size_again(path, file), _size(image, other)
    if head.startswith((_JPEG, _GIF)):
        kind = "JPEG, which changes the numbers of pixels" if head.startswith(_JPEG) else "GIF"
        raise _no_mask(path, f"is a {kind}", "Save masks as PNG.")
    if head.startswith(_PNG) and head[25] == _PALETTE:
        raise _no_mask(
            path,
            "is a PNG with a palette, of which the colours are read and not the numbers",
            "Save the numbers as grey pixels; with Pillow: "
            "Image.fromarray(numpy.array(Image.open(path))).save(path).",
        )
    if head.startswith(_PNG) and head[24] not in (1, 8):
        raise _no_mask(path, f"has {head[24]} bits a pixel", "Save masks with 8 bits, as grey PNG.")
    if size != wanted:
        raise _no_mask(
            path,
            f"has {size[0]:,} × {size[1]:,} pixels, and its image {wanted[0]:,} × {wanted[1]:,}",
            "Give each mask the size of its image.",
        )


def _size_again(path: str, file: IO[bytes]) -> tuple[int, int]:
    file.seek(0)
    return _size(path, file)


def _no_mask(path: str, why: str, advice: str) -> DataError:
    return DataError(f"The mask {path} {why}.", [advice])


def coloured_mask(path: str) -> DataError:
    """The error for a mask that has colours where it should have numbers."""
    return _no_mask(path, "has colours", "Save the number of each pixel's class as a grey PNG.")


def damaged(path: str) -> DataError:
    """The error for a file that begins like an image but cannot be decoded."""
    return DataError(
        f"The image {path} is cut off or damaged.",
        ["If it was copied or downloaded, do that again.", "Or take it out of the folder."],
    )


def unreadable(path: str, why: str) -> DataError:
    """The error for an image whose file cannot be read."""
    advice = ["Look whether it is there, and whether you may read it."]
    return DataError(f"The image {path} cannot be read: {why}.", advice)


def _size(path: str, file: IO[bytes]) -> tuple[int, int]:
    """Return width and height.

    Raises struct.error or IndexError where the file ends before they are stated.
    """
    head = file.read(_HEAD)
    readers: dict[bytes, Callable[[], tuple[int, int]]] = {
        _PNG: lambda: struct.unpack(">II", head[16:24]),
        _GIF: lambda: struct.unpack("<HH", head[6:10]),
        _BMP: lambda: _bmp(path, head),
        _JPEG: lambda: _jpeg(file),
    }
    for begin, read in readers.items():
        if head.startswith(begin):
            return read()
    raise _no_image(path, head)


def _jpeg(file: IO[bytes]) -> tuple[int, int]:
    """Find the size in a JPEG.

    Segments have a two-byte marker and their length; one of them, after any thumbnail, holds the
    size.
    """
    file.seek(2)
    while True:
        mark, code = struct.unpack("BB", file.read(2))
        while code == 0xFF:  # fill bytes
            code = file.read(1)[0]
        if mark != 0xFF:
            raise struct.error("no marker")
        (length,) = struct.unpack(">H", file.read(2))
        if code in _FRAMES:
            height, width = struct.unpack(">xHH", file.read(5))
            return width, height
        if length < 2:
            raise struct.error("a segment shorter than its length")
        file.seek(length - 2, 1)


def _bmp(path: str, head: bytes) -> tuple[int, int]:
    (header,) = struct.unpack("<I", head[14:18])
    if header < 40:
        raise _odd_bmp(path)
    width, height, _, bits, packing = struct.unpack("<iiHHI", head[18:34])
    if bits not in (24, 32) or packing not in _UNPACKED:
        raise _odd_bmp(path)
    return abs(width), abs(height)


def _odd_bmp(path: str) -> DataError:
    return DataError(
        f"The image {path} is a BMP with a palette, packed, or of an old form: TensorFlow would "
        "show other colours.",
        [_SAVE_ANEW],
    )


def _no_image(path: str, head: bytes) -> DataError:
    if not head:
        return DataError(
            f"The image {path} is empty.",
            ["Copy or download it again, or take it out of the folder."],
        )
    kind = next((name for begin, name in _OTHERS.items() if head.lstrip().startswith(begin)), "")
    begins = f"it begins like {kind}" if kind else "it does not begin as one"
    return DataError(
        f"The image {path} is no PNG, JPEG, BMP or GIF, whatever its name says: {begins}.",
        [_SAVE_ANEW],
    )
