"""An image's size, and that it is an image at all, are read before it is decoded."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_images import JPEG, bmp, gif, plain, png

from gpu_studio.trainer.data.image_headers import MOST_PIXELS, check_header
from gpu_studio.trainer.errors import DataError

PIXELS = plain(1, 2, 3)
WHOLE = {"png": png(PIXELS), "jpg": JPEG, "bmp": bmp(PIXELS), "gif": gif((9, 9, 9))}
SIDE = 2**14
assert SIDE * SIDE == MOST_PIXELS


def saying(kind: str, width: int, height: int) -> bytes:
    """The beginning of an image that says it is so large."""
    if kind == "png":
        return WHOLE["png"][:16] + struct.pack(">II", width, height)
    if kind == "bmp":
        return WHOLE["bmp"][:18] + struct.pack("<ii", width, -height) + WHOLE["bmp"][26:]
    if kind == "gif":
        return b"GIF87a" + struct.pack("<HH", width, height)
    frame = JPEG.index(b"\xff\xc0") + 5
    return JPEG[:frame] + struct.pack(">HH", height, width)


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        check_header(str(path))
    assert refused.value.suggestions
    return refused.value.message


@pytest.mark.parametrize("kind", WHOLE)
def test_that_an_image_is_let_through_up_to_a_size_and_no_larger(tmp_path, kind) -> None:
    path = tmp_path / f"image.{kind}"
    for content in (WHOLE[kind], saying(kind, SIDE, SIDE)):
        path.write_bytes(content)
        check_header(str(path))
    path.write_bytes(saying(kind, SIDE + 1, SIDE))
    assert refusal(path).startswith(
        f"The image {path} says that it is 16,385 pixels wide and 16,384 high: no more"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty."),
        (
            b"RIFF\x10\0\0\0WEBPVP8 ",
            "is no PNG, JPEG, BMP or GIF, whatever its name says: it begins like WebP.",
        ),
        (b"\n<!DOCTYPE html>", "it begins like a web page or SVG."),
        (b"hello", "it does not begin as one."),
        (WHOLE["png"][:20], "is cut off or damaged."),
        (WHOLE["gif"][:8], "is cut off or damaged."),
        (WHOLE["bmp"][:30], "is cut off or damaged."),
        (JPEG[:3], "is cut off or damaged."),
        (JPEG[:2] + b"\xff\xfe\0\0" + JPEG[2:], "is cut off or damaged."),
        (bmp(PIXELS, bits=8), "is a BMP with a palette, packed, or of an old form"),
        (bmp(PIXELS, packing=1), "is a BMP with a palette, packed, or of an old form"),
    ],
)
def test_that_what_is_no_image_is_told_by_its_name(tmp_path, content, words) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(content)
    message = refusal(path)
    assert str(path) in message
    assert message.endswith(words) or words in message


def test_that_an_image_that_is_gone_is_named(tmp_path) -> None:
    assert (
        refusal(tmp_path / "gone.png")
        == f"The image {tmp_path}/gone.png cannot be read: No such file or directory."
    )


@given(
    st.sampled_from(sorted(WHOLE)), st.integers(0, 300), st.binary(max_size=12), st.integers(0, 300)
)
def test_that_no_damage_brings_more_than_words(
    tmp_path_factory, kind, place, damage, length
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-image"
    content = WHOLE[kind]
    path.write_bytes((content[:place] + damage + content[place + len(damage) :])[:length])
    with suppress(DataError):
        check_header(str(path))
