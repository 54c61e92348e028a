"""Scripts with parameter servers: what they train is what one device trains, to 1e-5.

Workers and servers are threads of the script's own process here; as processes they are tested where
the files that start them are. What was proven is not trained again (`proven.py`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from exported_scripts import epochs_in
from proven import Proof
from script_jobs import printed_by
from training_runs import UNJUDGED, small_plan

from gpu_studio.contract.consent import allow_file
from gpu_studio.export import python_script

pytestmark = pytest.mark.slow

CLOSE = 1e-5
OWN = """
import keras
import tensorflow as tf

class Scaled(keras.layers.Layer):
    def build(self, shape):
        self.weight = self.add_weight(shape=(shape[-1],), initializer="ones", name="weight")
        self.seen = self.add_weight(
            shape=(), initializer="zeros", trainable=False, aggregation="sum", name="seen"
        )

    def call(self, x):
        self.seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        self.add_loss(0.01 * tf.reduce_mean(tf.square(x)))
        return x * self.weight

class Written(keras.layers.Dense):
    def call(self, x):
        self.kernel.assign(self.kernel * 0.9)
        return super().call(x)

def build(units, wrong=""):
    inputs = keras.Input((8, 8, 1))
    x = keras.layers.Flatten()(inputs)
    bound = keras.constraints.NonNeg() if wrong == "bound" else None
    dense = Written if wrong == "written" else keras.layers.Dense
    x = dense(
        units, "relu", kernel_regularizer="l2", kernel_constraint=bound, name="hidden"
    )(x)
    x = keras.layers.BatchNormalization()(Scaled()(x))
    if wrong == "python":
        through = lambda x: tf.ensure_shape(tf.numpy_function(lambda x: x, [x], x.dtype), x.shape)
        x = keras.layers.Lambda(through, output_shape=(units,))(x)
    x = keras.layers.Dropout(0.3)(x)
    return keras.Model(inputs, keras.layers.Dense(10)(x))
"""
# Nothing is divided evenly: neither the samples by the batch, nor the batch by the workers.
IMAGES = (
    "data.name=synthetic",
    "data.options={ shape = [8, 8, 1], samples = 200 }",
    "training.batch_size=31",
)
UNTESTED = "data.test_fraction=0"
OWN_MODEL = ("model.name=", "model.python=own.py:build", *IMAGES)
PLANS: dict[str, tuple[str, ...]] = {
    "dropout": (
        "model.name=cnn",
        "model.options={ dropout = 0.3 }",
        *IMAGES,
        "training.schedule={ name = 'cosine', minimum = 0.1 }",
        'training.metrics=["accuracy", "auc"]',
        'training.phases=[{ after = 1, learning_rate = 0.002, frozen = ["conv"] }]',
    ),
    "statistics": (
        "model.name=cifar_cnn",
        "data.name=synthetic",
        "data.options={ shape = [4, 4, 3], samples = 70, classes = 3 }",
        "training.batch_size=15",
        "training.optimizer=sgd",
        "training.learning_rate=0.01",
        "training.options={ clipnorm = 0.5 }",
        'training.metrics=["f1_score"]',
        "training.mixed_precision=false",
        *UNJUDGED,
    ),
    "user_model": (
        *OWN_MODEL,
        "model.options={ units = 12 }",
        "training.optimizer=sgd",
        "training.learning_rate=0.01",
        UNTESTED,
    ),
}
TWO_CPUS = ('devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]',)
SERVED = ("distribution.strategy=parameter_server", "devices.carve=")
WRONG = {
    "bound": "hidden/kernel has a constraint, which writes the whole weight: where each worker "
    "updates on its own, what others add meanwhile would be lost. Set cluster.updates = ",
    "python": "A step calls a function of Python (tf.numpy_function or tf.py_function), and "
    "workers have none: it lives in the chief's process. Write it in TensorFlow's",
    "written": "A layer writes the weight hidden/kernel in each step, and workers would overwrite",
}
APART = (
    "training.optimizer=sgd",
    "training.learning_rate=0.05",
    "training.batch_size=50",
    UNTESTED,
)
WAYS = {
    "none": ("devices.carve=",),
    "one worker": (*SERVED, "cluster.workers=1", "cluster.servers=1"),
    "mirrored": ("distribution.strategy=mirrored", *TWO_CPUS),
    "apart": (*SERVED, "cluster.workers=2", "cluster.servers=2"),
    "together": (*SERVED, "cluster.updates=sync", "cluster.workers=2", "cluster.servers=2"),
}


def script(folder: Path, name: str, *settings: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(python_script(small_plan(*settings), None, folder), encoding="utf-8")
    return path


def allowed(folder: Path) -> None:
    own = folder / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())


def refused() -> dict[str, tuple[str, ...]]:
    """Plans of models that workers by themselves cannot train."""
    return {
        wrong: (*OWN_MODEL, f"model.options={{ units = 12, wrong = '{wrong}' }}") for wrong in WRONG
    }


def plans_of(way: str) -> dict[str, tuple[str, ...]]:
    """The plans that a test reads of a way."""
    if way == "apart":
        return {"mlp": APART}
    more = {"none": {"mlp": APART}, "one worker": refused()}
    return PLANS | more.get(way, {})


def written(way: str, folder: Path) -> list[Path]:
    """All scripts of a way, in a folder of their own."""
    allowed(folder)
    return [script(folder, name, *each, *WAYS[way]) for name, each in plans_of(way).items()]


def are_proven(proof: Proof, ways: Sequence[str], folder: Path) -> bool:
    """Whether all scripts of these ways were proven; else all that is told is trained."""
    texts = []
    for way in ways:
        (folder / way).mkdir()
        texts += [path.read_text() for path in written(way, folder / way)]
    return proof.holds(texts, folder)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What each script printed in each way: a process each, two at a time."""

    def printed(way: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("scripts")
        plans, paths = plans_of(way), written(way, folder)
        failing = [path for path in paths if path.stem in WRONG]
        printed = printed_by(paths, folder, failing)
        return {**dict(zip(plans, printed, strict=True)), "folder": str(folder)}

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(WAYS, pool.map(printed, WAYS), strict=True))


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("way", "as_way"), [("one worker", "none"), ("together", "mirrored")])
def test_that_a_script_with_servers_trains_what_one_without_does(
    request: pytest.FixtureRequest, way: str, as_way: str, name: str, tmp_path: Path, proof: Proof
) -> None:
    if are_proven(proof, (way, as_way), tmp_path):
        return
    told = request.getfixturevalue("told")
    without, served = epochs_in(told[as_way][name]), epochs_in(told[way][name])
    assert len(without) >= 2
    assert [list(each) for each in served] == [list(each) for each in without]
    for mine, theirs in zip(served, without, strict=True):
        assert mine == pytest.approx(theirs, abs=CLOSE, rel=CLOSE)
    proof.keep()


def test_that_workers_apart_count_each_step_once_and_train_nearly_what_one_does(
    request: pytest.FixtureRequest, tmp_path: Path, proof: Proof
) -> None:
    if are_proven(proof, ("none", "apart"), tmp_path):
        return
    told = request.getfixturevalue("told")
    alone, apart = epochs_in(told["none"]["mlp"]), epochs_in(told["apart"]["mlp"])
    assert len(apart) == len(alone) == 2
    # A step goes by weights that are up to three steps old, of the 66 that there are.
    for mine, theirs in zip(apart, alone, strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=0.1)
    assert apart[1]["loss"] < 0.8 * apart[0]["loss"]
    with np.load(told["apart"]["folder"] + "/trained/state.npz") as state:
        numbers = json.loads(str(state["numbers"]))
        counts = [int(each) for each in state.values() if each.dtype == np.int64]
    assert numbers["step"] == 2 * 33
    assert 2 * 33 in counts, "the optimizer's own count"
    proof.keep()


@pytest.mark.parametrize("wrong", WRONG)
def test_that_what_a_run_refuses_once_it_has_the_model_a_script_refuses_in_the_same_words(
    request: pytest.FixtureRequest, wrong: str, tmp_path: Path, proof: Proof
) -> None:
    if are_proven(proof, ("one worker",), tmp_path):
        return
    told = request.getfixturevalue("told")
    said = told["one worker"][wrong]
    assert "epoch " not in said
    assert WRONG[wrong] in said.splitlines()[-1]
    proof.keep()
