"""Metrics whose result is an array or a dictionary: logged as by `fit`, and each number a curve."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import script_jobs
import warm_python
import zoo_runs
from exported_scripts import epochs_in

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.plan.settings import with_settings

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

SCORES = """
import json
from pathlib import Path

import keras
import numpy as np


class Shares(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="shares")
        self.hits = self.add_weight(shape=(), initializer="zeros", name="hits")
        self.all = self.add_weight(shape=(), initializer="zeros", name="all")

    def update_state(self, y, outputs, sample_weight=None):
        same = keras.ops.argmax(y, -1) == keras.ops.argmax(outputs, -1)
        self.hits.assign_add(keras.ops.sum(keras.ops.cast(same, "float32")))
        self.all.assign_add(keras.ops.sum(keras.ops.ones_like(y)) / 3)

    def result(self):
        share = self.hits / self.all
        return {"right": share, "wrong": 1 - share}


class Noting(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        with open("noted.txt", "a") as file:
            file.write(f"{sorted((name, np.shape(value)) for name, value in logs.items())}\\n")


keras.utils.set_random_seed(3)
x = np.random.default_rng(1).normal(size=(96, 6)).astype("float32")
y = keras.utils.to_categorical(np.abs(x[:, :3]).argmax(1), 3)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, "softmax")])
model.compile("sgd", "categorical_crossentropy", metrics=[keras.metrics.F1Score(), Shares()])
notes = [Noting(), keras.callbacks.CSVLogger("logged.csv")]
history = model.fit(x, y, epochs=2, shuffle=False, validation_split=0.25, callbacks=notes)
logs = {name: np.asarray(values).tolist() for name, values in history.history.items()}
Path("history.json").write_text(json.dumps(logs))
"""
SEEN = DataFacts(
    "scores.py",
    "values",
    None,
    72,
    24,
    x_shape=(6,),
    y_shape=(3,),
    arrays=("x_train", "y_train", "x_val", "y_val"),
    fit={"epochs": 2, "shuffle": False},
)
LEARNT = Learnt("classes", False, "categorical_crossentropy", (), compiled=True, several=True)
WAY = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
TWO = (WAY, "distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]')


def test_that_metrics_of_several_numbers_are_those_of_fit(tmp_path: Path) -> None:
    script, noted = tmp_path / "scores.py", tmp_path / "noted.txt"
    script.write_text(SCORES)
    allow_folder(tmp_path)
    subprocess.run(warm_python.command(str(script)), cwd=tmp_path, check=True)
    history = json.loads((tmp_path / "history.json").read_text())
    told, written = noted.read_text(), (tmp_path / "logged.csv").read_text()
    noted.unlink()
    plan = plans.with_absolute_files(plans.load(script), tmp_path)
    one = zoo_runs.trained_plans({"one": with_settings(plan, [WAY])}, tmp_path)["one"]
    assert noted.read_text() == told
    assert len((tmp_path / "logged.csv").read_text().splitlines()) == len(written.splitlines())
    two = zoo_runs.trained_plans({"two": with_settings(plan, TWO)}, tmp_path)["two"]
    exported = tmp_path / "exported.py"
    exported.write_text(python_script(plan, None, tmp_path, SEEN, ModelFacts(learnt=LEARNT)))
    (said,) = script_jobs.printed_by([exported], tmp_path)
    for name in ("f1_score", "val_f1_score"):
        for number in range(3):
            each = [scores[number] for scores in history[name]]
            for found in (one, two):
                curve = [epoch[f"{name}[{number}]"] for epoch in found.epochs]
                assert curve == pytest.approx(each, rel=1e-5)
        history[name] = np.mean(history[name], axis=1).tolist()
    for name in ("loss", "val_loss", "f1_score", "val_f1_score", "right", "val_wrong"):
        for found in (one.epochs, two.epochs, epochs_in(said)):
            assert [epoch[name] for epoch in found] == pytest.approx(history[name], rel=1e-5), name
