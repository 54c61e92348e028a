"""A model whose `call` takes no `training` is called as by `fit`: its layers never hear of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import warm_python
import zoo_runs

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.plan.settings import with_settings

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

NET = """
import json
from pathlib import Path

import keras
import numpy as np


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential(
            [keras.layers.Dense(8, "relu"), keras.layers.BatchNormalization(name="normal")]
        )
        self.drop = keras.layers.Dropout(0.5, name="drop")
        self.head = keras.layers.Dense(2, "softmax")
        self.spread = keras.metrics.Mean(name="spread")

    def call(self, inputs{}):
        inner = self.drop(self.inner(inputs))
        self.spread.update_state(keras.ops.std(inner))
        return self.head(inner)


keras.utils.set_random_seed(3)
x = np.random.default_rng(1).normal(size=(96, 6)).astype("float32")
y = (x[:, 0] > x[:, 1]).astype("int32")
model = Net()
model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", metrics=["accuracy"])
held = (x[64:], y[64:])
history = model.fit(
    x[:64], y[:64], batch_size=16, epochs=3, shuffle=False, validation_data=held
).history
Path("history.json").write_text(json.dumps(history))
"""
WAY = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
TWO = (WAY, "distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]')


def test_that_a_model_that_never_hears_of_training_trains_as_by_fit(tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(NET.format(""))
    (tmp_path / "heard.py").write_text(NET.format(", training=None"))
    allow_folder(tmp_path)
    subprocess.run(warm_python.command(str(script)), cwd=tmp_path, check=True)
    history = json.loads((tmp_path / "history.json").read_text())
    plan = plans.with_absolute_files(plans.load(script), tmp_path)
    heard = plans.with_absolute_files(plans.load(tmp_path / "heard.py"), tmp_path)
    ways = {"one": with_settings(plan, [WAY]), "two": with_settings(plan, TWO), "heard": heard}
    runs = zoo_runs.trained_plans(ways, tmp_path)
    for name in ("one", "two"):
        found = runs[name]
        assert not found.crashed + found.refused, found.trace
        (said,) = (each for each in found.warned if "takes no training" in each)
        assert "drop and normal work as in inference" in said
        for measure in ("loss", "val_loss", "accuracy"):
            curve = [epoch[measure] for epoch in found.epochs]
            assert curve == pytest.approx(history[measure], rel=1e-5), (name, measure)
    spread = [epoch["spread"] for epoch in runs["one"].epochs]
    assert spread == pytest.approx(history["spread"], rel=1e-5)
    assert not any("takes no training" in each for each in runs["heard"].warned)
