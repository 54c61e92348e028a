from __future__ import annotations

import pytest

from gpu_studio.contract import files
from gpu_studio.contract.files import FEWEST_BYTES, MOST_AT_ONCE, Slices


class Disk:
    """Takes so many seconds for each byte, by its own clock; there are `waiting` bytes."""

    def __init__(self, per_byte: float, waiting: int) -> None:
        self.per_byte, self.waiting = per_byte, waiting
        self.now, self.chunks = 0.0, []

    def read(self, size: int) -> bool:
        self.chunks.append(size)
        self.now += self.per_byte * min(size, self.waiting)
        self.waiting = max(self.waiting - size, 0)
        return self.waiting > 0


@pytest.fixture
def made(monkeypatch):
    def make(per_byte: float, waiting: int) -> Disk:
        disk = Disk(per_byte, waiting)
        monkeypatch.setattr(files.time, "perf_counter", lambda: disk.now)
        return disk

    return make


def test_that_a_slice_is_not_outlasted_by_much_and_everything_is_read(made):
    disk, reader, turns = made(1e-8, 10_000_000), Slices(8), []  # 100 MB a second
    while disk.waiting:
        began = disk.now
        reader.read(disk.read)
        turns.append(disk.now - began)
    assert max(turns) < 2 * 0.008
    assert sum(turns) / len(turns) > 0.25 * 0.008, "slices are used"
    assert disk.chunks[0] == FEWEST_BYTES
    assert max(disk.chunks) > 500_000


def test_that_what_suddenly_takes_longer_is_read_in_smaller_pieces_again(made):
    disk, reader = made(1e-8, 100_000_000), Slices(8)
    for _ in range(30):
        reader.read(disk.read)
    fast = reader.chunk
    disk.per_byte *= 50
    reader.read(disk.read)
    assert reader.chunk < fast / 10


@pytest.mark.parametrize("per_byte", [0.0, 1.0])
def test_that_pieces_stay_within_their_bounds(made, per_byte):
    disk, reader = made(per_byte, 50_000_000), Slices(8)
    for _ in range(20):
        reader.read(disk.read)
    assert all(FEWEST_BYTES <= size <= MOST_AT_ONCE for size in disk.chunks)


def test_that_reading_ends_where_nothing_waits(made):
    disk = made(1e-9, 100)
    Slices(8).read(disk.read)
    assert disk.chunks == [FEWEST_BYTES]
