"""A model with two inputs and two outputs of one's own, fed by tf.data, with a real pointer.

It is allowed, seen, trained and watched, and what it predicts is looked at.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_python
from x_desk import Desk
from x_program import started

from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.questions.ask import ASKER

PROGRAM = Path(__file__).parents[1] / "support" / "own_window.py"
ROOT = Path(__file__).parents[2]
OWN = '''
import keras
import numpy as np
import tensorflow as tf


def build():
    """Two inputs, two outputs."""
    image, hint = keras.Input((8, 8, 1), name="image"), keras.Input((2,), name="hint")
    x = keras.layers.Concatenate()([keras.layers.Flatten()(image), hint])
    digit = keras.layers.Dense(3, activation="softmax", name="digit")(x)
    light = keras.layers.Dense(1, name="light")(x)
    return keras.Model({"image": image, "hint": hint}, {"digit": digit, "light": light})


def load():
    """Streams of batches."""
    rng = np.random.default_rng(0)
    image = rng.uniform(size=(96, 8, 8, 1)).astype("float32")
    x = {"image": image, "hint": rng.uniform(size=(96, 2)).astype("float32")}
    y = {"digit": rng.integers(0, 3, 96).astype("int32"), "light": image.mean((1, 2))}
    train = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
    return train, train.take(2)
'''
PLAN = """
version = 1
name = "two and two"
[model]
python = "own.py:build"
[data]
python = "own.py:load"
[training]
epochs = 2
batch_size = 16
[training.outputs.light]
loss = "sparse_categorical_crossentropy"
"""
MEND = "Use auto for light"


@pytest.fixture
def desk(x_environment: dict[str, str], tmp_path: Path, runs: Path) -> Iterator[Desk]:
    """The window on a plan that names Python which nobody has allowed."""
    plan = tmp_path / "two.plan.toml"
    plan.write_text(PLAN)
    (tmp_path / "own.py").write_text(OWN)
    environment = {
        **x_environment,
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "OWN_ASKER": shlex.join(warm_python.command(ASKER)),
        TRAINER_VARIABLE: shlex.join(warm_python.command("gpu_studio.trainer")),
        "PYTHONPATH": f"{ROOT}:{PROGRAM.parent}",
    }
    words = ["--runs-dir", str(runs), str(plan)]
    with started([sys.executable, str(PROGRAM), *words], environment) as program:
        yield Desk(program, environment)
    assert program.returncode == 0


@pytest.mark.whole("tests/e2e/test_story_by_pointer.py", "tests/ui/plan/test_allow_dialog.py")
@pytest.mark.slow
def test_that_one_s_own_model_is_allowed_seen_trained_and_looked_at_output_by_output(
    desk: Desk,
) -> None:
    desk.sees(lambda facts: "Allow…" in facts["parts"])
    desk.enter()
    desk.settle()
    desk.hands("key", "alt+2")
    desk.settle()
    desk.click("Allow…")
    desk.click("Allow this file")
    met = {("x/image", "image"), ("x/hint", "hint"), ("y/digit", "digit"), ("y/light", "light")}
    desk.sees(
        lambda facts: (
            {tuple(line.split("\t")[:3:2]) for line in facts["ends"].splitlines()[1:]} == met
        )
    )
    desk.settle()
    assert "Train" not in desk.facts["parts"]
    desk.click(MEND)
    desk.sees(lambda facts: MEND not in facts["parts"] and "Train" in facts["parts"])
    desk.hands("key", "alt+4")
    outputs = desk.sees(
        # asked anew
        lambda facts: "learnt by mean squared error" in facts["outputs"].get("light", "")
    )["outputs"]
    assert outputs["digit"].endswith(
        "learnt by sparse categorical crossentropy, measured by accuracy"
    )

    desk.settle()
    desk.click("Train")
    desk.sees(lambda facts: facts.get("state") == "finished")
    metrics = ["digit loss", "digit accuracy", "", "light loss", "light error"]
    desk.sees(lambda facts: facts["metrics"] == metrics)
    desk.settle()
    desk.click("tab Checkpoints")
    desk.click("checkpoint")
    desk.click("Predict")
    head, *rows = desk.sees(lambda facts: facts["predicted"])["predicted"].splitlines()
    assert head.split("\t")[0] == "Sample"
    assert set(head.split("\t")[1:]) == {
        *("image", "hint", "digit", "digit target", "light", "light target"),
    }
    assert len(rows) == 12
    assert all("✔" in row or "✘" in row for row in rows)

    desk.hands("key", "ctrl+2")
    desk.settle()
    desk.click("Copy as Python")
    desk.sees(lambda facts: "on the clipboard as a Python script" in facts["notice"])
