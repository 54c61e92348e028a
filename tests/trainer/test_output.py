"""What a trainer prints, on a disk that is full."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from small_disks import SmallDisk

from gpu_studio.trainer.environment import ForgivingFile


def test_that_printing_to_a_full_disk_costs_the_lines_only(small_disk: SmallDisk) -> None:
    path = small_disk.path / "trainer.log"
    with ForgivingFile(path, "wb") as file:
        text = io.TextIOWrapper(file, write_through=True)  # type: ignore[type-var]
        print("before", file=text)
        small_disk.fill()
        print("x" * 10_000, file=text, flush=True)
        small_disk.clear()
        print("after", file=text)
        assert text.detach() is file
    lines = path.read_text().splitlines()
    assert (lines[0], lines[-1].lstrip("x")) == ("before", "after")


def test_that_another_failure_of_the_output_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with (
        ForgivingFile(tmp_path / "x", "rb") as file,
        pytest.raises(OSError, match="not open for writing"),
    ):
        file.write(b"x")
