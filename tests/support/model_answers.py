"""Answer several questions about models in one TensorFlow process that is there already.

`main(FOLDER)` reads a list of questions from stdin and prints the list of answers. Before that it
saves three models in the folder: `nested.keras`, `scaling.keras` and `residual.keras`.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import warm_python
from patience import PATIENCE_S

from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts, decoded
from gpu_studio.plan import Plan, with_absolute_files
from gpu_studio.runs.questions.plan_question import model_question

PROGRAM = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
import model_answers
model_answers.main(Path(sys.argv[1]))
"""
FEW_STEPS = 5
CLASSES = {
    "name": "made",
    "task": "classes",
    "classes": 3,
    "x_dtype": "float32",
    "y_shape": [],
    "y_dtype": "int32",
}
ROWS = CLASSES | {"x_shape": [8]}
IMAGES = CLASSES | {"x_shape": [12, 12, 1]}
TOKENS = CLASSES | {"x_shape": [6], "x_dtype": "int32", "largest_token": 19}


def answers(
    folder: Path, asked: Mapping[str, tuple[Plan, Mapping[str, Any]]]
) -> dict[str, ModelFacts]:
    """What is told of each plan for its data; relative files are in `folder`."""
    questions = [
        model_question(with_absolute_files(plan, folder), data) for plan, data in asked.values()
    ]
    done = subprocess.run(
        [*warm_python.command(warm_python.TEXT), PROGRAM, str(folder)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return {name: _facts(decoded({"model": each})) for name, each in zip(asked, told, strict=True)}


def _facts(facts: PlanFacts) -> ModelFacts:
    assert facts.model is not None
    return facts.model


def main(folder: Path) -> None:
    """Answer all that is asked on stdin.

    A few steps of each are rehearsed: how near a rehearsal comes is measured in other tests.
    """
    from gpu_studio.placement import rehearsal
    from gpu_studio.trainer.answers.layers import layer_costs
    from gpu_studio.trainer.ask import NEW_OBJECTS

    gc.set_threshold(NEW_OBJECTS)  # as in the process that answers the window
    vars(rehearsal)["LEAST_STEPS"] = vars(rehearsal)["MOST_STEPS"] = FEW_STEPS
    questions = json.load(sys.stdin)
    _save_models(folder)
    told = [layer_costs(about, lambda _text: None)[0] for about in questions]
    sys.stdout.write(json.dumps(told) + "\n")


def _save_models(folder: Path) -> None:
    import keras

    inputs = keras.Input((8,), name="inputs")
    inner_in = keras.Input((8,))
    inner = keras.Model(inner_in, keras.layers.Dense(8, name="deep")(inner_in), name="inner")
    twice = keras.layers.Dense(8, name="twice")
    x = twice(inner(twice(inputs)))
    keras.Model(inputs, keras.layers.Dense(3, name="last")(x), name="nested").save(
        folder / "nested.keras"
    )
    scaled = keras.layers.Rescaling(1 / 255)(inputs)
    keras.Model(inputs, keras.layers.Dense(3, name="last")(scaled)).save(folder / "scaling.keras")
    _residual().save(folder / "residual.keras")


def _residual() -> Any:
    """A block as those of residual networks: what it takes is added to what it makes of it."""
    import keras

    def normalised(x: Any, name: str) -> Any:
        x = keras.layers.Conv2D(4, 3, padding="same", use_bias=False, name=f"{name}_conv")(x)
        return keras.layers.BatchNormalization(name=f"{name}_norm")(x)

    images = keras.Input((12, 12, 1), name="images")
    first = keras.layers.ReLU(name="first_relu")(normalised(images, "first"))
    x = keras.layers.ReLU(name="block_a_relu")(normalised(first, "block_a"))
    x = keras.layers.Add(name="block_add")([normalised(x, "block_b"), first])
    x = keras.layers.GlobalAveragePooling2D(name="average")(x)
    return keras.Model(images, keras.layers.Dense(3, name="last")(x), name="residual")
