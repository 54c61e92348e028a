"""The dataset of a plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_studio.plan.catalogue import DATA
from gpu_studio.plan.values import Data
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.built_in import digits
from gpu_studio.trainer.errors import DataError

NOWHERE = Path("/nonexistent")


def whole_of(dataset) -> np.ndarray:
    parts = [part.seen(slice(None)) for part in dataset.splits]
    return np.concatenate(parts).reshape(sum(map(len, parts)), -1)


def test_that_digits_are_split_without_losing_one():
    dataset = load_data(Data(name="digits"), 0, NOWHERE)
    assert [len(part) for part in (dataset.train, dataset.validation, dataset.test)] == [
        1455,
        162,
        180,
    ]
    assert (dataset.name, dataset.task, dataset.classes, dataset.outputs) == (
        "digits",
        "classes",
        10,
        10,
    )
    assert dataset.sample_shape == DATA["digits"].shape
    assert sorted(map(bytes, whole_of(dataset))) == sorted(map(bytes, digits().x.reshape(1797, -1)))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_that_equal_seeds_give_equal_datasets(seed):
    data = Data(name="regression", options={"samples": 40})
    mine, again = (load_data(data, seed, NOWHERE) for _ in range(2))
    for one, two in zip(mine.splits, again.splits, strict=True):
        np.testing.assert_array_equal(one.seen(slice(None)), two.seen(slice(None)))
        np.testing.assert_array_equal(one.wanted(slice(None)), two.wanted(slice(None)))


def test_that_another_seed_splits_otherwise_but_has_the_same_samples():
    one, two = (
        load_data(Data(name="synthetic", options={"samples": 90}), seed, NOWHERE) for seed in (0, 1)
    )
    assert (one.train.seen(slice(None)) != two.train.seen(slice(None))).any()
    np.testing.assert_array_equal(np.sort(whole_of(one), axis=0), np.sort(whole_of(two), axis=0))


def test_that_synthetic_data_take_the_options_of_the_plan():
    options = {"shape": [6, 5], "classes": 4, "samples": 50, "seed": 2}
    dataset = load_data(Data(name="synthetic", options=options, test_fraction=0), 0, NOWHERE)
    assert (dataset.sample_shape, dataset.classes, dataset.test) == ((6, 5), 4, None)
    assert len(dataset.train) + len(dataset.validation) == 50


def test_that_options_left_out_are_those_of_the_catalogue():
    dataset = load_data(Data(name="regression", test_fraction=0, validation_fraction=0), 0, NOWHERE)
    defaults = DATA["regression"].values({})
    assert (dataset.task, dataset.classes, dataset.outputs) == ("values", None, 1)
    assert len(dataset.train) == defaults["samples"]
    slope, intercept = np.polyfit(dataset.train.x[:, 0], dataset.train.y[:, 0], 1)
    assert (slope, intercept) == (
        pytest.approx(defaults["slope"], abs=0.05),
        pytest.approx(defaults["intercept"], abs=0.05),
    )


def test_that_a_file_is_looked_for_beside_the_plan(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.eye(20), y=np.arange(20) % 3)
    dataset = load_data(Data(file="own.npz"), 0, tmp_path)
    assert (dataset.name, dataset.classes, dataset.tokens) == ("own.npz", 3, False)
    with pytest.raises(DataError, match="There is no data file"):
        load_data(Data(file="own.npz"), 0, tmp_path / "elsewhere")


def test_that_classes_are_counted_over_all_splits(tmp_path):
    np.savez(
        tmp_path / "own.npz",
        x_train=np.eye(9),
        y_train=np.arange(9) % 2,
        x_test=np.eye(9),
        y_test=np.full(9, 6),
    )
    dataset = load_data(Data(file="own.npz"), 0, tmp_path)
    assert dataset.classes == 7
    assert len(dataset.test) == 9


def test_that_tokens_stay_whole_numbers(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.arange(40).reshape(10, 4), y=np.arange(10) % 2)
    dataset = load_data(Data(file="own.npz"), 0, tmp_path)
    assert dataset.tokens
    assert dataset.train.seen_type == np.int64


@pytest.mark.parametrize("odd", [-1, 2**31])
def test_that_rows_of_whole_numbers_that_number_nothing_are_no_tokens(odd, tmp_path):
    known = np.arange(40).reshape(10, 4)
    parts = {"x_train": known, "x_test": known + odd}
    np.savez(tmp_path / "own.npz", **parts, y_train=np.arange(10) % 2, y_test=np.arange(10) % 2)
    dataset = load_data(Data(file="own.npz"), 0, tmp_path)
    assert not dataset.tokens
    assert dataset.test.seen(slice(None)).tolist() == (known + odd).tolist()


def test_that_samples_of_a_single_class_are_refused(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.eye(9), y=np.zeros(9, int))
    with pytest.raises(DataError, match="every sample is of class 0"):
        load_data(Data(file="own.npz"), 0, tmp_path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Data(name="imagenet"), 'not name = "imagenet"'),
        (Data(), "not an empty data part"),
    ],
)
def test_that_other_sources_are_refused_with_what_there_is(data, words):
    with pytest.raises(DataError, match=words) as refused:
        load_data(data, 0, NOWHERE)
    assert "digits, mnist" in refused.value.suggestions[0]


@pytest.mark.parametrize("name", [name for name, entry in DATA.items() if not entry.brings_test])
def test_that_the_catalogue_describes_the_data_that_need_no_download(name):
    dataset = load_data(Data(name=name), 0, NOWHERE)
    assert DATA[name].shape in (None, dataset.sample_shape)
    assert DATA[name].samples in (None, len(whole_of(dataset)))
    assert DATA[name].classes in (None, dataset.classes)
    assert dataset.task == DATA[name].task


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, entry in DATA.items() if entry.brings_test])
def test_that_data_to_download_say_without_a_network_which_file_is_missing(name):
    with pytest.raises(DataError, match=r"is not there, and it cannot be downloaded"):
        load_data(Data(name=name), 0, NOWHERE)


@pytest.mark.parametrize("data", [Data(folder=""), Data(file="")])
def test_that_an_empty_path_is_refused_and_is_not_the_folder_one_happens_to_be_in(
    data, tmp_path, monkeypatch
):
    (tmp_path / "images" / "circles").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"data\.\w+ is empty") as refused:
        load_data(data, 0, Path())
    assert "images" not in str(refused.value)


@pytest.mark.parametrize(
    ("scale", "pictures", "flat"),
    [
        ("auto", (np.float32, 1), (np.uint8, 255)),
        ("unit", (np.float32, 1), (np.float32, 1)),
        ("none", (np.float32, 255), (np.uint8, 255)),
    ],
)
def test_that_a_plan_may_say_how_bytes_are_scaled(scale, pictures, flat, tmp_path):
    for shape, (kind, highest) in (((20, 8, 8), pictures), ((20, 64), flat)):
        np.savez(tmp_path / "bytes.npz", x=np.full(shape, 255, np.uint8), y=np.arange(20) % 2)
        made = load_data(
            Data(file=str(tmp_path / "bytes.npz"), options={"scale": scale}), 0, tmp_path
        )
        assert (made.train.seen_type, made.train.range()[1]) == (kind, highest)
        assert made.tokens == (kind is np.uint8)
        assert [split.range()[1] for split in made.splits] == [highest] * len(made.splits)
