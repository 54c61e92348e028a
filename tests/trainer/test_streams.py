"""Data that come batch by batch train what Keras' `fit` trains of them, and resume to the same.

90 samples in batches of 20 leave a ragged last one; the generator's batches have 1 to 22 samples.
GPU_STUDIO_WHOLE_PARITY=1 tests every kind of stream under every strategy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parity_jobs import WAYS, WHOLE
from parity_streams import CASES, CLOSE, ON_A_CARD, RESUMED, results

pytestmark = pytest.mark.slow

SAME = {"unknown": "known"}
"""Of a dataset of unknown length, `fit` counts a step too many for Adam at the end of an epoch."""
NONE = CASES if WHOLE else ("weighted", "ended", "sequence")
SPREAD = {way: CASES for way in WAYS if WHOLE and way != "none"}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    cases = {SAME.get(case, case) for case in NONE}
    return results("fit", sorted(cases), tmp_path_factory.mktemp("fit"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    more = ("reshuffled", "drawn") if WHOLE else ("drawn",)
    more = (*more, "generated", f"generated{ON_A_CARD}")
    return results(WAYS["none"], (*NONE, *more), tmp_path_factory.mktemp("none"))


def held_against(found: Any, wanted: Any) -> None:
    assert len(found["epochs"]) == len(wanted["epochs"])
    for mine, its in zip(found["epochs"], wanted["epochs"], strict=True):
        assert mine == pytest.approx(its, abs=CLOSE)
    for mine, its in zip(found["weights"], wanted["weights"], strict=True):
        assert np.abs(np.array(mine) - np.array(its)).max() < CLOSE


@pytest.mark.parametrize("case", NONE)
def test_that_a_stream_trains_what_fit_trains_of_it(
    case: str, alone: dict[str, Any], fitted: dict[str, Any]
) -> None:
    held_against(alone[case], fitted[SAME.get(case, case)])


def test_that_xla_trains_batches_of_many_sizes_to_the_same_and_says_that_it_compiles_each(
    alone: dict[str, Any],
) -> None:
    by_xla, without = alone[f"generated{ON_A_CARD}"], alone["generated"]
    held_against(by_xla, without)
    assert (by_xla["xla"], without["xla"]) == ([True], [False])
    said = "Batches came in 4 sizes, for each of which XLA compiled the step anew."
    assert by_xla["told"].count(said) == 1
    assert said not in without["told"]


@pytest.mark.parametrize("way", SPREAD)
def test_that_batches_of_a_stream_are_cut_over_devices_without_loss(
    way: str, alone: dict[str, Any], tmp_path: Path
) -> None:
    found = results(WAYS[way], SPREAD[way], tmp_path)
    for case in SPREAD[way]:
        held_against(found[case], alone[case])


@pytest.mark.parametrize("case", sorted(RESUMED))
def test_that_a_run_on_a_stream_goes_on_in_mid_epoch_to_the_same_losses(
    case: str, alone: dict[str, Any]
) -> None:
    whole, again = alone[case]["steps"], alone[case]["resumed"]
    assert 0 < len(again) < len(whole)
    assert again == pytest.approx(whole[-len(again) :], abs=1e-6)


def test_that_an_epoch_cut_short_by_the_end_of_the_data_is_told(alone: dict[str, Any]) -> None:
    told = alone["ended"]["told"]
    said = "The data ended after 2 of the 3 steps of epoch 2: it is shorter, and the next begins"
    assert f"{said} where the data begin." in told
    assert len(alone["ended"]["steps"]) == 3 + 2 + 3
