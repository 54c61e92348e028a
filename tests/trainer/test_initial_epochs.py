"""Epochs that count as trained before, as `fit(initial_epoch=…)` has them, in runs and scripts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import script_jobs
import warm_python
import zoo_runs
from exported_scripts import epochs_in
from training_runs import Finished, small_plan, trained

from gpu_studio import plan as plans
from gpu_studio.contract import events
from gpu_studio.contract.consent import allow_folder
from gpu_studio.export import ExportError, python_script
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts
from gpu_studio.plan import Plan
from gpu_studio.plan.settings import with_settings
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.resume import choose

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

LATER = """
import json
import sys
from pathlib import Path

import keras
import numpy as np

class Noting(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs |= {"number": float(epoch), "of": float(self.params["epochs"])}

epochs, before = map(int, sys.argv[1:] or (7, 3))
keras.utils.set_random_seed(3)
x = np.random.default_rng(1).normal(size=(96, 6)).astype("float32")
y = x[:, :1] * x[:, 1:2]
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.2), "mse")
history = model.fit(
    x,
    y,
    batch_size=96,
    epochs=epochs,
    initial_epoch=before,
    validation_data=(x[:9], y[:9]),
    validation_freq=2,
    callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.2 / (1 + epoch)), Noting()],
)
Path("history.json").write_text(json.dumps(history.history))
"""
SEEN = DataFacts(
    "later.py",
    "values",
    None,
    96,
    9,
    x_shape=(6,),
    y_shape=(1,),
    arrays=("x_train", "y_train", "x_val", "y_val"),
    fit={"epochs": 7, "initial_epoch": 3},
)
COMPILED = ModelFacts(learnt=Learnt("values", True, "mse", (), compiled=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "later.py").write_text(LATER)
    allow_folder(tmp_path)
    return tmp_path


def later(folder: Path, *settings: str) -> Plan:
    carve = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
    plan = plans.with_absolute_files(plans.load(folder / "later.py"), folder)
    return with_settings(plan, [carve, *settings])


def given(*words: int) -> tuple[str, ...]:
    said = f"arguments={[str(each) for each in words]}"
    return tuple(f"{part}.options.{said}" for part in ("model", "data"))


def test_that_a_script_trains_the_epochs_that_it_gives_fit(folder: Path) -> None:
    subprocess.run(warm_python.command(str(folder / "later.py")), cwd=folder, check=True)
    history = json.loads((folder / "history.json").read_text())
    two = ("distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]')
    made = {
        "as it is": later(folder),
        "mirrored": later(folder, *two),
        "none": later(folder, *given(0, 0)),
        "none after three": later(folder, *given(3, 3)),
    }
    runs = zoo_runs.trained_plans(made, folder)
    exported = folder / "exported.py"
    exported.write_text(python_script(later(folder), None, folder, SEEN, COMPILED))
    (said,) = script_jobs.printed_by([exported], folder)
    assert [line.split()[1] for line in said.splitlines()] == ["4/7", "5/7", "6/7", "7/7"]
    for found in (runs["as it is"].epochs, runs["mirrored"].epochs, epochs_in(said)):
        assert [each["number"] for each in found] == [3, 4, 5, 6]
        assert {each["of"] for each in found} == {7}
        assert [each["loss"] for each in found] == pytest.approx(history["loss"], rel=1e-5)
        validated = [each["val_loss"] for each in found if "val_loss" in each]
        assert validated == pytest.approx(history["val_loss"], rel=1e-5)
    assert "epochs=0: that trains nothing" in runs["none"].refused
    assert "epochs=3 and initial_epoch=3: that trains" in runs["none after three"].refused


MADE = (
    "training.batch_size=96",
    "data.test_fraction=0",
    "training.epochs=5",
    "training.initial_epoch=2",
    "model.options={ hidden = [16], dropout = 0.3 }",
    'training.schedule={ name = "cosine" }',
    "training.phases=[{ after = 4, learning_rate = 0.001 }]",
)


def test_that_events_and_what_is_resumed_count_the_epochs_that_were_before(tmp_path: Path) -> None:
    whole = trained(small_plan(*MADE), tmp_path)
    assert whole.code == 0, whole.log
    steps = whole.one(events.Model).steps_per_epoch
    assert [each.epoch for each in whole.of(events.Epoch)] == [3, 4, 5]
    assert sorted(whole.losses) == [*range(2 * steps, 5 * steps)]
    assert [each.after for each in whole.of(events.PhaseBegan)] == [4]
    history = read(whole)
    assert (history.steps_total, history.step) == (5 * steps, 5 * steps)
    first = trained(small_plan(*MADE, "training.epochs=4", "training.phases=[]"), tmp_path)
    resume = choose(first.directory, None)
    assert resume.checkpoint.step == 4 * steps, "the initial epochs count"
    second = trained(small_plan(*MADE), tmp_path, resume=resume)
    assert [each.epoch for each in second.of(events.Epoch)] == [5]
    assert min(second.losses) == 4 * steps


def read(run: Finished) -> History:
    history = History()
    history.apply_all(run.events)
    return history


def test_that_a_script_of_phases_says_that_it_begins_with_the_first_epoch(tmp_path: Path) -> None:
    plan = small_plan(*MADE)
    with pytest.raises(ExportError, match=r"begins with the first epoch. Leave training\.initial"):
        python_script(plan, None, tmp_path, SEEN, COMPILED)
