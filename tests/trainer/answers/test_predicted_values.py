"""What is said of predictions of each kind: classes, masks, labels, values, texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_studio.contract.predictions import OutputOfSample
from gpu_studio.trainer.answers import predicting
from gpu_studio.trainer.answers.data import values_of


def told(kind: str, made: Any, target: Any, names: tuple[str, ...] = (), *, logits: bool = False):
    form = SimpleNamespace(kind=kind, logits=logits)
    learner = SimpleNamespace(form=form, data=SimpleNamespace(class_names=names))
    return predicting._learnt("", np.asarray(made), np.asarray(target), learner)


def words(found: list[OutputOfSample]) -> list[tuple[str, str, bool | None]]:
    return [(each.predicted.text, each.target.text, each.right) for each in found]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (told("classes", [[0.1, 0.9]], [1], ("cat", "dog")), ("dog (90 %)", "dog", True)),
        (told("classes", [[5.0, 0.0]], [[1]], logits=True), ("0 (99 %)", "1", False)),
        (told("one_hot", [[0.7, 0.3]], [[0, 1]]), ("0 (70 %)", "1", False)),
        (told("binary", [[0.2]], [0]), ("0 (80 %)", "0", True)),
        (told("binary", [[2.0]], [[1.0]], ("no", "yes"), logits=True), ("yes (88 %)", "yes", True)),
        (told("binary", [[0.9, 0.1, 0.8]], [[1, 1, 1]]), ("0, 2", "0, 1, 2", False)),
        (told("binary", [[0.1, 0.1]], [[0, 0]]), ("none", "none", True)),
        (told("values", [[0.25, 3.0]], [[0.5, 3.0]]), ("0.25 3", "0.5 3", None)),
        (told("values", [[0.25]], [0.5]), ("0.25", "0.5", None)),
        (
            told("classes", [[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]]], [[0, 1, 1, 0]]),
            ("75 % of the places right", "0 1 1 0", None),
        ),
    ],
)
def test_that_a_prediction_is_said_in_the_words_of_its_kind(found, wanted) -> None:
    assert words(found) == [wanted]


def test_that_masks_and_pictures_are_drawn_and_compared_place_by_place() -> None:
    mask = np.zeros((2, 4, 6, 1), np.int32)
    mask[:, 1:3] = 1
    shares = np.where(mask, 0.9, 0.2)
    shares[1, 0] = 0.8
    one, other = told("binary", shares, mask)
    assert one.predicted.text == "100 % of the places right"
    assert other.predicted.text == "75 % of the places right"
    assert (one.predicted.height, one.predicted.width, one.predicted.channels) == (4, 6, 1)
    assert one.target is not None
    assert set(one.target.pixels) == {0, 255}
    classes = np.eye(3)[np.arange(24).reshape(1, 4, 6) % 3]
    [ids] = told("classes", classes, np.arange(24).reshape(1, 4, 6, 1) % 3)
    assert set(ids.predicted.pixels) == {0, 128, 255}
    assert ids.predicted.text == "100 % of the places right"
    [picture] = told("values", shares[:1], mask[:1].astype(np.float32))
    assert picture.predicted.pixels
    assert picture.right is None


def test_that_texts_and_long_rows_are_cut_and_nothing_in_them_reaches_a_terminal() -> None:
    [text, bad] = values_of(np.array(["a\x1b[31m" + "b" * 900, b"\xff"], object), "x/t")
    assert (text.text[:6], text.text[-1], len(text.text)) == ("a [31m", "…", 201)
    assert (text.name, bad.text) == ("x/t", "\ufffd")
    [row] = values_of(np.arange(9)[None], "")
    assert row.text == "0 1 2 3 4 5 … (9 numbers)"


def test_that_a_picture_without_channels_is_drawn_and_a_short_sequence_is_not() -> None:
    [picture] = values_of(np.eye(8, 9)[None], "")
    assert (picture.text, picture.width, len(picture.pixels)) == ("8 × 9", 9, 72)
    [steps] = values_of(np.ones((1, 10, 3)), "")
    assert (steps.pixels, steps.text) == (b"", "1 1 1 1 1 1 … (30 numbers)")
