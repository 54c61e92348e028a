"""Arrays that a step of one's own returns as logs: handed on and drawn as those of metrics are."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import warm_python
import zoo_runs

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.plan.settings import with_settings

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

TRACKS = """
import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf


class Tracks(keras.Model):
    def __init__(self, **named):
        super().__init__(**named)
        self.score = keras.metrics.F1Score(name="score")

    @property
    def metrics(self):
        return [self.score]

    def logs(self, y, outputs):
        each = keras.losses.mean_squared_error(y, outputs)
        self.score.update_state(y, outputs)
        ends = keras.ops.mean(outputs, 0)
        return {"loss": tf.reduce_mean(each), "each": each, "ends": ends} | {
            metric.name: metric.result() for metric in self.metrics
        }

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logs = self.logs(y, self(x, training=True))
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(logs["loss"], weights), weights)
        return logs

    def test_step(self, data):
        return self.logs(data[1], self(data[0], training=False))


class Noting(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        shapes = {name: list(np.shape(value)) for name, value in logs.items()}
        Path("noted.json").write_text(json.dumps(shapes))


keras.utils.set_random_seed(3)
x = np.random.default_rng(1).normal(size=(96, 6)).astype("float32")
y = keras.utils.to_categorical(np.abs(x[:, :3]).argmax(1), 3)
inputs = keras.Input((6,))
model = Tracks(inputs=inputs, outputs=keras.layers.Dense(3, "softmax")(inputs))
model.compile(keras.optimizers.SGD(0.1))
held, notes = (x[64:], y[64:]), [Noting()]
history = model.fit(
    x[:64], y[:64], batch_size=16, epochs=2, shuffle=False, validation_data=held, callbacks=notes
)
logs = history.history
means = {name: [float(np.mean(each)) for each in logs[name]] for name in logs}
ends = [np.asarray(each).tolist() for each in logs["score"]]
Path("history.json").write_text(json.dumps([means, ends]))
"""
WAY = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
TWO = (WAY, "distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]')


def test_that_arrays_of_a_step_of_ones_own_are_those_of_fit(tmp_path: Path) -> None:
    script, noted = tmp_path / "tracks.py", tmp_path / "noted.json"
    script.write_text(TRACKS)
    allow_folder(tmp_path)
    subprocess.run(warm_python.command(str(script)), cwd=tmp_path, check=True)
    means, scores = json.loads((tmp_path / "history.json").read_text())
    shapes = json.loads(noted.read_text())
    plan = plans.with_absolute_files(plans.load(script), tmp_path)
    ways = {"one": [WAY], "two": TWO}
    runs = zoo_runs.trained_plans(
        {name: with_settings(plan, way) for name, way in ways.items()}, tmp_path
    )
    # How many samples a batch has, a compiled step does not know.
    one_number = {"each": [], "val_each": []}
    assert json.loads(noted.read_text()) == shapes | one_number
    said = " ".join(runs["one"].logged)
    assert "Tracks.train_step returns each as an array, whose mean is shown" in said
    assert "score gives 3 numbers" in said
    for found in runs.values():
        assert not found.crashed + found.refused, found.trace
        for name, values in means.items():
            curve = [epoch[name] for epoch in found.epochs]
            assert curve == pytest.approx(values, rel=1e-5), name
        for place in range(3):
            curve = [epoch[f"score[{place}]"] for epoch in found.epochs]
            assert curve == pytest.approx([each[place] for each in scores], rel=1e-5)
    assert np.isfinite(runs["one"].epochs[-1]["val_ends[2]"])
