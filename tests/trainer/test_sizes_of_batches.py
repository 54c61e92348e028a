"""Models that reckon with the size of their batches, which a pipeline that drops the rest states.

`fit` lets them see it in the shape of a batch. They are after public ones: a state that begins as
zeros, a model of pairs, and a generator of images that draws as many as are real.
"""

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

BEGINS = """
import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)
x = np.random.default_rng(1).normal(size=(40, 6)).astype("float32")
y = x[:, :1] * 2
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8, drop_remainder=True)
held = data.take(2)
"""
ENDS = """
model.compile(keras.optimizers.SGD(0.1), "mse")
history = model.fit(data, epochs=2, validation_data=held, verbose=0).history
Path("NAME.json").write_text(json.dumps(history))
"""
STATE = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.attention = keras.layers.MultiHeadAttention(1, 4)
        self.head = keras.layers.Dense(1)

    def call(self, inputs):
        begun = tf.zeros((inputs.shape[0], 2, 6)) + inputs[:, None, :]
        return self.head(self.attention(begun, begun)[:, 0])

model = Net()
"""
PAIRS = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = keras.Sequential([keras.layers.Dense(1)])

    def call(self, inputs):
        if inputs.shape[0] == 1:
            inputs = inputs[0]
        return self.head(inputs)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **others):
        return keras.ops.mean(keras.ops.square(y_pred - y[0]))

model = Net()
pairs = tf.data.Dataset.from_tensor_slices((x.reshape(20, 2, 6), y.reshape(20, 2, 1)))
data = pairs.batch(1, drop_remainder=True)
held = data.take(2)
"""
STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = keras.layers.Dense(1)

    def call(self, inputs):
        return self.head(inputs)

    def train_step(self, batch):
        real, wanted = batch
        fake = tf.ones((real.shape[0], 6))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(real) - wanted) ** 2) + tf.reduce_mean(self(fake) ** 2)
        found = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables))
        return {"error": loss}

model = Net()
"""
PROGRAMS = {"state": STATE, "pairs": PAIRS, "step": STEP}


def test_that_models_see_the_size_of_their_batches_where_fit_lets_them(tmp_path: Path) -> None:
    for name, text in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(BEGINS + text + ENDS.replace("NAME", name))
    allow_folder(tmp_path)
    ways = {}
    for name in PROGRAMS:
        script = tmp_path / f"{name}.py"
        subprocess.run(warm_python.command(str(script)), cwd=tmp_path, check=True)
        plan = plans.with_absolute_files(plans.load(script), tmp_path)
        ways[name] = with_settings(plan, ['devices.carve=[{ device = "CPU:0", slices_mib = [0] }]'])
    runs = zoo_runs.trained_plans(ways, tmp_path)
    for name, found in runs.items():
        history = json.loads((tmp_path / f"{name}.json").read_text())
        assert not found.crashed + found.refused, (name, found.trace)
        for measure in history:
            curve = [epoch[measure] for epoch in found.epochs]
            assert curve == pytest.approx(history[measure], rel=1e-5), (name, measure)
    # Attention holds a Dropout that drops nothing.
    assert not any("takes no training" in each for each in runs["state"].warned)
