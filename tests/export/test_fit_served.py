"""Scripts that hand what Keras' `fit` trains to workers, on variables that servers hold.

They train to the losses of `fit` itself, and of a run with servers; what a run refuses once it has
model and callbacks, they refuse in the same words. What was proven is not trained again
(`proven.py`)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warm_members
import zoo_runs
from exported_scripts import Printed, check_scripts, run_script
from proven import Proof
from training_runs import as_compiled, running, small_plan
from zoo_facts import FACTS, script, sources
from zoo_table import programs

from gpu_studio.contract.consent import allow_file
from gpu_studio.export import ExportError, python_script
from gpu_studio.placement.plan_facts import (
    UNKNOWN_LENGTH,
    DataFacts,
    Learnt,
    ModelFacts,
    ModelGraph,
)
from gpu_studio.plan import Plan

CLOSE = 1e-5
SERVERS = ("distribution.strategy=parameter_server", "devices.carve=")
WAYS = {
    "one worker": (*SERVERS, "cluster.workers=1", "cluster.servers=1"),
    "apart": (*SERVERS, "cluster.workers=2", "cluster.servers=1"),
    "together": (*SERVERS, "cluster.workers=2", "cluster.servers=2", "cluster.updates=sync"),
}
TRAINED = {
    "rare_fault": "together",
    "ratings": "together",
    "ticker": "one worker",
    "plateau": "one worker",
    "masked_steps": "together",
}
"""Programs of the zoo: weights of classes; several outputs with weights of samples, and metrics of
layers' own; a stream without end; callbacks; steps that a layer masks, with a weight each."""


def test_that_these_scripts_are_formatted_and_free_of_mistakes(tmp_path: Path) -> None:
    for name in (each for each in FACTS if not FACTS[each].model.own_steps):
        for way in ("apart", "together"):
            written = script(name, "none", None, *WAYS[way])
            (tmp_path / f"{name} {way}.py").write_text(written)
    check_scripts(tmp_path, "zoo")


def test_that_own_steps_are_refused_in_the_words_of_a_run() -> None:
    with pytest.raises(ExportError, match="compute_loss, which knows nothing of servers"):
        script("two_tasks", "none", None, *SERVERS)


MADE = (
    DataFacts("synthetic", "classes", 3, 150, x_shape=(12,)),
    ModelFacts(
        graph=ModelGraph("mlp", (), (12,), (3,)),
        learnt=Learnt("classes", True, "sparse_categorical_crossentropy", ("accuracy",)),
    ),
)


@pytest.mark.parametrize(("way", "by_fit"), [("together", True), ("apart", False)])
def test_that_a_class_that_is_left_out_is_left_to_fit_where_workers_share_a_batch(
    way: str, by_fit: bool
) -> None:
    left_out = 'training.loss={ name = "sparse_categorical_crossentropy", ignore_class = 1 }'
    data = ("data.name=synthetic", "data.options={ shape = [12], samples = 150, classes = 3 }")
    plan = small_plan(*data, *WAYS[way], left_out, "training.metrics=[]")
    assert ("model.fit(" in python_script(plan, None, Path(), *MADE)) == by_fit


@pytest.mark.slow
def test_that_workers_of_servers_train_as_fit_trains(tmp_path: Path, proof: Proof) -> None:
    texts = [script(name, "none", None, *WAYS[way]) for name, way in TRAINED.items()]
    if proof.holds([*texts, *sources(TRAINED)], tmp_path, "zoo_facts"):
        return
    named, references = programs(), zoo_runs.fitted(list(TRAINED), tmp_path)
    for name, text in zip(TRAINED, texts, strict=True):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "train.py"
        path.write_text(text)
        printed = run_script(path, dict(os.environ))
        assert printed.code == 0, printed.output
        mine, wanted = zoo_runs.Trained(printed.epochs), replace(references[name], weights=[])
        verdict = zoo_runs.verdict(named[name], "none", mine, wanted)
        assert verdict.word == "equal", f"{name}: {verdict}"
    proof.keep()


OWN = """
import keras
import numpy as np
import tensorflow as tf


def load(seed, weighed=False):
    x = np.random.default_rng(seed).normal(size=(203, 6)).astype("float32")
    y = np.round(np.abs(x[:, :1] * 2)).astype("float32")
    weights = np.arange(203, dtype="float32") % 7
    arrays = (x, y, weights) if weighed else (x, y)
    samples = tf.data.Dataset.from_tensor_slices(arrays).batch(7).unbatch()
    return samples.batch(20), samples.batch(20).take(3)


class Seen(keras.layers.Layer):
    def build(self, shape):
        self.seen = self.add_weight(
            shape=(), initializer="zeros", trainable=False, aggregation="sum", name="seen"
        )

    def call(self, x):
        self.seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        self.add_loss(0.01 * tf.reduce_mean(tf.square(x)))
        return x


def loss(y, outputs):
    return keras.ops.mean(keras.ops.abs(y - outputs), -1)


def build(weighed=False, scaled=False):
    inputs = keras.Input((6,))
    x = keras.layers.Dense(8, "tanh", kernel_regularizer="l2")(inputs)
    x = keras.layers.Dropout(0.25)(Seen()(x))
    model = keras.Model(inputs, keras.layers.Dense(1, name="last")(x))
    by_weights = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    chosen = by_weights if weighed else loss
    optimizer = keras.optimizers.SGD(0.02)
    if scaled:
        scales = {"initial_scale": 8.0, "dynamic_growth_steps": 5}
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, **scales)
    model.compile(optimizer, chosen, metrics=["mse"])
    return model


class Halved(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        told = self.model.predict(np.ones((2, 6), "float32"), verbose=0)
        assert np.isfinite(told).all() and logs["val_mse"] > 0
        self.model.optimizer.learning_rate = 0.01


class AtSteps(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        pass


def halved():
    return Halved()


def at_steps():
    return AtSteps()
"""
WEIGHED = ("data.options={ weighed = true }", "model.options={ weighed = true }")
"""A mean over what counts in the whole batch, of which each worker has a part."""
SCALED = ("model.options={ weighed = true, scaled = true }",)
"""The same, by an optimizer that scales losses: workers on their own cannot use one."""
STREAM = DataFacts("load", "values", None, 0, streamed=f"batches of 20, {UNKNOWN_LENGTH}")
BUILT = ModelFacts(
    learnt=Learnt("values", True, "loss", ("mse",), compiled=True),
    graph=ModelGraph("build", (), (6,), (1,)),
    state_bytes=4,
)


def plan_of(own: Path, way: str, callback: str = "halved", *settings: str) -> Plan:
    return small_plan(
        *as_compiled(own),
        "data.validation_fraction=0",
        "data.test_fraction=0",
        "training.epochs=3",
        "training.steps_per_epoch=",
        f"training.callbacks=[{{ name = '{own}:{callback}' }}]",
        "cluster.trusted_network=true",
        *WAYS[way],
        *settings,
    )


def allowed(folder: Path) -> Path:
    own = folder / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())
    return own


def text_of(plan: Plan, folder: Path) -> str:
    return python_script(plan, None, folder, STREAM, BUILT)


def scripted(plan: Plan, folder: Path) -> Printed:
    folder.mkdir()
    path = folder / "train.py"
    path.write_text(text_of(plan, folder))
    return run_script(path, dict(os.environ))


@pytest.mark.slow
@pytest.mark.processes
def test_that_a_script_trains_what_a_run_with_servers_trains(tmp_path: Path, proof: Proof) -> None:
    own = allowed(tmp_path)
    plan = plan_of(own, "together", "halved", *WEIGHED, *SCALED)
    separate = plan_of(own, "apart", "halved", *WEIGHED)
    texts = [text_of(plan, tmp_path / "together"), text_of(separate, tmp_path / "apart")]
    if proof.holds(texts, tmp_path):
        return
    with running(plan, tmp_path, trainer=warm_members.command()) as under_way:
        run = under_way.finish()
    assert run.code == 0, run.log
    together = scripted(plan, tmp_path / "together")
    assert together.code == 0, together.output
    assert len(run.epochs) == 3
    for mine, theirs in zip(together.epochs, run.epochs, strict=True):
        assert mine == pytest.approx(theirs, rel=CLOSE, abs=CLOSE)
    # Each sample is trained on once, whoever has it; by weights that are up to three steps old.
    apart = scripted(separate, tmp_path / "apart")
    assert apart.code == 0, apart.output
    for mine, theirs in zip(apart.epochs, together.epochs, strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=0.1)
    with np.load(tmp_path / "apart" / "trained" / "state.npz") as state:
        numbers = json.loads(str(state["numbers"]))
        held = [each for each in state.values() if each.shape == ()]
    assert numbers["steps"] == 3 * 11
    assert 3 * 11 in [int(each) for each in held if each.dtype == np.int64], "iterations"
    # And two more, of which the callback predicts.
    assert 3 * 205.0 in [float(each) for each in held if each.dtype == np.float32], (
        "what a layer has seen"
    )
    proof.keep()


@pytest.mark.slow
def test_that_what_a_run_refuses_once_it_has_model_and_callbacks_a_script_refuses(
    tmp_path: Path, proof: Proof
) -> None:
    own = allowed(tmp_path)
    steps = plan_of(own, "apart", "at_steps")
    if proof.holds([text_of(steps, tmp_path / "steps")], tmp_path):
        return
    said = scripted(steps, tmp_path / "steps")
    assert (said.code, said.epochs) == (1, [])
    assert "AtSteps of own.py:at_steps is called at each step, and each worker" in said.output
    proof.keep()
