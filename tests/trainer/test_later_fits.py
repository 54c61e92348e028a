"""Scripts that call `fit` several times: a run trains what a later call trains, after the others.

The scripts are after public ones: a head is trained and then the whole model, a model for each
fold, an autoencoder whose codes a classifier learns from, and a loop over one model.
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
from zoo_runs import Trained

from gpu_studio import plan as plans
from gpu_studio.contract.consent import allow_folder
from gpu_studio.export import ExportError, python_script
from gpu_studio.placement.plan_facts import ArrayFacts, DataFacts, Learnt, ModelFacts, decoded
from gpu_studio.plan import AbsolutePlan, Distribution
from gpu_studio.runs.questions.plan_question import ask_about

pytestmark = [pytest.mark.slow, pytest.mark.processes, pytest.mark.timeout(600)]

CLOSE = 1e-6
BEGINS = """
import json
from pathlib import Path

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
x = rng.random((96, 6), "float32")
y = rng.integers(0, 3, 96)
histories = []
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
"""
ENDS = """
Path("histories.json").write_text(json.dumps([each.history for each in histories]))
"""
PHASES = """
base = keras.Sequential([layers.Input((6,)), layers.Dense(8, "relu"), layers.BatchNormalization()])
base.trainable = False
inputs = keras.Input((6,))
model = keras.Model(inputs, layers.Dense(3)(base(inputs, training=False)))
model.compile(keras.optimizers.Adam(0.05), loss, metrics=["accuracy"])
best = keras.callbacks.ModelCheckpoint("head.keras", save_best_only=True, monitor="val_loss")
stop = keras.callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True)
settings = {"batch_size": 16, "shuffle": False, "validation_split": 0.25, "verbose": 0}
history = model.fit(x, y, epochs=5, callbacks=[best, stop], **settings)
histories.append(history)
base.trainable = True
model.load_weights("head.keras")
model.compile(keras.optimizers.RMSprop(0.01), loss, metrics=["accuracy"])
total = len(history.epoch) + 3
halved = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
histories.append(
    model.fit(x, y, epochs=total, initial_epoch=history.epoch[-1], callbacks=[halved], **settings)
)
model.save("tuned.keras")
"""
FOLDS = """
order = rng.permutation(96).reshape(3, 32)
for fold in range(3):
    held = order[fold]
    rest = np.concatenate([each for place, each in enumerate(order) if place != fold])
    keras.backend.clear_session()
    keras.utils.set_random_seed(fold)
    model = keras.Sequential([layers.Input((6,)), layers.Dense(8, "relu"), layers.Dense(3)])
    model.compile("adam", loss, metrics=["accuracy"])
    histories.append(
        model.fit(
            x[rest], y[rest], epochs=3, batch_size=16, shuffle=False, verbose=0,
            validation_data=(x[held], y[held]),
        )
    )
    model.evaluate(x[held], y[held], verbose=0)
"""
CODES = """
inputs = keras.Input((6,))
codes = layers.Dense(4, "relu")(layers.Dense(8, "relu")(inputs))
autoencoder = keras.Model(inputs, layers.Dense(6, "sigmoid")(codes))
encoder = keras.Model(inputs, codes)
autoencoder.compile("adam", "mse")
histories.append(autoencoder.fit(x, x, epochs=4, batch_size=16, shuffle=False, verbose=0))
coded = encoder.predict(x, verbose=0)
model = keras.Sequential([layers.Input((4,)), layers.Dense(8, "relu"), layers.Dense(3)])
model.compile("adam", loss)
histories.append(model.fit(coded, y, epochs=4, batch_size=16, shuffle=False, verbose=0))
"""
LOOP = """
model = keras.Sequential([layers.Input((6,)), layers.Dense(8, "relu"), layers.Dense(3)])
model.compile("adam", loss)
for epoch in range(4):
    histories.append(model.fit(x, y, epochs=epoch + 1, initial_epoch=epoch, batch_size=16,
                               shuffle=False, verbose=0))
"""
BODIES = {"phases": PHASES, "folds": FOLDS, "codes": CODES, "loop": LOOP}
TRAINED = {"phases": 2, "folds": 2, "codes": 2, "loop": 3}
"""By the scripts: which of their calls is trained."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts, which are allowed."""
    made = tmp_path_factory.mktemp("later")
    for name, body in BODIES.items():
        (made / f"{name}.py").write_text(f"{BEGINS}{body}{ENDS}")
    allow_folder(made)
    return made


@pytest.fixture(scope="module")
def by_fit(folder: Path) -> dict[str, list[dict[str, float]]]:
    """What the calls that are looked at train when Python runs the scripts."""
    found = {}
    for name, number in TRAINED.items():
        alone = folder / f"{name}_alone"
        alone.mkdir()
        command = warm_python.command(str(folder / f"{name}.py"))
        subprocess.run(command, cwd=alone, check=True, timeout=300)
        history = json.loads((alone / "histories.json").read_text())[number - 1]
        history.pop("learning_rate", None)  # which a callback of Keras' adds to what `fit` tells
        found[name] = [
            dict(zip(history, each, strict=True)) for each in zip(*history.values(), strict=True)
        ]
    return found


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict[str, Trained]:
    """What these calls train as runs, and what comes of calls that are not made."""

    def plan(name: str, number: int) -> AbsolutePlan:
        return plans.with_absolute_files(plans.load(folder / f"{name}.py", number), folder)

    made = {name: plan(name, number) for name, number in TRAINED.items()}
    made["on a device"] = replace(plan("phases", 2), distribution=Distribution("one_device"))
    made["too many"] = plan("folds", 4)
    made["the first"] = plan("codes", 1)
    return zoo_runs.trained_plans(made, folder)


@pytest.mark.parametrize("name", [*TRAINED, "on a device"])
def test_that_a_later_call_trains_as_when_python_runs_the_script(
    by_fit: dict[str, list[dict[str, float]]], trained: dict[str, Trained], name: str
) -> None:
    run, fitted = trained[name], by_fit["phases" if name == "on a device" else name]
    assert len(run.epochs) == len(fitted) > 0, run
    for mine, wanted in zip(run.epochs, fitted, strict=True):
        assert mine == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("name", TRAINED)
def test_that_the_log_says_what_is_trained_before(trained: dict[str, Trained], name: str) -> None:
    logged, number = trained[name].logged, TRAINED[name]
    begun = [each for each in logged if "first, as it is written" in each]
    ended = [each for each in logged if " has trained " in each]
    assert len(begun) == len(ended) == number - 1, logged
    assert begun[0].startswith(f"{name}.py trains by call 1 of fit (line ")
    assert ", loss " in ended[0] or ": loss " in ended[0]
    left = [each for each in logged if "is left at" in each]
    sure = name in ("phases", "codes")
    word = "before " if sure else f"call {number} of fit: what comes after it does not run."
    assert word in left[0]


def test_that_what_comes_after_the_call_does_not_run(
    trained: dict[str, Trained], folder: Path
) -> None:
    assert trained["phases"].epochs
    assert list(folder.glob("**/head.keras")), "what is trained first writes as it is written"
    assert not [each for each in folder.glob("**/tuned.keras") if "_alone" not in str(each)]


def test_that_a_call_that_is_not_made_is_told_in_words(trained: dict[str, Trained]) -> None:
    run = trained["too many"]
    assert "folds.py calls fit 3 times, and the plan asks for call 4." in run.refused + run.crashed
    assert "fit to fit_3" in " ".join(run.advice)


def test_that_a_run_of_the_first_call_says_how_the_next_one_is_trained(
    trained: dict[str, Trained],
) -> None:
    (said,) = (each for each in trained["the first"].warned if "calls fit again" in each)
    assert "only what call 1 is given is trained" in said
    assert not any("trains by call" in each for each in trained["the first"].logged)


@pytest.mark.whole("tests/runs/test_plan_question.py")
def test_that_a_look_at_a_later_call_trains_only_if_it_may(folder: Path) -> None:
    allow_folder(folder)
    plan = plans.with_absolute_files(plans.load(folder / "codes.py", 2), folder)
    (why, advice) = decoded(ask_about(plan)).not_looked_at
    assert why.startswith("What codes.py gives call 2 of fit is known once call 1 has trained")
    assert advice
    said: list[str] = []
    found = decoded(ask_about(plan, trains=True, progress=said.append))
    assert found.data is not None
    assert found.graph is not None
    assert (found.data.x_shape, found.graph.parameters) == ((4,), 4 * 8 + 8 + 8 * 3 + 3)
    assert len([each for each in said if each.startswith("codes.py trains by call 1 of fit")]) == 2
    assert decoded(ask_about(plan)) == found, "it is kept"


def facts(features: int, *, validated: bool, learnt: Learnt) -> tuple[DataFacts, ModelFacts]:
    arrays = ("x_train", "y_train", "x_val", "y_val") if validated else ("x", "y")
    data = DataFacts(
        "script",
        "classes",
        3,
        72 if validated else 96,
        24 if validated else 0,
        x_shape=(features,),
        ids=3,
        arrays=arrays,
        inputs=(ArrayFacts((), (features,)),),
        targets=(ArrayFacts(dtype="int64", ids=3),),
    )
    return data, ModelFacts(learnt=learnt)


def test_that_an_exported_script_trains_before_what_the_script_does(
    by_fit: dict[str, list[dict[str, float]]], trained: dict[str, Trained], folder: Path
) -> None:
    assert trained["phases"].epochs
    learnt = Learnt("classes", True, "sparse_categorical_crossentropy", (), compiled=True)
    seen = {
        "phases": facts(6, validated=True, learnt=replace(learnt, metrics=("accuracy",))),
        "codes": facts(4, validated=False, learnt=learnt),
    }
    files = []
    for name, known in seen.items():
        # A run keeps in its plan what the script has given `fit`.
        kept = plans.load(next((folder / "runs").glob(f"*{name}*/plan.toml")))
        plan = replace(plans.load(folder / f"{name}.py", 2), training=kept.training)
        files.append(folder / f"exported_{name}.py")
        files[-1].write_text(python_script(plan, None, folder, *known))
    for name, said in zip(seen, script_jobs.printed_by(files, folder), strict=True):
        told = epochs_in(said)
        assert len(told) == len(by_fit[name]), said[-3000:]
        for mine, wanted in zip(told, by_fit[name], strict=True):
            mine.pop("learning_rate", None)
            assert mine == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_that_the_window_which_trains_nothing_says_how_a_later_call_is_exported(
    folder: Path,
) -> None:
    with pytest.raises(ExportError, match="`gpu-studio export`, which trains what the script"):
        python_script(plans.load(folder / "codes.py", 2), None, folder)


def test_that_a_later_call_is_exported_without_a_strategy_only(folder: Path) -> None:
    learnt = Learnt("classes", True, "sparse_categorical_crossentropy", (), compiled=True)
    plan = replace(plans.load(folder / "codes.py", 2), distribution=Distribution("one_device"))
    known = facts(4, validated=False, learnt=learnt)
    with pytest.raises(ExportError, match=r'distribution\.strategy = "none"'):
        python_script(plan, None, folder, *known)
