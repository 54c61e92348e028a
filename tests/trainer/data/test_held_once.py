"""That an array is held once: in memory, or by its file; and what of both is given to training."""

from __future__ import annotations

import contextlib
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_studio.plan import Data
from gpu_studio.trainer.data import npz
from gpu_studio.trainer.data.free_memory import check_memory
from gpu_studio.trainer.data.loading import cut
from gpu_studio.trainer.data.npz import read_npz
from gpu_studio.trainer.errors import DataError

EVERY = slice(None)
IMAGES = np.arange(12 * 9 * 8 * 3, dtype=np.uint16).astype(np.uint8).reshape(12, 9, 8, 3)
IDS = np.arange(12) % 3
NUMBERS = np.arange(24.0).reshape(12, 2)


@pytest.fixture
def mapping(monkeypatch):
    """Arrays of any size are mapped."""
    monkeypatch.setattr(npz, "MAPPED_BYTES", 1)


def stored(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def is_in_file(array: np.ndarray) -> bool:
    base = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    return base is not None


@pytest.mark.parametrize("kind", ["u1", "i2", "i8", "f2", "f4", "f8", "?", ">f4", ">i4", "g"])
def test_that_an_array_stays_in_the_type_in_which_it_came(kind, tmp_path, mapping):
    x = (np.arange(60) % 2).reshape(12, 5).astype(kind)
    whole = read_npz(stored(tmp_path / "own.npz", x=x, y=IDS)).train
    assert whole.x.dtype == np.dtype(kind)
    assert is_in_file(whole.x)
    np.testing.assert_array_equal(whole.seen(EVERY), x.astype(whole.seen_type))


def test_that_an_array_that_is_not_compressed_stays_in_its_file_and_a_compressed_one_is_read(
    tmp_path, mapping
):
    np.savez_compressed(tmp_path / "packed.npz", x=IMAGES, y=IDS)
    packed = read_npz(tmp_path / "packed.npz").train
    mapped = read_npz(stored(tmp_path / "own.npz", x=IMAGES, y=IDS)).train
    assert (is_in_file(mapped.x), is_in_file(packed.x)) == (True, False)
    for whole in (mapped, packed):
        np.testing.assert_array_equal(whole.seen(EVERY), IMAGES / np.float32(255))
        assert whole.wanted(EVERY).tolist() == IDS.tolist()


def test_that_small_arrays_are_read_so_that_their_file_may_change(tmp_path):
    whole = read_npz(stored(tmp_path / "own.npz", x=IMAGES, y=IDS)).train
    assert not is_in_file(whole.x)
    (tmp_path / "own.npz").write_bytes(b"")
    assert len(whole.seen(EVERY)) == 12


def test_that_arrays_by_columns_are_read(tmp_path, mapping):
    x = np.asfortranarray(np.arange(60.0).reshape(12, 5))
    whole = read_npz(stored(tmp_path / "own.npz", x=x, y=IDS)).train
    assert not is_in_file(whole.x)
    np.testing.assert_array_equal(whole.seen(EVERY), x)


@pytest.mark.parametrize("change", ["cut off", "written anew", "touched"])
def test_that_a_file_that_changes_while_it_is_used_is_told_before_its_numbers_are_touched(
    change, tmp_path, mapping
):
    path = stored(tmp_path / "own.npz", x=IMAGES, y=IDS)
    training = cut(read_npz(path), Data(), 0)[0]
    training.seen(EVERY)
    {
        "cut off": lambda: path.open("r+b").truncate(0),
        "written anew": lambda: stored(path, x=IMAGES[:, :, :, :1], y=IDS),
        "touched": lambda: os.utime(path, ns=(0, 0)),
    }[change]()
    with pytest.raises(
        DataError, match=r"own\.npz was changed while the run was reading it"
    ) as refused:
        training.seen(EVERY)
    assert "rename" in refused.value.suggestions[1]


def test_that_a_file_that_another_takes_the_place_of_is_read_on(tmp_path, mapping):
    path = stored(tmp_path / "own.npz", x=IMAGES, y=IDS)
    whole = read_npz(path).train
    stored(tmp_path / "new.npz", x=IMAGES * 0, y=IDS).replace(path)
    np.testing.assert_array_equal(whole.x, IMAGES)


def test_that_arrays_that_do_not_fit_into_memory_are_refused_before_they_are_read(
    tmp_path, monkeypatch
):
    np.savez_compressed(tmp_path / "own.npz", x=IMAGES, y=IDS)
    monkeypatch.setattr(npz, "free_bytes", lambda: IMAGES.nbytes)
    monkeypatch.setattr(npz.Member, "read", lambda _: pytest.fail("it was read"))
    with pytest.raises(
        DataError, match=r"The arrays in own\.npz take 2\.6 KiB, but 2\.5 KiB"
    ) as refused:
        read_npz(tmp_path / "own.npz")
    assert "numpy.savez instead" in refused.value.suggestions[0]


def test_that_what_does_not_fit_is_told_with_both_figures():
    check_memory("The arrays", 3 << 30, 3 << 30, ())
    with pytest.raises(
        DataError, match=r"^The arrays take 3 GiB, but 2\.5 GiB of memory are free\.$"
    ):
        check_memory("The arrays", 3 << 30, 5 << 29, ())


def test_that_arrays_in_a_file_need_no_memory(tmp_path, monkeypatch, mapping):
    monkeypatch.setattr(npz, "free_bytes", lambda: 0)
    read_npz(stored(tmp_path / "own.npz", x=IMAGES, y=IDS))


def lying(path: Path, header: bytes, content: bytes = b"") -> Path:
    """An archive whose array x says of itself what is in `header`."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
        )
    with zipfile.ZipFile(path, "a") as archive, archive.open("y.npy", "w") as file:
        np.lib.format.write_array(file, IDS)
    return path


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000000, 1)}\n",
        b"{'descr': '|u1', 'fortran_order': False, 'shape': (12, 100)}\n",
        b"{'descr': '|u1', 'fortran_order': False, 'shape': (-12, -2)}\n",
        b"{'descr': '|u1', 'fortran_order': False, 'shape': __import__('os')}\n",
        b"{'descr': '|u1'}\n",
        b"\x00" * 40,
    ],
)
def test_that_a_header_that_lies_is_refused_without_taking_memory_for_it(header, tmp_path, mapping):
    with pytest.raises(DataError, match=r"own\.npz cannot be read") as refused:
        read_npz(lying(tmp_path / "own.npz", header, bytes(24)))
    assert refused.value.suggestions


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    path = stored(tmp_path_factory.mktemp("good") / "good.npz", x=NUMBERS, y=IDS)
    return path.read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10_000), change=st.integers(0, 255), length=st.integers(0, 20_000))
def test_that_a_damaged_file_is_mapped_rightly_or_refused(
    tmp_path, mapping, good, place, change, length
):
    """Cut off anywhere or with any one byte changed.

    What is given is what was stored, or nothing.
    """
    bent = bytearray(good)
    bent[place % len(bent)] ^= change
    path = tmp_path / "bent.npz"
    path.write_bytes(bytes(bent[: length or None]))
    with contextlib.suppress(DataError):
        whole = read_npz(path).train
        np.testing.assert_array_equal(whole.seen(EVERY), NUMBERS)
        np.testing.assert_array_equal(whole.wanted(EVERY), IDS)
