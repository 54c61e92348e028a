"""Layers that the plan freezes or thaws train what `fit` trains where a program sets `trainable`.

A phase is what a program does between two `fit`: other layers trainable, and compiled anew.

The base normalises batches, and has a regularizer: both count only while they are not frozen.
"""

from __future__ import annotations

import numpy as np
import pytest
from parity_jobs import CLOSE, VALIDATED, WHOLE, Case, Trained

pytestmark = pytest.mark.slow
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
PHASE = "{ after = 3, learning_rate = 0.003, frozen = ['base', '!base/b'] }"
THEN = {"base": True, "base/a": False, "base/bn": False}
CASES["called"] = {
    **BASE,
    "settings": [*BASE["settings"], f"training.phases=[{PHASE}]"],
    "then": [{"after": 3, "learning_rate": 0.003, "trainable": THEN}],
    "callbacks": "phases",
    "epochs": 5,
}
CASES["ended early"] = {
    **CASES["called"],
    "settings": [*BASE["settings"], f"training.phases=[{PHASE.replace('3', '4', 1)}]"],
    "callbacks": "ends",
}
# Within the second epoch of the second phase.
TAKEN_OVER = "called, taken over"
CASES[TAKEN_OVER] = {**CASES["called"], "left_after": 14}
CHOSEN = {"none": tuple(CASES), "mirrored": ("called",), "placed": (TAKEN_OVER,) if WHOLE else ()}
OF_FIT = {
    name: case for name, case in CASES.items() if "left_after" not in case and name != "ended early"
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    chosen = {way: {name: CASES[name] for name in names} for way, names in CHOSEN.items()}
    left_out = [name for name in CASES if name not in OF_FIT]
    return Trained(tmp_path_factory.mktemp("frozen"), lambda way: chosen.get(way, {}), left_out)


@pytest.mark.parametrize(
    ("way", "name"),
    [(way, name) for way in CHOSEN for name in CHOSEN[way] if name != "ended early"],
)
def test_that_frozen_layers_train_what_fit_trains(trained: Trained, way: str, name: str) -> None:
    mine, reference = trained[way][name], trained["fit"][name.partition(",")[0]]
    assert "error" not in reference, reference["error"]
    assert "error" not in mine, mine["error"]
    for told, wanted in zip(mine["epochs"], reference["epochs"], strict=True):
        wanted.pop("learning_rate", None)  # what callbacks add is no measure of a run
        assert told == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)
    for value, wanted in zip(mine["weights"], reference["weights"], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("way", ["none", "mirrored"])
def test_that_for_callbacks_a_phase_is_another_fit(trained: Trained, way: str) -> None:
    mine, reference = trained[way]["called"]["called"], trained["fit"]["called"]["called"]
    assert [each[0] for each in mine] == [each[0] for each in reference]
    assert [each[0] for each in mine].count("on_train_begin") == 2
    for called, wanted in zip(mine, reference, strict=True):
        for value, expected in zip(called[1:], wanted[1:], strict=True):
            assert value == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
    # Two of them end the first phase in its last epoch, which ends anyway.
    assert trained[way]["called"]["ended"] == ["completed", "", 5, 20]


def test_that_what_ends_a_run_says_which_phase_is_not_trained(trained: Trained) -> None:
    said = trained["none"]["ended early"]["told"]
    assert said == [
        "Ends ends the run in epoch 3: the phase that begins after epoch 4 is not trained."
    ]
