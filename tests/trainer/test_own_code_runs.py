"""Runs of models and data that functions of the user's own make, in real trainers.

Trained, failing, never ending.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import running, small_plan, trained
from written_code import SCALE, Written

from gpu_studio.contract import events
from gpu_studio.contract.consent import digest
from gpu_studio.contract.directory import RunDirectory, send
from gpu_studio.plan import Data, Distribution, ModelSettings, Placed, Plan, save
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.state import is_live, terminal_event

pytestmark = pytest.mark.slow

CODE = (
    SCALE
    + """
import numpy as np

class Net(keras.Model):
    def __init__(self, units, outputs):
        super().__init__(name="net")
        self.scale = Scale(name="scale")
        self.first = keras.layers.Dense(units, activation="relu", name="first")
        self.last = keras.layers.Dense(outputs, name="last")

    def call(self, x):
        return self.last(self.first(self.scale(x)))

def build(outputs, units=8):
    model = Net(units, outputs)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def load(seed, samples):
    draw = np.random.default_rng(seed)
    y = np.arange(samples) % 3
    return draw.normal(size=(samples, 8)) + y[:, None], y
"""
)


def own(path: Path, *settings: str) -> Plan:
    plan = small_plan("training.epochs=1", "training.batch_size=64", *settings)
    data = Data(python=f"{path}:load", options={"samples": 240})
    return replace(
        plan, model=ModelSettings(python=f"{path}:build", options={"units": 12}), data=data
    )


def failing(path: Path, plan: Plan | None = None) -> Plan:
    return replace(plan or small_plan(), model=ModelSettings(python=f"{path}:build"))


def test_that_a_subclassed_model_with_a_layer_of_its_own_trains_the_same_however_it_is_spread(
    written: Written, tmp_path: Path
) -> None:
    path = written(CODE)
    placed = Distribution("placed", ("CPU:0", "CPU:1"), placed=Placed(2, {"net/last": ("CPU:1",)}))
    two = ("distribution.strategy=mirrored", "distribution.devices=['CPU:0', 'CPU:1']")
    plans = (own(path), own(path, *two), replace(own(path), distribution=placed))
    ended = [trained(plan, tmp_path / "runs") for plan in plans]
    losses = [[loss for step in run.of(events.Steps) for loss in step.losses] for run in ended]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert losses[0] == pytest.approx(losses[2], abs=1e-5)
    [model] = ended[0].of(events.Model)
    assert (model.name, model.data, model.train_samples) == ("own.py:build", "own.py:load", 194)
    for run in ended:
        told = [(code.part, code.file, code.function, code.sha256) for code in run.of(events.Code)]
        sha256 = digest(CODE.encode())
        assert told == [("model", str(path), "build", sha256), ("data", str(path), "load", sha256)]
        assert run.one(events.Model).loss == "sparse_categorical_crossentropy"
        assert run.one(events.Model).optimizer == "sgd"
    [where] = ended[2].of(events.Placement)
    assert {
        device for layer, way, device, _ in where.rows if (layer, way) == ("net/last", "forward")
    } == {"CPU:1"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["own.py", "runs"]


def test_that_a_trainer_runs_nothing_that_has_changed_since_its_run_was_made(
    written: Written, tmp_path: Path
) -> None:
    """As when a file is written to while its run waits: only the trainer can see it."""
    path = written("def build(): ...\n")
    run = RunDirectory.create(tmp_path / "runs", "own")
    save(failing(path), run.plan_file)
    path.write_text("open(__file__ + '.ran', 'w')\ndef build(): ...\n")
    subprocess.run(
        [*warm_python.command("gpu_studio.trainer"), str(run.path)], check=False, timeout=PATIENCE_S
    )
    failed = terminal_event(run)
    assert isinstance(failed, events.Failed)
    assert failed.kind == "user_code"
    assert "own.py has changed since it was allowed" in failed.message
    assert not (tmp_path / "own.py.ran").exists()


def test_that_an_exception_is_told_with_its_line_and_the_user_s_own_traceback(
    written: Written, tmp_path: Path
) -> None:
    path = written("def build():\n    print('x' * 100)\n    raise ValueError('no units')\n")
    ended = trained(failing(path), tmp_path / "runs")
    [failed] = ended.of(events.Failed)
    assert (failed.kind, failed.message) == (
        "user_code",
        "own.py stopped in line 3 with ValueError: no units",
    )
    assert failed.traceback.startswith(
        f'Traceback (most recent call last):\n  File "{path}", line 3, in build\n'
    )
    assert "x" * 100 in ended.log


def test_that_code_that_ends_the_process_is_named_as_what_was_at_work(
    written: Written, tmp_path: Path
) -> None:
    ended = trained(failing(written("import os\ndef build(): os._exit(7)\n")), tmp_path / "runs")
    assert ended.code == 7
    assert [code.function for code in ended.of(events.Code)] == ["build"]
    assert explain(ended.directory, ended.code).message == (
        "The trainer ended with exit code 7 while own.py was at work, and without a word."
    )


@pytest.mark.parametrize("action", ["stop", "stop_now"])
def test_that_code_that_never_returns_can_be_stopped(
    written: Written, tmp_path: Path, action
) -> None:
    path = written(
        "from pathlib import Path\ndef build():\n    Path('began').touch()\n    while True: pass\n"
    )
    with running(failing(path), tmp_path / "runs", warm=True) as run:
        run.wait_for((tmp_path / "began").exists)
        send(run.directory, action)
        ended = run.finish()
    [finished] = ended.of(events.Finished)
    assert finished.reason == "stopped_now"
    assert not is_live(ended.directory)
