"""Scripts that hand training to Keras' `fit`, started for each of several workers, and stopped.

What was proven is not trained again (`proven.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from patience import PATIENCE_S
from proven import Proof
from training_runs import Finished, as_compiled, small_plan, trained, until
from worker_scripts import losses_by_epoch, warm_interpreter

from gpu_studio.contract.consent import allow_file
from gpu_studio.export import python_script
from gpu_studio.export.jobs import SCRIPT, job_text
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts, ModelGraph
from gpu_studio.plan import Plan

pytestmark = [pytest.mark.slow, pytest.mark.processes]

CLOSE = 1e-5
ENOUGH = 16
"""The callback ends the training after so many epochs: from the fifth on a stop has been asked for.

What is left are more than it takes from the launcher to the workers.
"""
OWN = f"""
import time
from pathlib import Path

import keras
import numpy as np


def load(seed):
    x = np.random.default_rng(seed).normal(size=(101, 6)).astype("float32")
    return x, x[:, :1] * x[:, 1:2]


def build():
    inputs = keras.Input((6,))
    x = keras.layers.Dense(8, "tanh", kernel_constraint="max_norm")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1, name="last")(x))
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"], steps_per_execution=2)
    return model


class Enough(keras.callbacks.Callback):
    seen = 0

    def on_epoch_end(self, epoch, logs=None):
        while epoch == 4 and not Path(__file__).with_name("asked").exists():
            time.sleep(0.02)
        self.seen += 1
        self.model.stop_training = self.seen == {ENOUGH}


def enough():
    return Enough()
"""
SEEN = DataFacts("load", "values", None, 101, x_shape=(6,), y_shape=(1,), arrays=("x", "y"))
BUILT = ModelFacts(
    learnt=Learnt("values", True, "mean_squared_error", ("mae",), compiled=True),
    graph=ModelGraph("build", (), (6,), (1,)),
)


WAYS = {
    "equals": ("distribution.strategy=multi_worker",),
    "servers": ("distribution.strategy=parameter_server", "cluster.updates=sync"),
}


def plan_of(own: Path, *settings: str) -> Plan:
    """Neither are samples divided evenly by the batch, nor a batch by the workers."""
    patient = "{ monitor = 'loss', patience = 2, min_delta = 0.01 }"
    return small_plan(
        "devices.carve=",
        *as_compiled(own),
        "training.batch_size=17",
        "training.steps_per_epoch=4",
        "training.epochs=400",
        "training.phases=[{ after = 2, learning_rate = 0.05 }]",
        f"training.callbacks=[{{ name = 'reduce_lr_on_plateau', options = {patient} }}, "
        f"{{ name = '{own}:enough' }}, {{ name = 'csv_logger' }}]",
        *settings,
    )


def write_job(folder: Path, own: Path, way: str) -> Path:
    """What starts two workers, with their script beside it."""
    plan = plan_of(own, *WAYS[way], "cluster.workers=2")
    script = python_script(plan, None, folder, SEEN, BUILT)
    (folder / SCRIPT).write_text(script)
    path = folder / "launch.sh"
    path.write_text(job_text("launch", plan, "small", script, {}, path.name))
    return path


def start(launch: Path, told: Path, python: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the workers; what is printed goes to a file."""
    with told.open("w") as file:
        return subprocess.Popen(
            ["bash", launch, *words],
            env={**os.environ, "PYTHON": str(python), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Finished:
    """The run of the same plan in one process."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "asked").touch()
    run = trained(plan_of(own_in(folder)), folder)
    assert run.code == 0, run.log
    return run


def own_in(folder: Path) -> Path:
    """The user's file, allowed."""
    own = folder / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())
    return own


@pytest.mark.parametrize("way", WAYS)
def test_that_stopped_workers_go_on_to_the_losses_of_one_process_until_a_callback_ends_them(
    request: pytest.FixtureRequest, tmp_path: Path, way: str, proof: Proof
) -> None:
    launch = write_job(tmp_path, own_in(tmp_path), way)
    if proof.holds([launch.read_text(), (tmp_path / SCRIPT).read_text()], tmp_path):
        return
    alone, python = request.getfixturevalue("alone"), warm_interpreter(tmp_path)
    first, later = tmp_path / "first.txt", tmp_path / "later.txt"
    started = start(launch, first, python)
    try:
        until(lambda: "epoch 3/" in first.read_text() or started.poll() is not None, PATIENCE_S)
        started.send_signal(signal.SIGTERM)
        (tmp_path / "asked").touch()
        assert started.wait(PATIENCE_S) == 0, first.read_text()
        assert "--resume goes on" in first.read_text()
        assert max(losses_by_epoch(first.read_text())) < ENOUGH
        started = start(launch, later, python, "--resume")
        assert started.wait(PATIENCE_S) == 0, later.read_text()
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(PATIENCE_S)
    both = losses_by_epoch(first.read_text()) | losses_by_epoch(later.read_text())
    assert sorted(both) == list(range(1, ENOUGH + 1)), later.read_text()
    for number, told in enumerate(alone.epochs, start=1):
        both[number].pop("learning_rate")  # which Keras adds to what is told
        assert both[number] == pytest.approx(told, rel=CLOSE, abs=CLOSE), number
    rows = (tmp_path / "trained" / "epochs.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows] == ["epoch", *map(str, range(ENOUGH))]
    written = {path.name for path in (tmp_path / "trained").iterdir()}
    assert {"best.weights.h5", "last.weights.h5", "state.npz"} <= written
    proof.keep()
