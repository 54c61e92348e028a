"""Callbacks are called as `fit` calls them: the same hooks with the same figures, to 1e-5.

The reference is `fit` itself with the same callbacks, under `none`; the other strategies train what
it trains, and their models answer the same. GPU_STUDIO_WHOLE_PARITY=1 tests more of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from parity_jobs import CLOSE, VALIDATED, WHOLE, Case, Trained

pytestmark = pytest.mark.slow


def case(callbacks: str, epochs: int = 2, **more: Any) -> Case:
    measured = ["training.metrics=['sparse_categorical_accuracy']"]
    return {
        "model": "mlp",
        "settings": [*VALIDATED, *measured, "training.steps_per_call=3"],
        "metrics": ["SparseCategoricalAccuracy"],
        "callbacks": callbacks,
        "epochs": epochs,
        **more,
    }


KINDS: dict[str, Case] = {
    "epochs": case("epochs"),
    "steps": case("steps"),
    "answers": case("answers", 4),
    "plateau": case("plateau", 5),
    "early": case("early", 5),
    "ends in an epoch": case("ends in an epoch", 3),
}
LEFT: dict[str, Case] = {
    f"{name}, left after {steps}": {**KINDS[name], "left_after": steps}
    for name, steps in (("plateau", 9), ("early", 12))
}
SOME = {name: KINDS[name] for name in ("answers", "steps") if WHOLE or name == "answers"}
OTHERS = ("mirrored", *(["placed", "central_storage", "one_device"] if WHOLE else []))


def cases_of(way: str) -> dict[str, Case]:
    return {**KINDS, **LEFT} if way == "none" else SOME


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(tmp_path_factory.mktemp("callbacks"), cases_of, left_out=LEFT)


def figures(value: Any) -> Iterator[float]:
    """Every number in it, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from figures(each)
    elif isinstance(value, int | float):
        yield float(value)


def shape(value: Any) -> Any:
    """The same without its numbers."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return "number" if isinstance(value, int | float) else value


def alike(one: dict[str, Any], other: dict[str, Any], *parts: str) -> None:
    assert "error" not in one, one["error"]
    for part in parts:
        assert shape(one[part]) == shape(other[part])
        assert list(figures(one[part])) == pytest.approx(list(figures(other[part])), abs=CLOSE)


@pytest.mark.parametrize("name", KINDS)
def test_that_callbacks_are_called_as_fit_calls_them(trained: Trained, name: str) -> None:
    ours, theirs = trained["none"][name], trained["fit"][name]
    assert "error" not in ours, ours["error"]
    assert [each[0] for each in ours["called"]] == [each[0] for each in theirs["called"]]
    alike(ours, theirs, "called", "weights")


@pytest.mark.parametrize("way", OTHERS)
@pytest.mark.parametrize("name", SOME)
def test_that_they_are_the_same_under_each_strategy(trained: Trained, way: str, name: str) -> None:
    alike(trained[way][name], trained["none"][name], "called", "weights")
    assert trained[way][name]["ended"] == trained["none"][name]["ended"]


def test_that_the_end_is_told_with_the_name_of_the_callback_that_wanted_it(
    trained: Trained,
) -> None:
    assert trained["none"]["ends in an epoch"]["ended"] == ["early_stopping", "Ends", 2, 6]
    assert trained["none"]["answers"]["ended"] == ["early_stopping", "Ends", 3, 12]
    assert trained["none"]["early"]["ended"] == ["early_stopping", "EarlyStopping", 3, 12]
    assert trained["none"]["epochs"]["ended"] == ["completed", "", 2, 8]


def test_that_a_rate_that_a_callback_sets_and_what_it_measures_are_told(trained: Trained) -> None:
    plateau, answers = trained["none"]["plateau"], trained["none"]["answers"]
    assert [each for each in plateau["said"] if "learning rate" in each] == [
        "A callback has set the learning rate: it is 0.05, and was 0.1.",
        "A callback has set the learning rate: it is 0.03, and was 0.05.",
    ]
    assert [epoch["own"] for epoch in answers["epochs"]] == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("name", LEFT)
def test_that_a_resumed_run_goes_on_with_what_callbacks_remember(
    trained: Trained, name: str
) -> None:
    whole, left = trained["none"][name.partition(",")[0]], trained["none"][name]
    assert "error" not in left, left["error"]
    of_run = ("on_train_begin", "on_train_end")
    calls, wanted = (
        [each for each in one["called"] if each[0] not in of_run] for one in (left, whole)
    )
    assert [each[0] for each in calls] == [each[0] for each in wanted]
    assert list(figures(calls)) == pytest.approx(list(figures(wanted)), rel=1e-6)
    assert list(figures(left["weights"])) == pytest.approx(
        list(figures(whole["weights"])), rel=1e-6
    )
    assert left["ended"] == whole["ended"]
