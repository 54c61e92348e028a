"""Data from `.npz` files: what is taken, and what is refused in which words."""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.trainer.data.npz import read_npz
from gpu_studio.trainer.errors import DataError

X = np.linspace(0, 1, 24, dtype=np.float64).reshape(6, 4)
Y = np.arange(6) % 3


@pytest.fixture
def written(tmp_path):
    """Writes arrays to a file and gives its path."""

    def write(**arrays) -> Path:
        path = tmp_path / "mine.npz"
        np.savez_compressed(path, **arrays)
        return path

    return write


class Canary:
    """Leaves a file behind if anyone unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def refusal(path: Path) -> DataError:
    with pytest.raises(DataError) as refused:
        read_npz(path)
    assert refused.value.suggestions
    assert path.name in refused.value.message
    return refused.value


def test_that_x_and_y_are_read_as_samples_and_class_ids(written):
    found = read_npz(written(x=X, y=Y))
    whole, test = found.train, found.test
    assert test is None
    np.testing.assert_array_equal(whole.seen(slice(None)), X.astype(np.float32))
    assert (whole.seen_type, whole.wanted_type) == (np.float32, np.int64)
    assert whole.wanted(slice(None)).tolist() == Y.tolist()


def test_that_a_test_split_of_the_file_is_read(written):
    found = read_npz(written(x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2], note=np.zeros(3)))
    assert found.test is not None
    assert (len(found.train), len(found.test), found.validation) == (6, 2, None)


def test_that_bytes_become_images_between_0_and_1_with_a_channel(written):
    grey = np.arange(6 * 9 * 8, dtype=np.uint16).astype(np.uint8).reshape(6, 9, 8)
    whole = read_npz(written(x=grey, y=Y)).train
    seen = whole.seen(slice(None))
    assert (seen.shape, seen.dtype, whole.x.dtype) == ((6, 9, 8, 1), np.float32, np.uint8)
    np.testing.assert_allclose(seen[..., 0] * 255, grey, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_that_whole_numbers_in_a_table_are_tokens(kind, written):
    table = np.arange(12).reshape(6, 2)
    whole = read_npz(written(x=table.astype(kind), y=Y[:, None])).train
    assert (whole.seen_type, whole.y.shape) == (kind, (6, 1))
    np.testing.assert_array_equal(whole.seen(slice(None)), table)


@pytest.mark.parametrize("shape", [(6, 5, 4), (6, 100, 4), (6, 9, 9, 2)])
def test_that_bytes_that_are_no_pictures_are_numbers_as_they_are(shape, written):
    numbers = np.full(shape, 200, np.uint8)
    whole = read_npz(written(x=numbers, y=Y)).train
    assert whole.seen_type == np.float32
    np.testing.assert_array_equal(whole.seen(slice(None)), numbers)


def test_that_fractions_as_targets_are_values_of_a_regression(written):
    whole = read_npz(written(x=X, y=X[:, 0])).train
    assert (whole.wanted_type, whole.y.shape) == (np.float32, (6,))


def test_that_pickled_objects_are_refused_and_never_run(tmp_path):
    canary = tmp_path / "ran"
    path = tmp_path / "evil.npz"
    objects = np.array([Canary(canary)] * 6, dtype=object)
    np.savez(path, x=objects, y=Y)
    assert "holds pickled Python objects, which GPU Studio never loads" in refusal(path).message
    assert not canary.exists()
    pickle.loads(pickle.dumps(Canary(canary)))
    assert canary.exists(), "the canary would have sung"


def test_that_a_bare_pickle_with_the_name_of_an_npz_is_refused(tmp_path):
    path = tmp_path / "bare.npz"
    path.write_bytes(pickle.dumps({"x": X}))
    assert "is no .npz file" in refusal(path).message


def test_that_a_missing_file_is_named_with_its_path(tmp_path):
    assert str(tmp_path / "none.npz") in refusal(tmp_path / "none.npz").message


def test_that_a_single_array_is_refused(tmp_path):
    path = tmp_path / "one.npy"
    np.save(path, X)
    assert "is no .npz file" in refusal(path).message


def test_that_a_member_that_is_no_array_is_refused(tmp_path):
    path = tmp_path / "text.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", "hello")
        archive.writestr("y", "world")
    assert "x is no array" in refusal(path).message


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"images": X, "labels": Y}, "holds images, labels, but needs x_train and y_train"),
        ({"x_train": X}, "holds x_train, but needs"),
        ({"x_train": X, "y_train": Y, "x_test": X}, "holds x_test, x_train, y_train, but needs"),
        ({"x": X, "y": Y[:5]}, "x has 6 samples but y has 5"),
        ({"x": X[0], "y": Y}, "x has 4 samples but y has 6"),
        ({"x": X[:0], "y": Y[:0]}, r"x has the shape \(0, 4\)"),
        ({"x": X, "y": np.empty((6, 0))}, r"y has the shape \(6, 0\)"),
        (
            {"x": X, "y": np.array(list("abcdef"))},
            r"y holds <U1 where class ids \(integers\) or values",
        ),
        ({"x": X + 1j, "y": Y}, "x holds complex128 where numbers"),
        ({"x": Y.reshape(6, 1).astype("m8[s]"), "y": Y}, r"x holds timedelta64\[s\] where numbers"),
        ({"x": X, "y": Y.astype("m8[s]")}, r"y holds timedelta64\[s\] where class ids"),
        ({"x": X, "y": Y.astype("M8[s]")}, r"y holds datetime64\[s\] where class ids"),
        ({"x": Y.reshape(6, 1)[:, :0], "y": Y}, r"x has the shape \(6, 0\)"),
        ({"x": X, "y": np.full(6, np.inf)}, "y holds a value that is no finite"),
        (
            {"x_train": X, "y_train": Y, "x_test": X[:, :2], "y_test": Y},
            r"float32 of shape \(4,\), but one of x_test",
        ),
        ({"x_train": X, "y_train": Y, "x_test": X, "y_test": X[:, 0]}, "y_train is integers of"),
    ],
)
def test_that_arrays_that_training_cannot_use_are_refused_in_words(written, arrays, words):
    with pytest.raises(DataError, match=words) as refused:
        read_npz(written(**arrays))
    assert refused.value.suggestions


def a_good_file() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=X, y=Y)
    return buffer.getvalue()


GOOD = a_good_file()


@given(st.integers(0, len(GOOD) - 1))
def test_that_a_file_cut_off_anywhere_is_refused(tmp_path_factory, length):
    path = tmp_path_factory.mktemp("cut") / "cut.npz"
    path.write_bytes(GOOD[:length])
    refusal(path)


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_that_a_file_with_a_wrong_byte_is_read_or_refused_but_never_a_traceback(
    tmp_path_factory, place, change
):
    path = tmp_path_factory.mktemp("bent") / "bent.npz"
    bent = bytearray(GOOD)
    bent[place] ^= change
    path.write_bytes(bytes(bent))
    with contextlib.suppress(DataError):
        read_npz(path)


def test_that_a_validation_split_of_the_file_is_read(written):
    for x, y in (("x", "y"), ("x_train", "y_train")):
        found = read_npz(written(**{x: X, y: Y}, x_val=X[:2], y_val=Y[:2]))
        assert found.validation is not None
        assert (len(found.train), len(found.validation), found.test) == (6, 2, None)


@pytest.mark.parametrize("name", ["val", "valid", "validation"])
def test_that_a_validation_split_may_have_the_names_that_folders_of_images_may_have(written, name):
    found = read_npz(written(**{"x": X, "y": Y, f"x_{name}": X[:2], f"y_{name}": Y[:2]}))
    assert (len(found.train), len(found.validation)) == (6, 2)
    with pytest.raises(DataError, match=f"but one of x_{name} is"):
        read_npz(written(**{"x": X, "y": Y, f"x_{name}": X[:2, :1], f"y_{name}": Y[:2]}))


@pytest.mark.parametrize("part", ["val", "test"])
def test_that_bytes_of_pictures_do_not_go_with_floats_which_nobody_divides_by_255(written, part):
    bytes_, floats = np.zeros((6, 8, 8), np.uint8), np.zeros((2, 8, 8, 1), np.float32)
    with pytest.raises(
        DataError,
        match=rf"\(bytes of pictures\), but one of x_{part} is float32 of shape \(8, 8, 1\)\.",
    ):
        read_npz(written(**{"x": bytes_, "y": Y, f"x_{part}": floats, f"y_{part}": Y[:2]}))


def test_that_texts_kept_as_objects_are_refused_with_how_to_keep_them(written):
    with pytest.raises(DataError, match="pickled") as refused:
        read_npz(written(x=X, y=Y, patient=np.array(list("aabbcc"), object)), "patient")
    assert "Groups may be texts: array.astype(str)." in refused.value.suggestions


@pytest.mark.parametrize(
    "groups", [np.arange(6) // 2, np.array(list("aabbcc")), np.arange(6.0)[:, None]]
)
def test_that_the_group_of_each_sample_is_read_where_the_plan_names_it(written, groups):
    path = written(x=X, y=Y, patient=groups)
    assert read_npz(path).groups is None
    np.testing.assert_array_equal(read_npz(path, "patient").groups, groups.reshape(-1))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (
            np.arange(5),
            (
                r"patient is int64 of shape \(5,\), but there must be one "
                r"group for each of the 6 samples"
            ),
        ),
        (np.zeros((6, 2)), r"patient is float64 of shape \(6, 2\)"),
        (np.zeros(6, complex), "patient is complex128"),
        (
            np.array([1, np.nan, 2, np.nan, 2, 1]),
            "patient is nan for 2 samples, first for sample 1",
        ),
    ],
)
def test_that_groups_that_are_none_are_refused(written, groups, words):
    with pytest.raises(DataError, match=words):
        read_npz(written(x=X, y=Y, patient=groups), "patient")


def test_that_a_file_without_the_groups_that_the_plan_names_is_refused_with_what_it_has(written):
    with pytest.raises(
        DataError, match=r'"grouped", but mine\.npz has no array patient\. It has x, y\.'
    ):
        read_npz(written(x=X, y=Y), "patient")


def test_that_arrays_named_within_x_and_y_are_inputs_and_targets(tmp_path) -> None:
    path = tmp_path / "several.npz"
    rows = np.arange(20, dtype=np.float32)
    np.savez(
        path,
        **{"x/left": rows, "x/right": rows[:, None], "y/0": rows, "y/1": rows.astype(int) % 3},
        sample_weight=rows,
        other=rows[:3],
    )
    made = read_npz(path)
    assert {name: each.shape for name, each in made.train.x.items()} == {
        "left": (20,),
        "right": (20, 1),
    }
    assert [each.dtype.kind for each in made.train.y] == ["f", "i"]
    assert made.train.weighted(slice(3)).tolist() == [0, 1, 2]
    assert sorted(made.arrays) == ["sample_weight", "x/left", "x/right", "y/0", "y/1"]


def test_that_whole_numbers_of_each_split_stay_what_they_are(written):
    number, far = np.arange(6, dtype=">i2"), 2**63 + np.arange(6, dtype=np.uint64)
    parts = {"x_train/id": number, "y_train": Y, "x_val/id": far, "y_val": Y.astype(bool)}
    found = read_npz(written(**parts))
    for split, ids, kind in ((found.train, number, "=i2"), (found.validation, far, "=u8")):
        seen = split.seen(slice(None))["id"]
        assert (seen.dtype.str, seen.tolist()) == (np.dtype(kind).str, ids.tolist())
    assert (found.train.wanted_type, found.validation.wanted_type) == (np.int64, np.bool_)


def test_that_what_is_measured_in_a_file_is_seen_as_floats(written):
    pictures, marks = np.arange(96).reshape(6, 4, 4), np.arange(12).reshape(6, 2) % 3 == 0
    for samples in (pictures, pictures.astype(np.uint8), marks):
        seen = read_npz(written(x=samples, y=Y)).train.seen(slice(None))
        assert (seen.dtype, seen.tolist()) == (np.float32, samples.astype(float).tolist())
