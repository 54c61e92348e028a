"""What layers do in a call counts in a script over replicas as in Keras' own `fit`.

Each script is held against `fit`, or against the script of the same plan without a strategy, to
1e-5. What was proven is not trained again (`proven.py`)."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import parity_jobs
import pytest
from exported_scripts import epochs_in
from proven import Proof
from script_jobs import printed_by

from gpu_studio.export import python_script
from gpu_studio.plan import loads, with_settings

pytestmark = pytest.mark.slow

CLOSE = 1e-5
TWO = 'distribution.devices=["CPU:0", "CPU:1"]'
WAYS = {
    "none": ["distribution.strategy=none"],
    "mirrored": ["distribution.strategy=mirrored", TWO],
    "central_storage": ["distribution.strategy=central_storage", TWO],
}
REPLICAS = ("mirrored", "central_storage")
VALIDATED = ["data.validation_fraction=0.3"]
MADE_BY = ("parity_models", "parity_jobs")
# Both strategies take the same way through a script: each shows half.
FITTED = {
    "mirrored": ("spectral", "divergence_of_each"),
    "central_storage": ("codebook", "constrained"),
}

OWN = """
import keras
import parity_models
from keras import ops

class Keeping(keras.layers.Layer):
    \"\"\"Keeps state of each kind that Keras knows, in evaluation too, and uses it all.\"\"\"

    def build(self, shape):
        def state(name, aggregation, start="zeros", **options):
            options |= {"name": name, "aggregation": aggregation}
            return self.add_weight(shape=(), initializer=start, **options)

        least = keras.initializers.Constant(float("-inf"))
        self.samples = state("samples", "sum", trainable=False, dtype="int32")
        self.first = state("first", "only_first_replica", trainable=False)
        self.greatest = state("greatest", "mean", least, trainable=False)
        self.own = [state("own", "mean")]

    def call(self, x):
        outputs = x * self.own[0] + ops.cast(self.samples, "float32") * 0.001
        outputs += ops.where(self.greatest > 0, 0.01 * self.first, 0.0)
        self.samples.assign_add(ops.shape(x)[0])
        self.first.assign_add(1.0)
        self.greatest.assign(ops.maximum(self.greatest, 0.5))
        self.own[0].assign(0.5 * self.own[0] + ops.mean(x))
        return outputs

def build(name, seed):
    return parity_models.made(name, seed)

HIDDEN = keras.random.SeedGenerator(3)

class Hiding(keras.layers.Layer):
    def call(self, x):
        return x + keras.random.normal(ops.shape(x), seed=HIDDEN)

def hiding(seed):
    return parity_models.through(Hiding())

def keeping(seed):
    keras.utils.set_random_seed(seed)
    return parity_models.through(Keeping(), keras.layers.Dense(8, activation="relu"))
"""


def script(way: str, name: str, folder: Path) -> Path:
    """The script that trains a model of parity_models, or one of those above."""
    model = name if name in ("keeping", "hiding") else "build"
    options = f"{{ name = '{name}' }}" if model == "build" else "{}"
    settings = [*WAYS[way], *VALIDATED, f"model.python=own.py:{model}", f"model.options={options}"]
    path = folder / f"{way}_{name}.py"
    path.write_text(
        python_script(with_settings(loads(parity_jobs.PLAN), settings), None, folder),
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What `fit` had for each epoch, and what the scripts printed: two processes at a time."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "own.py").write_text(OWN)
    shutil.copy(Path(parity_jobs.__file__).with_name("parity_models.py"), folder)

    def scripts(way: str) -> dict[str, str]:
        names = ["keeping", *FITTED.get(way, ()), *(["hiding"] if way == "mirrored" else ())]
        # A folder of its own for what the scripts save: others run at the same time.
        saved = folder / way
        saved.mkdir()
        written = {name: script(way, name, folder) for name in names}
        failing = [path for name, path in written.items() if name == "hiding"]
        printed = printed_by([*written.values()], saved, failing)
        return dict(zip(names, printed, strict=True))

    def fit() -> dict[str, Any]:
        cases = {
            name: {"model": name, "settings": VALIDATED}
            for names in FITTED.values()
            for name in names
        }
        fitted = parity_jobs.results("fit", cases, folder)
        return {name: [_losses(epoch) for epoch in each["epochs"]] for name, each in fitted.items()}

    with ThreadPoolExecutor(2) as pool:
        fitted, *rest = pool.submit(fit), *(pool.submit(scripts, way) for way in WAYS)
        return {
            "fit": fitted.result(),
            **{way: each.result() for way, each in zip(WAYS, rest, strict=True)},
        }


def _losses(epoch: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in epoch.items() if name in ("loss", "val_loss")}


@pytest.mark.parametrize(
    ("way", "name"), [(way, name) for way, names in FITTED.items() for name in names]
)
def test_that_a_script_over_replicas_trains_what_fit_trains(
    request: pytest.FixtureRequest, way: str, name: str, tmp_path: Path, proof: Proof
) -> None:
    if proof.holds([script(way, name, tmp_path).read_text()], tmp_path, *MADE_BY):
        return
    told = request.getfixturevalue("told")
    check(told[way][name], told["fit"][name])
    proof.keep()


@pytest.mark.parametrize("way", REPLICAS)
def test_that_layers_keep_their_state_over_replicas_as_without_a_strategy(
    request: pytest.FixtureRequest, way: str, tmp_path: Path, proof: Proof
) -> None:
    texts = [script(each, "keeping", tmp_path).read_text() for each in ("none", way)]
    if proof.holds(texts, tmp_path, *MADE_BY):
        return
    told = request.getfixturevalue("told")
    alone = epochs_in(told["none"]["keeping"])
    assert len(alone) == parity_jobs.EPOCHS
    check(told[way]["keeping"], alone)
    proof.keep()


def test_that_noise_unknown_to_keras_is_refused_where_it_would_be_the_same_in_every_step(
    request: pytest.FixtureRequest, tmp_path: Path, proof: Proof
) -> None:
    if proof.holds([script("mirrored", "hiding", tmp_path).read_text()], tmp_path, *MADE_BY):
        return
    told = request.getfixturevalue("told")
    assert "Keep each SeedGenerator as an attribute of its layer." in told["mirrored"]["hiding"]
    assert epochs_in(told["mirrored"]["hiding"]) == []
    proof.keep()


def check(printed: str, wanted: list[dict[str, float]]) -> None:
    """That a script printed these losses."""
    epochs = epochs_in(printed)
    assert len(epochs) == len(wanted), printed
    for mine, theirs in zip(epochs, wanted, strict=True):
        assert mine == pytest.approx(theirs, rel=CLOSE)
