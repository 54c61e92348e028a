"""Refusals in words: checkpoints that cannot be taken, missing splits, full disks."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpu_studio.contract.directory import WEIGHTS_FILE
from gpu_studio.trainer.answers.checkpoint import held_out_split, in_words, load_weights, write
from gpu_studio.trainer.errors import TrainerError


class Variable:
    path = "dense/kernel"
    shape = (2, 3)

    def assign(self, value):
        self.value = value


def model():
    return SimpleNamespace(weights=[Variable()])


def saved(folder: Path, **arrays) -> Path:
    np.savez(
        folder / WEIGHTS_FILE, **{name.replace("__", "/"): value for name, value in arrays.items()}
    )
    return folder


@contextmanager
def no_file_larger_than(size: int):
    """The kernel refuses to let a file grow, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_that_only_the_models_weights_are_read(tmp_path) -> None:
    made = model()
    load_weights(
        made, saved(tmp_path, model__0__dense__kernel=np.ones((2, 3)), optimizer__0=np.zeros(9))
    )
    assert np.array_equal(made.weights[0].value, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"model__0__dense__kernel": np.ones((2, 4))}, "another model"),
        ({"model__0__other": np.ones((2, 3))}, "has no model/0/dense/kernel"),
        ({"model__0__dense__kernel": np.array([{}, {}], dtype=object)}, "cannot be read"),
    ],
)
def test_that_weights_of_another_model_and_pickles_are_refused(tmp_path, arrays, words) -> None:
    with pytest.raises(TrainerError, match=words):
        load_weights(model(), saved(tmp_path, **arrays))


def test_that_a_checkpoint_that_went_meanwhile_is_told_of(tmp_path) -> None:
    told = in_words(lambda: load_weights(model(), tmp_path / "step-00000012"))
    assert "step-00000012 is no longer there" in told["problem"]
    assert told["advice"]


def test_that_a_damaged_checkpoint_is_told_of(tmp_path) -> None:
    (tmp_path / WEIGHTS_FILE).write_bytes(b"PK\x03\x04 half of a file")
    with pytest.raises(TrainerError, match="cannot be read"):
        load_weights(model(), tmp_path)


def test_that_the_test_split_comes_first_then_the_validation_split_then_words() -> None:
    def data(test, validation):
        return SimpleNamespace(name="rows", test=test, validation=validation)

    assert held_out_split(data([1], [2])) == ("test", [1])
    assert held_out_split(data(None, [2])) == ("validation", [2])
    with pytest.raises(TrainerError, match="nothing to evaluate on"):
        held_out_split(data(None, None))


def test_that_a_full_disk_leaves_no_half_of_a_model(tmp_path) -> None:
    path = tmp_path / "model.keras"
    large = SimpleNamespace(save=lambda path: Path(path).write_bytes(bytes(8192)))
    with no_file_larger_than(1024), pytest.raises(TrainerError, match="could not be written"):
        write(large, path)
    assert list(tmp_path.iterdir()) == []
    assert write(large, path) == 8192
    assert path.stat().st_mode & 0o777 == 0o600
