"""Layers that the plan freezes or thaws train what `fit` trains where a program sets `trainable`.

A phase is what a program does between two `fit`: other layers trainable, and compiled anew.

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


BASE = _case("transfer", '["base"]', base=False)
CASES = {
    "thawed": _case("transfer_frozen", '["!base/[ab]"]', base=True, base__bn=False),
}
# The batch normalisation stays frozen, as on several replicas each would have its own part.
PHASE = "{ after = 1, learning_rate = 0.003, frozen = ['base', '!base/b'] }"
THEN = {"base": True, "base/a": False, "base/bn": False}
CASES["phases"] = {
    **BASE,
    "settings": [*BASE["settings"], f"training.phases=[{PHASE}]"],
    "then": [{"after": 1, "learning_rate": 0.003, "trainable": THEN}],
}
CASES["taken over"] = {
    **CASES["phases"],
    "settings": [*CASES["phases"]["settings"], "training.steps_per_call=2"],
    "left_after": 6,  # within the second epoch, and so the second phase
}
CHOSEN = {"none": tuple(CASES), "mirrored": ("phases",), "placed": ("taken over",)}
OF_FIT = {name: case for name, case in CASES.items() if "left_after" not in case}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    chosen = {way: {name: CASES[name] for name in names} for way, names in CHOSEN.items()}
    left_out = [name for name in CASES if name not in OF_FIT]
    return Trained(tmp_path_factory.mktemp("frozen"), chosen.__getitem__, left_out)


@pytest.mark.parametrize(("way", "name"), [(way, name) for way in CHOSEN for name in CHOSEN[way]])
def test_that_frozen_layers_train_what_fit_trains(trained: Trained, way: str, name: str) -> None:
    taken_over = name not in OF_FIT
    mine, reference = trained[way][name], trained["fit"]["phases" if taken_over else name]
    assert "error" not in reference, reference["error"]
    assert "error" not in mine, mine["error"]
    for told, wanted in zip(mine["epochs"], reference["epochs"], strict=True):
        assert told == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)
    for value, wanted in zip(mine["weights"], reference["weights"], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=CLOSE, atol=CLOSE)
