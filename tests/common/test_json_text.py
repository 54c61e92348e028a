"""JSON that anybody may have written, and what decoding it raises."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import gpu_studio
from gpu_studio.contract import JSON_ERRORS, json_line

PACKAGE = Path(gpu_studio.__file__).parent
BY_PARTS = re.compile(r"\b(DecodeError|MsgspecError|JSONDecodeError)\b")


class Said(msgspec.Struct):
    number: int = 0
    text: str = ""


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b'{"text":"\xff"}',
        b"[" * 100_000,
        b'{"other":' * 100_000,
        b'{"number":' + b"9" * 5000 + b"}",
        b'{"number":"x"}',
        b'{"number":NaN}',
    ],
    ids=["empty", "byte", "letter", "deep", "deep unknown", "long number", "kind", "NaN"],
)
def test_that_whatever_is_wrong_with_a_text_is_one_of_the_errors(text: bytes) -> None:
    with pytest.raises(JSON_ERRORS):
        msgspec.json.decode(text, type=Said)


def test_that_no_file_names_a_part_of_them() -> None:
    found = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if BY_PARTS.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["common/json_text.py"]


def test_that_a_text_that_is_no_utf8_is_refused_as_a_disk_refuses_a_file() -> None:
    assert json_line(Said(1, "é")) == b'{"number":1,"text":"\xc3\xa9"}\n'
    with pytest.raises(OSError, match="give it another name") as caught:
        json_line(Said(1, "/home/\udcff"))
    assert caught.value.filename == "/home/\udcff"
