"""Layers that the plan freezes or thaws train what `fit` trains where a program sets `trainable`.

The base normalises batches, and has a regularizer: both count only while they are not frozen.
"""

from __future__ import annotations

import numpy as np
import pytest
from parity_jobs import CLOSE, VALIDATED, Case, Trained

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
ADAM = ["training.optimizer=adam", "training.learning_rate=0.01"]
FIT = {"class_name": "Adam", "config": {"learning_rate": 0.01}}


def _case(structure: str, frozen: str, **trainable: bool) -> Case:
    settings = [*VALIDATED, 'training.metrics=["auto"]', *ADAM]
    return {
        "structure": structure,
        "settings": [*settings, f"model.frozen={frozen}"],
        "fit": FIT,
        "trainable": {name.replace("__", "/"): trains for name, trains in trainable.items()},
    }


CASES = {
    "base": _case("transfer", '["base"]', base=False),
    "pattern": _case("transfer", '["base/b*"]', base__b=False, base__bn=False),
    "all but one": _case("transfer", '["base", "!base/b"]', base__a=False, base__bn=False),
    "by its code": _case("transfer_frozen", "[]"),
    "thawed": _case("transfer_frozen", '["!base/[ab]"]', base=True, base__bn=False),
}
CHOSEN = {
    "none": tuple(CASES),
    "mirrored": ("base", "thawed"),
    "placed": ("base", "all but one", "by its code"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    chosen = {way: {name: CASES[name] for name in names} for way, names in CHOSEN.items()}
    return Trained(tmp_path_factory.mktemp("frozen"), chosen.__getitem__)


@pytest.mark.parametrize(("way", "name"), [(way, name) for way in CHOSEN for name in CHOSEN[way]])
def test_that_frozen_layers_train_what_fit_trains(trained: Trained, way: str, name: str) -> None:
    mine, reference = trained[way][name], trained["fit"][name]
    assert "error" not in reference, reference["error"]
    assert "error" not in mine, mine["error"]
    for told, wanted in zip(mine["epochs"], reference["epochs"], strict=True):
        assert told == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)
    for value, wanted in zip(mine["weights"], reference["weights"], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=CLOSE, atol=CLOSE)
