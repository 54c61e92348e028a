"""Scripts of programs that leave something open: a loss, an optimizer, where random draws begin.

Each trains to the measures of the run of the same plan, where the package cannot be imported: all
runs in one process, and all scripts in another; but for those that were proven (`proven.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import script_jobs
import zoo_runs
from exported_scripts import check_scripts, end_measures_in, epochs_in
from proven import Proof
from training_runs import small_plan
from zoo_runs import Trained

from gpu_studio.contract.consent import allow_file
from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import (
    UNKNOWN_LENGTH,
    ArrayFacts,
    DataFacts,
    Learnt,
    ModelFacts,
    ModelGraph,
)
from gpu_studio.plan import Plan

CLOSE = 1e-5
OWN = """
import itertools

import keras
import numpy as np


def load(seed):
    x = np.random.default_rng(seed).normal(size=(90, 4)).astype("float32")
    return x, (x[:, :1] > 0).astype("float32")


def samples(seed):
    return load(seed)[0]


def noisy(seed):
    x, y = load(seed)
    rows = itertools.cycle(range(0, 90, 18))
    return ((x[at : at + 18] + np.random.normal(size=(18, 4)), y[at : at + 18]) for at in rows)


def endless(seed):
    return noisy(seed), noisy(seed)


def begun_anew(seed):
    return lambda: noisy(seed), lambda: noisy(seed)


def one_by_one(seed):
    x, y = load(seed)
    return ((x[row] + np.random.normal(size=4), y[row, 0]) for row in itertools.cycle(range(90)))


class Closer(keras.layers.Layer):
    def build(self, shape):
        self.dense = keras.layers.Dense(2)

    def call(self, inputs):
        outputs = self.dense(inputs)
        self.add_loss(keras.ops.mean((outputs - inputs[:, :2]) ** 2))
        return outputs


def closer():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, Closer()(inputs))
    model.compile(keras.optimizers.RMSprop(0.05))
    return model


def without_loss():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, "sigmoid")])
    model.compile(keras.optimizers.RMSprop(0.05), metrics=["accuracy"])
    return model


def averaging():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam(0.05, use_ema=True, ema_momentum=0.9)
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def halved(epoch):
    return 0.05 * 0.5**epoch
"""
SEEN = DataFacts("load", "values", None, 90, x_shape=(4,), y_shape=(1,), arrays=("x", "y"))
OF_SAMPLES = replace(SEEN, inputs=(ArrayFacts((), (4,)),), arrays=("x",))
YES_OR_NO = ModelFacts(
    learnt=Learnt(
        "binary", False, "binary_crossentropy", ("accuracy",), compiled=True, lossless=True
    )
)
BY_LAYERS = ModelFacts()
SOME = ("training.steps_per_epoch=5",)
HELD = (*SOME, "training.validation_steps=3")
HALVED = ('training.schedule.name="OWN:halved"', 'training.optimizer="compiled"')


@dataclass(frozen=True)
class Case:
    """A plan: the functions of its data and its model, more settings, and what a look tells."""

    load: str
    build: str
    settings: tuple[str, ...]
    data: DataFacts
    model: ModelFacts

    def plan(self, own: Path, *more: str) -> Plan:
        settings = [each.replace("OWN", str(own)) for each in (*self.settings, *more)]
        return small_plan(
            "data.name=",
            "model.name=",
            "model.options={}",
            "data.validation_fraction=0",
            "data.test_fraction=0",
            f'data.python="{own}:{self.load}"',
            f'model.python="{own}:{self.build}"',
            "training.epochs=3",
            "training.batch_size=20",
            "training.optimizer=auto",
            'training.loss="auto"',
            'training.metrics=["auto"]',
            "training.checkpoint.every_epochs=0",
            *settings,
        )


def streamed(how: str) -> DataFacts:
    """Data of which nobody knows how long they are."""
    return replace(SEEN, streamed=f"{how}, {UNKNOWN_LENGTH}", arrays=())


CASES = {
    "generators": Case("endless", "without_loss", HELD, streamed("batches of 18"), YES_OR_NO),
    "functions that yield": Case(
        "begun_anew", "without_loss", HELD, streamed("batches of 18"), YES_OR_NO
    ),
    "a generator of samples": Case(
        "one_by_one", "without_loss", SOME, streamed("samples, one by one"), YES_OR_NO
    ),
    "no loss": Case("load", "without_loss", (), SEEN, YES_OR_NO),
    "losses of layers, as compiled": Case("samples", "closer", HALVED[1:], OF_SAMPLES, BY_LAYERS),
    "losses of layers, a schedule": Case("samples", "closer", HALVED, OF_SAMPLES, BY_LAYERS),
    "losses of layers, a schedule for what there is": Case(
        "samples", "closer", HALVED[:1], OF_SAMPLES, BY_LAYERS
    ),
}

LEFT_OUT = 'training.loss={ name = "sparse_categorical_crossentropy", ignore_class = 1 }'
MADE = (
    "data.python=",
    "model.python=",
    "data.name=synthetic",
    "data.options={ shape = [12], samples = 150, classes = 3 }",
    "model.name=mlp",
    "model.options={ hidden = [16] }",
    "data.test_fraction=0.2",
    'distribution.strategy="mirrored"',
    'distribution.devices=["CPU:0", "CPU:1"]',
)
OF_MADE = (
    DataFacts("synthetic", "classes", 3, 150, x_shape=(12,)),
    ModelFacts(
        graph=ModelGraph("mlp", (), (12,), (3,)),
        learnt=Learnt("classes", True, "sparse_categorical_crossentropy", ("accuracy",)),
    ),
)
AVERAGED = "training.options={ use_ema = true, ema_momentum = 0.9 }"
OVER_WORKERS = {
    "a class left out, averages at the end": Case(
        "",
        "",
        (*MADE, LEFT_OUT, AVERAGED, "training.early_stopping={ monitor = 'loss', patience = 9 }"),
        *OF_MADE,
    ),
    "averages at the end, by fit": Case(
        "load",
        "averaging",
        (*MADE[-3:], 'training.optimizer="compiled"', "training.checkpoint.every_epochs=1"),
        SEEN,
        ModelFacts(learnt=Learnt("values", False, "mse", ("mae",), compiled=True)),
    ),
}
"""Cases over two workers: to what a run measures on two devices."""
WORKERS = ('distribution.strategy="multi_worker"', 'distribution.devices=["CPU:0"]')


@pytest.mark.slow
def test_that_these_scripts_train_as_the_runs_do(tmp_path: Path, proof: Proof) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())
    scripts = written(CASES, own, tmp_path)
    if proof.holds(map(Path.read_text, scripts), tmp_path):
        return
    printed = script_jobs.printed_by(scripts, tmp_path)
    plans = {name: case.plan(own) for name, case in CASES.items()}
    check(zoo_runs.trained_plans(plans, tmp_path), printed)
    proof.keep()


def written(cases: Mapping[str, Case], own: Path, folder: Path, *more: str) -> list[Path]:
    """The scripts of these cases, with more settings of their plans."""
    scripts = [folder / f"{name}.py" for name in cases]
    for path, case in zip(scripts, cases.values(), strict=True):
        text = python_script(case.plan(own, *more), None, folder, case.data, case.model)
        path.write_text(text)
    return scripts


def check(runs: Mapping[str, Trained], printed: Sequence[str]) -> None:
    """What was printed is what each run measured in its epochs, and of the test split."""
    for (name, run), said in zip(runs.items(), printed, strict=True):
        assert not run.refused + run.crashed, name
        told = epochs_in(said)
        for each in told:
            each.pop("learning_rate", None)  # which a callback of Keras' adds to what `fit` tells
        assert len(run.epochs) == 3
        assert told == [pytest.approx(each, rel=CLOSE, abs=CLOSE) for each in run.epochs], name
        assert end_measures_in(said) == pytest.approx(run.tested, rel=CLOSE, abs=CLOSE), name


@pytest.mark.slow
def test_that_these_scripts_train_over_workers_as_the_runs_do(tmp_path: Path, proof: Proof) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())
    scripts = written(OVER_WORKERS, own, tmp_path, *WORKERS)
    if proof.holds(map(Path.read_text, scripts), tmp_path):
        return
    plans = {name: case.plan(own) for name, case in OVER_WORKERS.items()}
    runs = zoo_runs.trained_plans(plans, tmp_path)
    assert all(run.tested for run in runs.values()), runs
    check(runs, script_jobs.printed_by(scripts, tmp_path, workers=2))
    # What is kept at the end are not the averages: a later start goes on as if it had not ended.
    first = script_jobs.printed_by(scripts[-1:], tmp_path, workers=2, words="--epochs=2")[0]
    rest = script_jobs.printed_by(scripts[-1:], tmp_path, workers=2, words="--resume")[0]
    assert len(epochs_in(first)) == 2
    both = "".join(each for each in first.splitlines(keepends=True) if each.startswith("epoch"))
    check({"resumed": runs[list(runs)[-1]]}, [both + rest])
    proof.keep()


@pytest.mark.slow
def test_that_these_scripts_are_formatted_and_free_of_mistakes(tmp_path: Path) -> None:
    own, over = Path("/own/own.py"), tmp_path / "over workers"
    written(CASES, own, tmp_path)
    over.mkdir()
    written(OVER_WORKERS, own, over, *WORKERS)
    for folder in (tmp_path, over):
        check_scripts(folder)
