"""Models that their users compiled train what their own `fit` trains, under every strategy.

Losses, metrics of epochs and test, and weights, to 1e-5; so do a loss, metrics and an optimizer of
the user's own that the plan names. GPU_STUDIO_WHOLE_PARITY=1 tests all under all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import compiled_jobs
import numpy as np
import pytest
import warm_python
from parity_jobs import CLOSE, TESTED, WAYS, WHOLE, Case

pytestmark = pytest.mark.slow

REFERENCES = [
    'training.optimizer="models.py:optimizer"',
    "training.options={momentum=0.5}",
    "training.learning_rate=0.2",
    'training.loss={name="models.py:make_focal",gamma=3.0}',
    'training.metrics=[{name="models.py:Sure",least=0.3},"models.py:entropy"]',
]
SCHEDULED = [
    *("training.learning_rate=0.4", "training.optimizer=adam"),
    *('training.loss={name="sparse_categorical_crossentropy"}', "training.metrics=[]"),
]
CASES: dict[str, Case] = {
    **{
        name: {"function": name, "settings": TESTED}
        for name in ("sgd", "adam", "smoothed", "summed", "apart", "overlapping", "averaged")
    },
    **{
        name: {"function": name, "settings": TESTED}
        for name in ("partly", "ema", "scaled", "scaled_little", "in_dictionary")
    },
    "warmed": {
        "function": "warmed",
        "trained": "plain",
        "settings": [*TESTED, *SCHEDULED, 'training.schedule={name="models.py:warm",steps=3}'],
    },
    "halved": {
        "function": "halved",
        "trained": "plain",
        "settings": [
            *(*TESTED, *SCHEDULED, "training.optimizer=sgd"),
            'training.schedule={name="models.py:halving",learning_rate=0.4}',
        ],
    },
    "named": {
        "function": "by_reference",
        "trained": "plain",
        "settings": [*TESTED, *REFERENCES],
    },
    **{
        name: {"function": name, "settings": [*TESTED, "data.python=models.py:two_data"]}
        for name in ("two", "watched")
    },
    "targets missing": {
        "function": "gaps",
        "settings": [*TESTED, "data.python=models.py:gaps_data"],
    },
    "as they come, validated every second epoch": {
        "function": "sgd",
        "asked": {"shuffle": False, "validation_freq": 2},
        "settings": [*TESTED, "training.shuffle=false", "training.validation_freq=2"],
    },
    "classes weighted": {
        "function": "summed",
        # A tf.data.Dataset wants all classes named.
        "class_weight": {"0": 2.0, "1": 1.0, "2": 0.5, "3": 1.0},
        "settings": [*TESTED, "training.class_weight={0=2.0,2=0.5}"],
    },
}
FEW = {"apart", "overlapping", "averaged", "scaled_little"}
TOLERATED = {"scaled_little mirrored": 1e-3, "scaled_little placed": 1e-4}
"""In 16 bits a sum over the parts of a batch is rounded otherwise than one over all of it."""
APART = {"scaled mirrored", "scaled placed"}
"""Gradients of the whole batch overflow where those of its parts do not: this is told."""
REFUSED = {
    "scaled central_storage": "float16 mixed precision under central_storage",
    "scaled_little central_storage": "float16 mixed precision under central_storage",
    "overlapping placed": "2 micro-batches would each have one of their own",
    "averaged mirrored": "must see one batch after another",
    "averaged central_storage": "must see one batch after another",
    "averaged placed": "must see one batch after another",
}
PARTS = [way for way in WAYS if WHOLE or way in ("none", "mirrored")]
BESIDE = {"sgd", "adam", "summed", "halved", "apart"}
"""What is compiled as these are in another case under `none` as well, or is over replicas."""
PAIRS = [
    (name, way)
    for way in PARTS
    for name in CASES
    if WHOLE or (name in FEW if way != "none" else name not in BESIDE)
]


class Results(dict[str, dict[str, Any]]):
    """What became of every case in a way, once it is asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, way: str) -> dict[str, Any]:
        wanted = {name for name, of in PAIRS if way in (of, "fit")}
        cases = {name: CASES[name] for name in CASES if name in wanted}
        done = subprocess.run(
            warm_python.command(str(Path(compiled_jobs.__file__))),
            input=json.dumps([WAYS.get(way, "fit"), cases]),
            capture_output=True,
            text=True,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        self[way] = json.loads(done.stdout.splitlines()[-1])
        return self[way]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("compiled"))


@pytest.mark.parametrize(("name", "way"), PAIRS)
def test_that_a_compiled_model_trains_as_its_own_fit(results: Results, name: str, way: str) -> None:
    theirs, mine = results["fit"][name], results[way][name]
    if f"{name} {way}" in REFUSED:
        assert REFUSED[f"{name} {way}"] in mine["error"]
        return
    assert "error" not in mine, mine["error"]
    if f"{name} {way}" in APART:
        assert any("Gradients in 16 bits overflow in each of 2" in told for told in mine["told"])
        return
    close = TOLERATED.get(f"{name} {way}", CLOSE)
    for epoch, expected in zip(mine["epochs"], theirs["epochs"], strict=True):
        assert epoch == pytest.approx(expected, rel=close, abs=close)
    assert mine["test"] == pytest.approx(theirs["test"], rel=close, abs=close)
    for weights, expected in zip(mine["weights"], theirs["weights"], strict=True):
        np.testing.assert_allclose(weights, expected, rtol=0, atol=close)


def test_that_a_loss_of_the_whole_batch_is_told_where_replicas_share_it(results: Results) -> None:
    assert results["none"]["overlapping"]["told"] == []
    (told,) = results["mirrored"]["overlapping"]["told"]
    assert "The loss overlap is one of a whole batch. Each of the 2 replicas" in told
    (advice,) = results["mirrored"]["overlapping"]["advised"]
    assert advice == "Train on one device: there it is that of a whole batch."


def test_that_scaled_losses_over_replicas_are_told_to_overflow_apart(results: Results) -> None:
    assert results["none"]["scaled_little"]["told"] == []
    (told,) = results["mirrored"]["scaled_little"]["told"]
    assert "Gradients in 16 bits overflow in each of 2 replicas by itself" in told
