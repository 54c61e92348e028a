"""Which curves are drawn of what metrics give."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_studio.common.figures import metrics_in_words
from gpu_studio.trainer.curves import MOST, curves_of, logged, words_of


def test_that_results_are_logged_as_fit_logs_them() -> None:
    found = logged({"a": np.float32(2), "b": {"c": np.array([3.0]), "d": np.array([1.0, 2.0])}})
    assert list(found) == ["a", "c", "d"]
    assert (found["a"], found["c"]) == (2.0, 3.0)
    assert found["d"].tolist() == [1.0, 2.0]


def test_that_an_array_has_curves_of_its_mean_and_of_each_number() -> None:
    found = curves_of({"loss": 0.5, "f1": np.array([0.25, 0.75]), "seen": np.eye(2)})
    places = ("seen[0, 0]", "seen[0, 1]", "seen[1, 0]", "seen[1, 1]")
    assert list(found) == ["loss", "f1", "f1[0]", "f1[1]", "seen", *places]
    assert list(found.values()) == [0.5, 0.5, 0.25, 0.75, 0.5, 1, 0, 0, 1]


def test_that_of_many_numbers_the_mean_alone_is_a_curve() -> None:
    several = np.arange(MOST + 1)
    assert curves_of({"many": several}) == {"many": MOST / 2}
    assert words_of("many", several) == "many gives 101 numbers: its curve is their mean."


def test_that_curves_of_one_metric_are_named() -> None:
    assert words_of("f1", np.zeros(3)).endswith("each has one of its own, f1[0] to f1[2].")


def test_that_a_line_has_the_mean_of_several_numbers_alone() -> None:
    line = metrics_in_words({"loss": 1.0, "f1": 0.5, "f1[0]": 0.25, "f1[1]": 0.75, "[odd]": 2.0})
    assert line == "loss 1.000  f1 0.5000  [odd] 2.000"
    assert metrics_in_words({"f1[0]": 0.25}) == pytest.approx("f1[0] 0.2500")
