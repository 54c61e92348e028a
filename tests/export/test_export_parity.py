"""Exported scripts train what the run of the same plan trains.

Every measure of every epoch to 1e-5.

Each script runs in a process of its own that cannot import GPU Studio, beside the run that it is
held against; some always, others unless they were proven (`proven.py`). The batches do not divide
the data, so that the replicas' last parts are uneven."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest
from export_plans import token_file
from exported_scripts import WATCHER, Printed, run_script, stranger, watching, write_script
from proven import Proof
from training_runs import UNJUDGED, Finished, small_plan, trained

from gpu_studio.contract import events
from gpu_studio.contract.consent import allow_file
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import Plan

pytestmark = pytest.mark.slow

CLOSE = 1e-5
TWO = 'distribution.devices=["CPU:0", "CPU:1"]'
STRATEGIES = {
    "none": ["distribution.strategy=none"],
    "one_device": ["distribution.strategy=one_device", 'distribution.devices=["CPU:1"]'],
    "mirrored": ["distribution.strategy=mirrored", TWO],
    "central_storage": ["distribution.strategy=central_storage", TWO],
}
# What is asked, and where the layers with weights are then: those that are left out follow the
# others.
PLACED: dict[str, tuple[str, dict[str, str]]] = {
    "mlp on digits": (
        (
            "distribution.placed={ micro_batches = 3, "
            'layers = { dense = "CPU:1", outputs = "CPU:2" } }'
        ),
        {"dense": "CPU:1", "outputs": "CPU:2"},
    ),
    "cifar_cnn on synthetic": (
        (
            "distribution.placed={ micro_batches = 2, "
            'layers = { conv2 = "CPU:1", flatten = "CPU:3" } }'
        ),
        dict.fromkeys(("conv1", "norm1", "conv2", "norm2"), "CPU:1")
        | dict.fromkeys(("local3", "local4", "outputs"), "CPU:3"),
    ),
    "linear on regression": (
        'distribution.placed={ micro_batches = 1, layers = { outputs = "CPU:1" } }',
        {"outputs": "CPU:1"},
    ),
}
BESIDE = {"linear on regression": ["training.optimizer=adafactor"]}
"""What Keras puts on the first device, is moved to where the weights are."""
AVERAGED = {
    ("mlp on digits", way): ["training.options={ use_ema = true, ema_momentum = 0.9 }"]
    for way in ("none", "mirrored")
}
"""Its weights become their averages at the end, before it is tested, and are saved so."""
TRAINED = {
    "mlp on digits": [
        "model.options={ hidden = [32], dropout = 0.2 }",
        "training.schedule={ name = 'cosine', warmup_epochs = 1 }",
        "training.batch_size=301",
        "training.seed=4000000000",
    ],
    "cifar_cnn on synthetic": [
        "model.name=cifar_cnn",
        "data.name=synthetic",
        "data.options={ shape = [8, 8, 3], samples = 150, classes = 3 }",
        "training.batch_size=61",
        "training.optimizer=sgd",
        "training.options={ momentum = 0.9, clipnorm = 0.5 }",
        "training.learning_rate=0.01",
        'training.metrics=["accuracy", "auc"]',
        "training.checkpoint.every_epochs=0",
    ],
    "linear on regression": [
        "model.name=linear",
        "data.name=regression",
        "data.options={ samples = 301 }",
        "training.batch_size=20",
        "training.batch_scope=replica",
        "training.optimizer=adamw",
        "training.options={ weight_decay = 0.01 }",
        "training.learning_rate=0.1",
        'training.metrics=["mae", "r2_score"]',
        "training.epochs=9",
        "training.early_stopping={ patience = 1, min_delta = 0.05 }",
    ],
}


def both(plan: Plan, folder: Path, seen: DataFacts | None) -> tuple[Printed, Finished]:
    """The script and the run of a plan, side by side. A placed script is watched."""
    path = write_script(plan, folder, seen)
    if plan.distribution.strategy == "placed":
        path = watching(path)
    with ThreadPoolExecutor(2) as pool:
        script = pool.submit(run_script, path, dict(os.environ))
        run = pool.submit(trained, plan, folder)
        return script.result(), run.result()


def largest_difference(script: Printed, run: Finished) -> float:
    """Of all measures, relative to a value of 1 or more; the same measures must be there."""
    assert script.code == 0, script.output
    assert run.code == 0, run.log
    told = [*run.epochs, run.one(events.Finished).metrics]
    printed = [*script.epochs, script.test]
    assert [list(each) for each in printed] == [list(each) for each in told]
    pairs = [
        (mine[name], theirs[name])
        for mine, theirs in zip(printed, told, strict=True)
        for name in mine
    ]
    return max(abs(mine - theirs) / max(1.0, abs(theirs)) for mine, theirs in pairs)


def check(
    plan: Plan, folder: Path, record: pytest.FixtureRequest, seen: DataFacts | None = None
) -> Printed:
    script, run = both(plan, folder, seen)
    difference = largest_difference(script, run)
    record.node.user_properties.append(("largest difference", difference))
    print(f"{record.node.name}: {difference:.1e}")
    assert difference <= CLOSE
    if plan.training.options.get("use_ema"):
        kept = {each.shape: each for each in run.weights().values()}
        saved = weights_in(folder / "trained/last.keras").values()
        assert max(np.abs(kept[each.shape] - each).max() for each in saved) <= CLOSE
    return script


ALWAYS = (("mlp on digits", "none"), ("mlp on digits", "mirrored"))
"""What is trained each time."""


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("what", TRAINED)
def test_that_a_script_trains_as_the_run_does(
    what: str, strategy: str, tmp_path: Path, request: pytest.FixtureRequest, proof: Proof
) -> None:
    plan = small_plan(*TRAINED[what], *STRATEGIES[strategy], *AVERAGED.get((what, strategy), ()))
    if is_proven(proof, plan, tmp_path) and (what, strategy) not in ALWAYS:
        return
    script = check(plan, tmp_path, request)
    if what == "linear on regression":
        assert (
            1 < len(script.epochs) < plan.training.epochs
        )  # stopped early, both in the same epoch
    proof.keep()


def is_proven(proof: Proof, plan: Plan, folder: Path, seen: DataFacts | None = None) -> bool:
    return proof.holds([write_script(plan, folder, seen).read_text()], folder, WATCHER.stem)


@pytest.mark.parametrize("what", PLACED)
def test_that_the_script_of_a_placed_plan_trains_as_the_run_does_and_on_the_devices_of_its_layers(
    what: str, tmp_path: Path, request: pytest.FixtureRequest, proof: Proof
) -> None:
    placement, homes = PLACED[what]
    ways = ["distribution.strategy=placed", placement, *BESIDE.get(what, ())]
    plan = small_plan(*TRAINED[what], *ways)
    if is_proven(proof, plan, tmp_path) and what != "mlp on digits":
        return
    script = check(plan, tmp_path, request)
    for layer, home in homes.items():
        weights_and_slots = [
            on for path, on in script.variables.items() if re.search(rf"(^|/){layer}[/_]", path)
        ]
        assert set(weights_and_slots) == {home}, layer
        mine = {
            name: on
            for name, on in script.operations.items()
            if re.search(rf"/{layer}(_\d+)?/", name)
        }
        backward = {name for name in mine if "gradients/" in name}
        assert backward, layer
        assert set(mine) - backward, layer  # the forward pass
        assert set().union(*mine.values()) == {home}, layer
    kept = [on for path, on in script.variables.items() if path == "adafactor/kernel"]
    assert kept == (["CPU:1"] if what in BESIDE else [])  # of rows and columns
    # Of the updates of Adam, each takes two square roots.
    roots = [on for name, on in script.operations.items() if name.startswith("adam/Sqrt")]
    assert not roots or roots.count({"CPU:1"}) == roots.count({"CPU:2"}) == len(roots) / 2
    proof.keep()


SPLIT = (
    "distribution.strategy=placed",
    'distribution.placed.layers={ dense = ["CPU:1", "CPU:3"], outputs = "CPU:2" }',
)


def test_that_a_split_layer_is_on_its_devices_and_its_script_saves_it_in_one_piece(
    tmp_path: Path, proof: Proof
) -> None:
    paths = []
    for name, settings in (("split", SPLIT), ("whole", ())):
        (tmp_path / name).mkdir()
        paths.append(write_script(small_plan(*settings, "training.epochs=1"), tmp_path / name))
    if proof.holds(map(Path.read_text, paths), tmp_path, WATCHER.stem):
        return
    paths[0] = watching(paths[0])
    with ThreadPoolExecutor(2) as pool:
        split, whole = pool.map(run_script, paths, [dict(os.environ)] * 2)
    assert split.code == whole.code == 0, split.output + whole.output
    assert split.test == pytest.approx(whole.test, abs=CLOSE)
    for part, device in (("dense_part0", "CPU:1"), ("dense_part1", "CPU:3")):
        on = [place for path, place in split.variables.items() if part in path]
        assert len(on) > 2, part  # also what the optimizer keeps of it
        assert set(on) == {device}, part
    saved, expected = (
        weights_in(tmp_path / name / "trained/best.keras") for name in ("split", "whole")
    )
    assert saved.keys() == expected.keys()
    for name, values in expected.items():
        assert np.abs(saved[name] - values).max() <= CLOSE, name
    proof.keep()


def weights_in(path: Path) -> dict[str, np.ndarray]:
    """The arrays of the layers in a file of Keras', by their places in it."""
    found: dict[str, np.ndarray] = {}

    def take(name: str, each: h5py.Dataset | h5py.Group) -> None:
        if isinstance(each, h5py.Dataset):
            found[name] = each[...]

    with zipfile.ZipFile(path) as archive:
        content = archive.read("model.weights.h5")
    with h5py.File(io.BytesIO(content)) as weights:
        weights["layers"].visititems(take)
    return found


def test_that_tokens_from_a_file_train_a_transformer_in_mixed_precision(
    tmp_path: Path, request: pytest.FixtureRequest, proof: Proof
) -> None:
    settings = (
        *STRATEGIES["mirrored"],
        "model.name=transformer",
        "model.options={ width = 16, heads = 2, depth = 1, feed_forward = 16 }",
        f"data.file={token_file(tmp_path, classes=2)}",
        'training.metrics=["accuracy", "precision", "auc"]',
        "training.batch_size=33",
        "training.mixed_precision=true",
        "training.options={ global_clipnorm = 0.5 }",
    )
    plan = small_plan(*settings)
    if not is_proven(proof, plan, tmp_path):
        check(plan, tmp_path, request)
        proof.keep()


def test_that_a_model_from_a_file_trains_with_its_statistics_and_regularizers(
    tmp_path: Path, request: pytest.FixtureRequest, proof: Proof
) -> None:
    saving = tmp_path / "save.py"
    saving.write_text(_SAVE_MODEL)
    made = run_script(saving, dict(os.environ))
    assert made.code == 0, made.output
    settings = (
        *STRATEGIES["mirrored"],
        f"model.file={tmp_path / 'mine.keras'}",
        "training.batch_size=301",
        'training.metrics=["accuracy", "precision"]',
        "training.optimizer=sgd",
    )
    plan = small_plan(*settings)
    if not is_proven(proof, plan, tmp_path):
        check(plan, tmp_path, request)
        proof.keep()


_SAVE_MODEL = """
import keras
inputs = keras.Input((28, 28, 1))
x = keras.layers.Flatten()(inputs)
x = keras.layers.Dense(12, "relu", kernel_regularizer=keras.regularizers.L2(0.01))(x)
x = keras.layers.BatchNormalization()(x)
x = keras.layers.Dropout(0.2)(x)
x = keras.layers.ActivityRegularization(l2=0.001)(x)
keras.Model(inputs, keras.layers.Dense(10, "softmax")(x)).save("mine.keras")
"""


def test_that_a_model_and_data_of_functions_of_one_s_own_train_with_what_stands_beside_them(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "activation.txt").write_text("softmax")
    own = tmp_path / "nets" / "own_models.py"
    own.write_text(_OWN_MODEL)
    allow_file(own, own.read_bytes())
    settings = [
        f"model.python={own}:build",
        "model.options={ units = 12 }",
        "training.batch_size=30",
    ]
    settings += ["data.name=", "data.options={}", f"data.python={own}:load"]
    seen = DataFacts(
        "load", "classes", 3, 70, x_shape=(6,), arrays=("x_train", "y_train", "x_test", "y_test")
    )
    check(small_plan(*settings), tmp_path, request, seen)


_OWN_MODEL = """
import keras
import numpy as np

class Net(keras.Model):
    def __init__(self, units, outputs, activation):
        super().__init__()
        self.parts = [keras.layers.Flatten(), keras.layers.Dense(units, "relu")]
        self.last = keras.layers.Dense(outputs, activation)

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return self.last(x)

def load(seed):
    x = np.random.default_rng(seed).normal(size=(100, 6))
    y = x.argmax(axis=1) % 3
    return (x[:70], y[:70]), (x[70:], y[70:])

def build(outputs, units):
    return Net(units, outputs, open("activation.txt").read())
"""


def test_that_gpu_studio_is_not_there_for_the_scripts(tmp_path: Path) -> None:
    environment: Mapping[str, str] = dict(os.environ)
    assert stranger("-c", "import numpy", folder=tmp_path, environment=environment).returncode == 0
    refused = stranger("-c", "import gpu_studio", folder=tmp_path, environment=environment)
    assert "No module named 'gpu_studio'" in refused.stderr


def test_that_a_script_saves_its_model_and_takes_other_epochs(tmp_path: Path) -> None:
    plan = small_plan("training.epochs=5", "training.checkpoint.keep=2", *UNJUDGED)
    script = run_script(
        write_script(plan, tmp_path), dict(os.environ), "--epochs", "3", "--output", "kept"
    )
    assert script.code == 0, script.output
    assert len(script.epochs) == 3
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "best.keras",
        "epoch-00002.keras",
        "epoch-00003.keras",
    ]
