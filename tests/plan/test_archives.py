"""Archives that say of themselves what is not so are read in little memory, and told in words."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpu_studio.plan.archives import brief, npy_header, overlong

MAGIC = b"\x93NUMPY"


class Endless(io.RawIOBase):
    """A file without end, which counts what is read of it."""

    def __init__(self, begin: bytes) -> None:
        self.begin, self.taken = begin, 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "it would be read to its end"
        self.taken += size
        made, self.begin = self.begin[:size], self.begin[size:]
        return made + b" " * (size - len(made))


def header(shape: str, version: bytes = b"\x01\x00") -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    wide = 2 if version[0] == 1 else 4
    return MAGIC + version + len(text).to_bytes(wide, "little") + text


def test_that_the_header_of_an_array_is_read_as_numpy_wrote_it() -> None:
    made = io.BytesIO()
    np.save(made, np.asfortranarray(np.zeros((3, 4), np.int16)))
    found = npy_header(io.BytesIO(made.getvalue()))
    assert (found.shape, found.columns_first, found.dtype) == ((3, 4), True, np.int16)
    assert len(made.getvalue()) == found.size + 24


def test_that_a_header_that_says_to_be_gigabytes_is_not_read() -> None:
    for length in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f"):
        file = Endless(MAGIC + b"\x02\x00" + length)
        with pytest.raises(ValueError, match="cannot be made out"):
            npy_header(file)
        assert file.taken <= 1 << 16


@pytest.mark.parametrize("shape", ["(-1,)", "(-2, -3)", "(" * 9000])
def test_that_a_shape_that_no_array_has_is_told_in_short(shape: str) -> None:
    with pytest.raises(ValueError, match=r"^.{,60}$"):
        npy_header(io.BytesIO(header(shape)))


def test_that_a_name_in_an_archive_is_written_short_and_without_what_moves_a_terminal() -> None:
    assert brief("x/left") == "x/left"
    assert brief("\x1b[31m\u202ex") == "\\x1b[31m\\u202ex"
    assert len(brief("k" * 60_000)) == 80


@pytest.mark.slow
def test_that_a_model_with_a_description_of_a_hundred_megabytes_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    for name, told in (("config.json", True), ("model.weights.h5", False)):
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open(name, "w") as member,
        ):
            for _ in range(100):
                member.write(bytes(1 << 20))
        with zipfile.ZipFile(path) as archive:
            assert ("config.json in it has 100 MiB" in overlong(archive)) is told
