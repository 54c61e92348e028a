"""The memory of a machine is divided between the workers that hold their data there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu_studio.trainer.data import free_memory
from gpu_studio.trainer.data.free_memory import Look, OwnShare, check_memory, free_bytes, share
from gpu_studio.trainer.errors import DataError

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _nobody_else() -> Iterator[None]:
    yield
    share(Look(0, 0), 1)


def test_that_each_worker_of_a_machine_has_an_equal_part_of_what_was_free() -> None:
    assert OwnShare(Look(12 * GIB, GIB), 3).left(GIB) == 4 * GIB


def test_that_what_a_worker_has_taken_since_is_no_longer_left() -> None:
    part = OwnShare(Look(12 * GIB, GIB), 3)
    assert part.left(3 * GIB) == 2 * GIB
    assert part.left(GIB // 2) == 4 * GIB, "what it gave back is not added to its part"


def test_that_data_of_one_worker_take_nothing_from_the_part_of_the_next() -> None:
    before, each = Look(8 * GIB, 0), 3 * GIB
    first, second = OwnShare(before, 2), OwnShare(before, 2)
    assert first.left(0) >= each
    assert first.left(each) == GIB
    assert second.left(0) >= each, "as much as before the first had read its data"


def test_that_a_process_in_company_has_its_part_and_is_told_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(free_memory, "held_bytes", lambda: 0)
    alone = free_bytes()
    share(Look(4096, 0), 4)
    assert free_bytes() == 1024 < alone
    assert free_memory.bytes_for_data() == 768
    words = r"The arrays take 2 KiB, but 1 KiB of memory are free for each of 4 workers on this "
    with pytest.raises(DataError, match=words):
        check_memory("The arrays", 2048, free_bytes(), [])
    share(Look(4096, 0), 1)
    assert free_bytes() > 4096
    with pytest.raises(DataError, match=r"memory are free\.$"):
        check_memory("The arrays", 2048, 1024, [])


def test_that_more_than_its_part_leaves_nothing_and_never_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(free_memory, "held_bytes", lambda: 5 * GIB)
    share(Look(8 * GIB, GIB), 2)
    assert free_bytes() == 0


def test_that_a_process_holds_what_it_has_written_to() -> None:
    before = free_memory.held_bytes()
    kept = bytearray(64 << 20)
    kept[::4096] = b"1" * len(kept[::4096])
    assert free_memory.held_bytes() - before >= 60 << 20
