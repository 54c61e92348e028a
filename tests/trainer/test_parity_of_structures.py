"""Several inputs, outputs and weights train what Keras' `fit` trains, under every strategy.

Losses and metrics of each output, of epochs, of validation and test, and weights, to 1e-5, under
the names that `fit` gives them. GPU_STUDIO_WHOLE_PARITY=1 tests all under all.
"""

from __future__ import annotations

import numpy as np
import pytest
from parity_jobs import CLOSE, TESTED, WAYS, WHOLE, Case, Trained

pytestmark = pytest.mark.slow
NAMES = (
    "two_inputs",
    "two_outputs",
    "dicts",
    "weights",
    "each_weighed",
    "nested",
    "texts",
    "no_targets",
    "masked",
    "single_numbers",
    "types",
)
CHOSEN = {
    "none": ("two_outputs", "nested", "masked"),
    "one_device": (),
    "mirrored": ("each_weighed",),
    "central_storage": (),
    "placed": ("dicts",),
}


def cases_of(way: str) -> dict[str, Case]:
    """What is trained one way: a mask counts in a batch of one part only."""
    names = NAMES if WHOLE else CHOSEN.get(way, NAMES)
    case: Case = {"settings": [*TESTED, 'training.metrics=["auto"]']}
    parts = {"micro_batches": 1} if way == "placed" else {}
    return {
        name: {**case, "structure": name, **(parts if name == "masked" else {})} for name in names
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(tmp_path_factory.mktemp("structures"), cases_of)


@pytest.mark.parametrize(("way", "name"), [(way, name) for way in WAYS for name in cases_of(way)])
def test_that_structures_of_any_kind_train_what_fit_trains(
    trained: Trained, way: str, name: str
) -> None:
    mine, reference = trained[way][name], trained["fit"][name]
    assert "error" not in reference, reference["error"]
    assert "error" not in mine, mine["error"]
    for told, wanted in zip(mine["epochs"], reference["epochs"], strict=True):
        assert told == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)
    assert mine["test"] == pytest.approx(reference["test"], rel=CLOSE, abs=CLOSE)
    for value, wanted in zip(mine["weights"], reference["weights"], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=CLOSE, atol=CLOSE)
