"""Callbacks in real trainers: what is told of them, how they fail, and how a run goes on."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from training_runs import Finished, as_compiled, running, small_plan, trained
from written_code import Written

from gpu_studio.contract import events
from gpu_studio.contract.directory import checkpoints
from gpu_studio.plan import Plan, with_settings
from gpu_studio.plan.values import Callback
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

CODE = """
import threading
import keras
from rates import falling

class Watching(keras.callbacks.Callback):
    def __init__(self, bad_epoch=-1, limit=0.5):
        super().__init__()
        self.bad_epoch, self.limit, self.seen = bad_epoch, limit, []

    def on_train_begin(self, logs=None):
        self.lock = [threading.Lock()]
        print("begins")

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append(epoch)
        self.lock = [threading.Lock()]
        logs["seen"] = len(self.seen)
        if epoch == self.bad_epoch:
            raise ValueError("no more")

def make(folder, validation_data, epochs, **options):
    assert len(validation_data[0]) == len(validation_data[1]) > 0 and epochs == 4
    saves = keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True)
    return [Watching(**options), keras.callbacks.BackupAndRestore("backup"), saves]

class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        threading.Event().wait(0.06)
"""
RATES = "def falling(epoch, rate):\n    return 0.01 / (epoch + 1)\n"
SETTINGS = ("training.epochs=4", "training.batch_size=128", "training.checkpoint.every_epochs=2")


def plan(path: Path, *callbacks: Callback, **options: Any) -> Plan:
    made = small_plan(*SETTINGS)
    schedule = Callback(
        "learning_rate_scheduler", {"schedule": f"{path.with_name('rates.py')}:falling"}
    )
    every = (Callback(f"{path}:make", options), schedule, Callback("csv_logger"))
    return replace(made, training=replace(made.training, callbacks=callbacks or every))


@pytest.fixture
def code(written: Written) -> Path:
    written(RATES, "rates.py")
    return written(CODE)


def rows(run: Finished) -> list[dict[str, str]]:
    text = (run.directory.path / "epochs.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def test_that_an_exception_in_a_callback_is_told_and_the_mended_run_goes_on_from_it(
    code: Path, tmp_path: Path
) -> None:
    first = trained(plan(code, bad_epoch=2), tmp_path / "runs")
    failed = first.one(events.Failed)
    line = CODE.splitlines().index('            raise ValueError("no more")') + 1
    assert failed.message == (
        f"own.py stopped in on_epoch_end in line {line} with ValueError: no more"
    )
    assert failed.kind == "user_code"
    assert f"line {line}, in on_epoch_end" in failed.traceback
    assert {(each.part, Path(each.file).name, each.function) for each in first.of(events.Code)} == {
        ("training", "own.py", "make"),
        ("training", "rates.py", ""),
        ("training", "rates.py", "falling"),
    }
    assert "begins" in first.log
    told = [each.message for each in (*first.of(events.Log), *first.of(events.Warned))]
    for words in (
        "BackupAndRestore of own.py:make is not called: the run's own checkpoints do what it does.",
        f"ModelCheckpoint of own.py:make writes {tmp_path / 'best.keras'}. ",
        "Watching of own.py:make: lock is not kept in checkpoints",
        "A callback has set the learning rate: it is 0.005, and was 0.01.",
    ):
        assert any(each.startswith(words) for each in told), (words, told)
    assert (tmp_path / "best.keras").exists()
    assert [each["seen"] for each in first.epochs] == [1, 2]
    per_epoch = first.one(events.Model).steps_per_epoch
    assert checkpoints(first.directory)[-1].step == 3 * per_epoch  # of the moment, not of an epoch

    second = trained(plan(code, bad_epoch=-1), tmp_path / "runs", resume=choose(first.directory))
    assert second.code == 0, second.log
    assert [each["seen"] for each in second.epochs] == [3, 4]
    assert [row["epoch"] for row in rows(first)] == ["0", "1"]
    assert [row["epoch"] for row in rows(second)] == ["0", "1", "2", "3"]
    assert [float(row["learning_rate"]) for row in rows(second)] == pytest.approx(
        [0.01 / (epoch + 1) for epoch in range(4)]
    )
    rates = {event.step: event.value for event in second.of(events.LearningRate)}
    assert rates == pytest.approx({3 * per_epoch: 0.01 / 4})


def _of_steps(warned: list[events.Warned]) -> list[events.Warned]:
    return [each for each in warned if "every step" in each.message]


def test_that_a_stop_waits_for_a_callback_that_is_under_way_and_writes_a_checkpoint(
    code: Path, tmp_path: Path
) -> None:
    slow = Callback(f"{code}:Slow")
    endless = with_settings(plan(code, slow), ["training.epochs=1000"])
    with running(endless, tmp_path / "runs", warm=True) as run:
        [cost] = run.wait_for(lambda: _of_steps(run.of(events.Warned)))
        run.send("stop")
        ended = run.finish()
    assert ended.one(events.Finished).reason == "stopped"
    told = re.fullmatch(
        r"own.py:Slow reads back every step: ([\d.]+) ms of ([\d.]+) ms a step, and each call "
        "trains one step only.",
        cost.message,
    )
    assert told is not None, cost.message
    assert 50 <= float(told[1]) <= float(told[2])
    assert all(len(each.losses) == 1 for each in ended.of(events.Steps))


def test_that_a_board_of_each_step_is_told_how_it_is_one_of_epochs() -> None:
    import keras

    from gpu_studio.trainer.callbacks.hooks import faster

    board = keras.callbacks.TensorBoard("logs", update_freq=1)
    assert faster([board]) == 'Faster: TensorBoard(update_freq="epoch", profile_batch=0).'
    assert "on_epoch_end" in faster([board, keras.callbacks.Callback()])


def test_that_a_loss_that_is_not_finite_ends_a_run_that_terminates_on_it(
    tmp_path: Path,
) -> None:
    diverging = small_plan(*SETTINGS, "training.optimizer=sgd", "training.learning_rate=1e30")
    settled = replace(
        diverging,
        training=replace(diverging.training, callbacks=(Callback("terminate_on_nan"),)),
    )
    ended = trained(settled, tmp_path / "runs").one(events.Finished)
    assert (ended.reason, ended.by, ended.epoch) == ("early_stopping", "terminate_on_nan", 1)


EVALUATING = """
import keras
import numpy as np

x = np.random.default_rng(1).normal(size=(45, 6)).astype("float32")
y = x[:, :2] ** 2

def load():
    return x, y

def build():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse", metrics=["mae"])
    return model

class Evaluating(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        found = self.model.evaluate(x, y, verbose=0, return_dict=True)
        logs["whole"], logs["whole_mae"] = found["loss"], found["mae"]
        logs["sum"] = float(self.model.predict(x, verbose=0).sum())
"""


@pytest.mark.parametrize("strategy", ["mirrored", "central_storage"])
def test_that_a_compiled_model_evaluates_and_predicts_on_one_device(
    written: Written, tmp_path: Path, strategy: str
) -> None:
    own = written(EVALUATING)
    apart = ("data.split=ordered", "training.epochs=2", "training.batch_size=8")
    runs = []
    for way in ("none", strategy):
        made = small_plan(*as_compiled(own), *apart, f"distribution.strategy={way}")
        callbacks = (Callback(f"{own}:Evaluating"),)
        made = replace(made, training=replace(made.training, callbacks=callbacks))
        runs.append(trained(made, tmp_path / "runs"))
    alone, over_replicas = (run.epochs for run in runs)
    assert len(alone) == 2, runs[0].log
    assert [set(each) >= {"whole", "whole_mae", "sum"} for each in alone] == [True, True]
    for one, other in zip(over_replicas, alone, strict=True):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-5)
