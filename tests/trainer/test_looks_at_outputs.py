"""What a run computes to learn what its model ends in needs no more memory than its steps do."""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import PLAIN_STEPS, UNJUDGED, small_plan

from gpu_studio.plan import dumps

pytestmark = pytest.mark.slow

SAMPLES_LOOKED_AT = """
import json, sys
from pathlib import Path
import keras, tensorflow as tf
from gpu_studio import plan as plans
from gpu_studio.trainer import session

looked_at = []

called = keras.layers.Dense.call

def watched(layer, x, *given):
    if tf.executing_eagerly() and not isinstance(x, keras.KerasTensor):
        looked_at.append(len(x))
    return called(layer, x, *given)

keras.layers.Dense.call = watched

def model(*_):
    layers = [keras.layers.Flatten(), keras.layers.Dense(10), keras.layers.ReLU()]
    return keras.Sequential([keras.Input((28, 28, 1)), *layers])

vars(session)["build_model"] = model
found = []
for text in json.load(open(sys.argv[1])):
    looked_at.clear()
    session.build(plans.loads(text), Path(), lambda event: None)
    found.append(sorted(set(looked_at)))
print(json.dumps(found))
"""


def test_that_a_run_looks_at_no_more_samples_than_a_device_trains_at_once(tmp_path):
    mirrored = "distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]'
    settings: list[tuple[str, ...]] = [
        ("distribution.strategy=none", "training.batch_size=64"),
        ("distribution.strategy=none", "training.batch_size=3"),
        (*mirrored, "training.batch_size=4"),
        (*mirrored, "training.batch_size=2"),
    ]
    plans = [small_plan(*each, *PLAIN_STEPS, *UNJUDGED) for each in settings]
    (tmp_path / "plans.json").write_text(json.dumps(list(map(dumps, plans))))
    done = subprocess.run(
        [*warm_python.command("-c"), SAMPLES_LOOKED_AT, "plans.json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [[8], [3], [2], [1]]
