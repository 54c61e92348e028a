"""Scripts as they are: a run trains what their own `fit` trains, and so does what is exported.

GPU_STUDIO_WHOLE_PARITY=1 trains each under each strategy.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import script_jobs
import warm_python
import zoo_runs
from exported_scripts import epochs_in
from parity_jobs import WHOLE
from zoo_runs import Trained
from zoo_table import TWO

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import ArrayFacts, DataFacts, Learnt, ModelFacts
from gpu_studio.plan import (
    Carve,
    DeviceSettings,
    Distribution,
    ModelSettings,
    Placed,
    Plan,
)

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

CLOSE = 1e-5
CHURN = """
import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np


@dataclass
class Settings:
    units: "int" = 8
    rate: float = 0.02


class Scale(keras.layers.Layer):
    def build(self, shape):
        self.by = self.add_weight(shape=(shape[-1],), initializer="ones", name="by")

    def call(self, inputs):
        return inputs * self.by


class Hits(keras.metrics.SparseCategoricalAccuracy):
    def __init__(self):
        super().__init__(name=None)  # Keras calls it by its class, and numbers a second one


class Noting(keras.callbacks.Callback):
    def __init__(self, model):
        self.of_script = model

    def on_epoch_end(self, epoch, logs=None):
        known = self.of_script is self.model
        with open("noted.txt", "a") as file:
            file.write(f"{known} {epoch} {sorted(logs)}\\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args()
    settings = Settings()
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    random = np.random.default_rng(1)
    x = random.normal(size=(given.rows, 6)).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int64")
    weights = random.random(given.rows).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((6,)),
            Scale(),
            keras.layers.Dense(settings.units, "tanh"),
            keras.layers.Dense(2, "softmax"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(settings.rate),
        "sparse_categorical_crossentropy",
        metrics=["accuracy", Hits()],
    )
    callbacks = [
        Noting(model),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
    ]
    # All in one batch, so that nothing depends on the order in which samples are drawn.
    history = model.fit(
        x,
        y,
        batch_size=120,
        epochs=given.epochs,
        validation_split=0.25,
        sample_weight=weights,
        callbacks=None if given.plain else callbacks,
        verbose=0,
    )
    Path("history.json").write_text(json.dumps(history.history))


if __name__ == "__main__":
    main()
"""
STREAM = """
import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

cards = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(cards, "GPU")
tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.experimental.enable_op_determinism()
strategy = tf.distribute.MirroredStrategy(["CPU:0"])
keras.utils.set_random_seed(5)
x = np.random.default_rng(1).normal(size=(60, 4)).astype("float32")
batches = tf.data.Dataset.from_tensor_slices((x[:40], x[:40, :1])).batch(8)
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
epochs = len(x) // 30
more = {"verbose": 0, "callbacks": [keras.callbacks.TerminateOnNaN()]}
history = model.fit(
    batches, epochs=epochs, validation_data=(x[40:], x[40:, :1]), initial_epoch=0, **more
)
Path("history.json").write_text(json.dumps(history.history))
"""
PICTURES = """
import json
import warnings
from pathlib import Path

import keras
import numpy as np

warnings.simplefilter("error")
keras.utils.set_random_seed(2)
x = np.random.default_rng(1).integers(0, 256, (40, 6, 6)).astype("uint8")
kind = keras.utils.to_categorical(x[:, 0, 0] // 86, 3)
inputs = keras.Input((6, 6))
scaled = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(inputs))
seen = keras.layers.Dense(3, "softmax", name="kind")(scaled)
model = keras.Model(inputs, {"kind": seen, "code": scaled})  # which has no target, and no loss
losses = {"kind": "categorical_crossentropy", "code": None}
model.compile("sgd", losses, metrics={"kind": ["accuracy"]})
y, held = {"kind": kind, "code": None}, (x[:9], {"kind": kind[:9], "code": None})
history = model.fit(x=x, y=y, batch_size=40, epochs=3, validation_data=held, verbose=0)
Path("history.json").write_text(json.dumps(history.history))
"""
IMPORTING = """
import keras
import numpy as np

from of_module import RATE

x = np.ones((8, 2), "float32")
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
model.compile(keras.optimizers.SGD(RATE), "mse")
model.fit(x, x, batch_size=8)
"""
SCALE = CHURN[CHURN.index("class Scale") : CHURN.index("class Hits")]
PACKAGED = CHURN.replace(SCALE, "from .layers import Scale\n\n\n")
STARTING = """
import churn

churn.main()
"""
WRONG = {
    "by batches": (
        "import keras, numpy as np\n"
        "model = keras.Sequential([keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.train_on_batch(np.ones((4, 2)), np.ones((4, 1)))\n"
        "if False: model.fit(1)\n"
    ),
    "asks for a folder": (
        "import sys, keras\n"
        "if len(sys.argv) < 2: sys.exit('Trains.\\n\\n  which folder?\\n')\n"
        "keras.Sequential([]).fit(sys.argv[1])\n"
    ),
    "mixed": (
        "import keras, numpy as np, tensorflow as tf\n"
        "x = np.ones((8, 2))\n"
        "model = keras.Sequential([keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(x, x, validation_data=tf.data.Dataset.from_tensors((x, x)))\n"
    ),
    "wants an option": (
        "import argparse, keras\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--data', required=True)\n"
        "keras.Sequential([]).fit(parser.parse_args().data)\n"
    ),
    "fails": "import keras\nrows = 1 // 0\nkeras.Sequential([]).fit(rows)\n",
    "makes a folder": (
        "import keras, os\nos.makedirs('out')\nkeras.Sequential([]).fit([0.5, 1.5], [1.5, 0.5])\n"
    ),
    "prints what it wants": (
        "import sys, keras\n"
        "if len(sys.argv) < 2:\n  print('Wanted: a file of data')\n  sys.exit()\n"
        "keras.Sequential([]).fit(sys.argv[1])\n"
    ),
    "misses a file": (
        "import os, keras, tensorflow as tf\n"
        "def main():\n"
        "  if not os.path.exists('teacher.keras'):\n"
        "    print('No teacher at teacher.keras')\n    return\n"
        "  with tf.GradientTape(): keras.Sequential([]).fit(1)\n"
        "main()\n"
    ),
}
TOLD = {
    "by batches": "wrong_0.py ended before it called the fit of a model.",
    "asks for a folder": "wrong_1.py ended by sys.exit(which folder?) before it called the fit",
    "mixed": "wrong_2.py gives fit arrays to train on, and batches to validate on.",
    "wants an option": (
        "wrong_3.py ended by sys.exit(2) before it called the fit of a model: "
        "wrong_3.py: error: the following arguments are required: --data"
    ),
    "prints what it wants": (
        "ended by sys.exit() before it called the fit of a model: Wanted: a file of data"
    ),
    "misses a file": (
        "ended before it called the fit of a model, and said last: No teacher at teacher.keras"
    ),
    "fails": "line 2",
    "makes a folder": "wrong_5.py stopped in line 2 with FileExistsError",
    "another model": "The callbacks of churn.py are made for the model of churn.py",
}
WAYS = {
    "none": Distribution(),
    "mirrored": Distribution("mirrored", tuple(TWO)),
    "placed": Distribution("placed", placed=Placed()),
}
ALL = ("churn", "pictures", "stream")
OF_WAY = {
    "none": ALL,
    "mirrored": ALL if WHOLE else ("stream",),
    "placed": ALL if WHOLE else ("churn",),
}
"""The scripts that are trained each way."""
OF_STREAM = [way for way, names in OF_WAY.items() if "stream" in names]


def split(plan: Plan, distribution: Distribution) -> Plan:
    """The plan on two logical CPUs."""
    two = DeviceSettings(carve=(Carve("CPU:0", (0, 0)),))
    return replace(plan, devices=two, distribution=distribution)


def started_with(plan: Plan, words: list[str]) -> Plan:
    """The plan whose script gets these words of a shell."""
    options = {"arguments": words}
    model, data = replace(plan.model, options=options), replace(plan.data, options=options)
    return replace(plan, model=model, data=data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts, which are allowed."""
    made = tmp_path_factory.mktemp("scripts")
    (made / "churn.py").write_text(CHURN)
    (made / "stream.py").write_text(STREAM)
    (made / "pictures.py").write_text(PICTURES)
    (made / "starting.py").write_text(STARTING)
    (made / "lab").mkdir()
    (made / "lab" / "packaged.py").write_text(PACKAGED)
    (made / "lab" / "layers.py").write_text(f"import keras\n\n\n{SCALE}")
    for place, text in enumerate(WRONG.values()):
        (made / f"wrong_{place}.py").write_text(text)
    allow_folder(made)
    return made


@pytest.fixture(scope="module")
def by_fit(folder: Path) -> dict[str, list[dict[str, float]]]:
    """What each script trains by itself, as Python starts it."""
    found = {}
    for name in ("churn", "stream", "pictures"):
        alone = folder / f"{name}_alone"
        alone.mkdir()
        subprocess.run(
            warm_python.command(str(folder / f"{name}.py")), cwd=alone, check=True, timeout=300
        )
        history = json.loads((alone / "history.json").read_text())
        found[name] = [
            dict(zip(history, each, strict=True)) for each in zip(*history.values(), strict=True)
        ]
    return found


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict[str, Trained]:
    """What each script trains as a run."""

    def plan(name: str) -> Plan:
        return plans.with_absolute_files(plans.load(folder / f"{name}.py"), folder)

    mlp = ModelSettings("mlp", options={"hidden": [4]})
    made = {"another model": split(replace(plan("churn"), model=mlp), Distribution())}
    for way, distribution in WAYS.items():
        for name in OF_WAY[way]:
            made[f"{name} {way}"] = split(plan(name), distribution)
    made["starting"] = split(plan("starting"), Distribution())
    packaged = plans.load(folder / "lab" / "packaged.py")
    made["packaged"] = split(plans.with_absolute_files(packaged, folder / "lab"), Distribution())
    words = ["--rows", "60", "--epochs", "2", "--plain"]
    made["told"] = split(started_with(plan("churn"), words), Distribution())
    for place, name in enumerate(WRONG):
        made[name] = split(plan(f"wrong_{place}"), Distribution())
    return zoo_runs.trained_plans(made, folder)


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for way in WAYS for name in OF_WAY[way] if name != "stream"]
)
def test_that_a_script_trains_as_python_starts_it(
    by_fit: dict[str, list[dict[str, float]]], trained: dict[str, Trained], name: str, way: str
) -> None:
    run = trained[f"{name} {way}"]
    assert len(run.epochs) == 3, run
    for mine, wanted in zip(run.epochs, by_fit[name], strict=True):
        wanted = {name: each for name, each in wanted.items() if name != "learning_rate"}
        assert mine == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("name", ["starting", "packaged"])
def test_that_a_script_trains_what_a_module_gives_fit_and_imports_as_one_of_a_package(
    by_fit: dict[str, list[dict[str, float]]], trained: dict[str, Trained], name: str
) -> None:
    run = trained[name]
    assert len(run.epochs) == 3, run
    for mine, wanted in zip(run.epochs, by_fit["churn"], strict=True):
        wanted = {name: each for name, each in wanted.items() if name != "learning_rate"}
        assert mine == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("way", OF_STREAM)
def test_that_a_strategy_of_a_script_is_named_where_the_plan_has_none(
    trained: dict[str, Trained], way: str
) -> None:
    warned = [each for each in trained[f"stream {way}"].warned if "tf.distribute" in each]
    assert len(warned) == (way == "none")
    assert all("stream.py makes a tf.distribute strategy that is mirrored" in e for e in warned)


def test_that_its_callbacks_have_the_model_that_is_trained(
    trained: dict[str, Trained], folder: Path
) -> None:
    assert trained["churn none"].epochs
    noted = (folder / "noted.txt").read_text().splitlines()
    # Under `placed` a model of layers in their order is trained in the place of the script's.
    assert noted[:3] == [
        f"True {epoch} ['accuracy', 'hits', 'loss', 'val_accuracy', 'val_hits', 'val_loss']"
        for epoch in range(3)
    ]


@pytest.mark.parametrize("way", OF_STREAM)
def test_that_a_script_of_streams_trains_the_epochs_that_it_gives_fit(
    by_fit: dict[str, list[dict[str, float]]], trained: dict[str, Trained], way: str
) -> None:
    run = trained[f"stream {way}"]
    # Their number is computed, and the callbacks are in a dictionary.
    assert len(run.epochs) == 2, run
    for mine, wanted in zip(run.epochs, by_fit["stream"], strict=True):
        assert mine == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)
    assert not [each for each in run.warned if "gives fit" in each]


@pytest.mark.parametrize(
    ("name", "by_steps", "given"),
    [("by batches", True, '"--epochs", "3"'), ("wants an option", False, '"--data", "…"')],
)
def test_that_a_script_that_lacks_a_word_is_advised_of_that(
    trained: dict[str, Trained], name: str, by_steps: bool, given: str
) -> None:
    advice = " ".join(trained[name].advice)
    assert ("train_on_batch" in advice) == by_steps
    assert f"data.options.arguments=[{given}]" in advice
    option = given.split('"')[1]
    assert f"Or give {option} a default in the script." in advice


def test_that_a_script_that_takes_words_by_their_places_is_advised_of_that(
    trained: dict[str, Trained],
) -> None:
    for name in ("asks for a folder", "prints what it wants"):
        advice = " ".join(trained[name].advice)
        assert 'data.options.arguments=["…"]' in advice
        assert "train_on_batch" not in advice


def test_that_a_run_keeps_what_its_script_gave_fit(
    trained: dict[str, Trained], folder: Path
) -> None:
    assert trained["stream none"].epochs
    files = list((folder / "runs").glob("*stream*/plan.toml"))
    kept = [plans.load(each).training for each in files]
    assert [(each.epochs, each.as_in_script) for each in kept] == [(2, ())] * len(OF_STREAM)
    # By the time of its plan a run has its place among those of the same second.
    began = [each.with_name("trainer.lock").stat().st_mtime_ns for each in files]
    assert all(each.stat().st_mtime_ns <= at for each, at in zip(files, began, strict=True))


def test_that_a_script_is_given_the_words_of_the_plan(trained: dict[str, Trained]) -> None:
    run = trained["told"]
    assert run.epochs
    assert run.epochs[0] != trained["churn none"].epochs[0]
    # The plan has what the text says by default, and the words say something else.
    assert len(run.epochs) == 3
    assert any("churn.py gives fit epochs=2" in each for each in run.warned), run.warned
    churn = trained["churn none"]
    assert not churn.warned
    (told,) = (each for each in churn.logged if "left at its fit" in each)
    assert told.startswith("churn.py is left at its fit, before write_text in line ")
    assert told.endswith("`gpu-studio runs save-model` writes the model of this run.")


@pytest.mark.parametrize("name", [*WRONG, "another model"])
def test_that_a_script_that_cannot_be_taken_over_says_why(
    trained: dict[str, Trained], name: str
) -> None:
    run = trained[name]
    assert TOLD[name] in f"{run.refused}{run.crashed}"
    assert run.advice


def exported_beside_none(folder: Path) -> Path:
    """The exported script of one that imports a module, which lies beside that one alone."""
    own = folder / "with a module"
    own.mkdir()
    (own / "of_module.py").write_text("RATE = 0.5\n")
    (own / "importing.py").write_text(IMPORTING)
    data = DataFacts(
        "importing.py", "values", None, 8, x_shape=(2,), y_shape=(2,), arrays=("x", "y")
    )
    model = ModelFacts(learnt=Learnt("values", True, "mse", (), compiled=True))
    plan = split(plans.load(own / "importing.py"), WAYS["mirrored"])
    exported = folder / "exported_alone.py"
    exported.write_text(python_script(plan, None, own, data, model))
    return exported


def test_that_an_exported_script_runs_the_script_and_trains_the_same(
    by_fit: dict[str, list[dict[str, float]]], folder: Path
) -> None:
    arrays = ("x_train", "y_train", "x_val", "y_val", "sample_weight_train", "sample_weight_val")
    seen = DataFacts(
        "churn.py",
        "classes",
        2,
        90,
        30,
        x_shape=(6,),
        ids=2,
        arrays=arrays,
        inputs=(ArrayFacts((), (6,)),),
        targets=(ArrayFacts(dtype="int32", ids=2),),
        weights=(ArrayFacts(),),
    )
    loss = "sparse_categorical_crossentropy"
    learnt = Learnt("classes", False, loss, ("accuracy",), compiled=True)
    plan = split(plans.load(folder / "churn.py"), WAYS["mirrored"])
    exported, plain = folder / "exported.py", folder / "plain.py"
    for file, each in ((exported, plan), (plain, started_with(plan, ["--plain"]))):
        file.write_text(python_script(each, None, folder, seen, ModelFacts(learnt=learnt)))
    alone = exported_beside_none(folder)
    said, said_plain, said_alone = script_jobs.printed_by([exported, plain, alone], folder)
    assert "epoch 1/1" in said_alone, said_alone[-3000:]
    assert 'monitor="loss"' in alone.read_text()  # as in a run, where nothing is validated
    without = ["learning_rate" not in each for each in epochs_in(said_plain)]
    assert without == [True] * 3, said_plain  # its callbacks are None
    told = epochs_in(said)
    assert len(told) == 3, said[-3000:]
    for mine, wanted in zip(told, by_fit["churn"], strict=True):
        assert mine.pop("learning_rate") > 0
        wanted = {name: each for name, each in wanted.items() if name != "learning_rate"}
        assert mine == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize(("plan", "script"), [(a, b) for a in (True, False) for b in (True, False)])
def test_that_tf32_is_off_where_the_plan_or_the_script_turns_it_off(plan, script):
    import tensorflow as tf

    from gpu_studio.trainer.user_code.scripts import instead_of_set_up, with_others

    place = tf.config.experimental
    before = place.tensor_float_32_execution_enabled()
    place.enable_tensor_float_32_execution(plan)
    try:
        with_others(instead_of_set_up(), lambda: place.enable_tensor_float_32_execution(script))
        assert place.tensor_float_32_execution_enabled() is (plan and script)
    finally:
        place.enable_tensor_float_32_execution(before)
