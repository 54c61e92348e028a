"""The exporter's knowledge of Keras, which it never imports, checked against Keras."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_plans import plan_of
from training_runs import small_plan

from gpu_studio.export import python_script
from gpu_studio.export.keras_objects import LOSS_CLASSES, METRIC_CLASSES
from gpu_studio.export.optimizers import OPTIMIZER_CLASSES
from gpu_studio.plan.keras_objects import (
    COMPILED,
    LOSSES,
    METRICS,
    OPTIMIZERS,
    WHOLE_BATCH_LOSSES,
)


def test_that_every_name_of_a_plan_has_a_class():
    assert list(OPTIMIZER_CLASSES) == list(OPTIMIZERS)
    # Of the others, export says that no script can be written with them yet.
    assert list(LOSS_CLASSES) == [each for each in LOSSES if each in LOSS_CLASSES]
    assert set(LOSSES) - set(LOSS_CLASSES) == {"auto", COMPILED, *WHOLE_BATCH_LOSSES}
    assert set(METRIC_CLASSES) < set(METRICS)


@pytest.mark.slow
def test_that_the_classes_are_those_that_the_trainer_finds():
    import keras

    from gpu_studio.trainer.keras_objects import compiled
    from gpu_studio.trainer.keras_objects.forms import Wants
    from gpu_studio.trainer.keras_objects.named import keras_class, parameters

    for name, cls in OPTIMIZER_CLASSES.items():
        assert keras_class(keras.optimizers, name) is getattr(keras.optimizers, cls)
    for module, ours, wanted, renamed in (
        (keras.losses, LOSS_CLASSES, compiled.LOSS_WANTS, {}),
        (keras.metrics, METRIC_CLASSES, compiled.METRIC_WANTS, compiled.CLASSES),
    ):
        for name, fitting in ours.items():
            factory = keras_class(module, renamed.get(name, name))
            assert factory is getattr(module, fitting.cls)
            wants = wanted.get(name, Wants())
            assert (fitting.one_hot, fitting.probabilities) == (wants.one_hot, wants.probabilities)
            assert fitting.takes_logits == (
                "from_logits" in parameters(factory) and not wants.probabilities
            )


@pytest.mark.slow
def test_that_metrics_which_make_their_variables_late_are_known():
    import keras

    needed = {
        "PrecisionAtRecall": [0.5],
        "RecallAtPrecision": [0.5],
        "SensitivityAtSpecificity": [0.5],
        "SpecificityAtSensitivity": [0.5],
        "MeanIoU": [2],
        "IoU": [2, [0]],
        "OneHotMeanIoU": [2],
        "OneHotIoU": [2, [0]],
    }
    for name, fitting in METRIC_CLASSES.items():
        metric = getattr(keras.metrics, fitting.cls)(*needed.get(fitting.cls, []))
        assert fitting.lazy == (getattr(metric, "_built", True) is False), name


@pytest.mark.slow
def test_that_the_statistics_of_uneven_micro_batches_are_those_of_the_whole_batch():
    import keras
    import tensorflow as tf

    tree = ast.parse(python_script(plan_of("placed and normalised"), None, Path("/nowhere")))
    (written,) = [
        each
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and each.name == "write_statistics"
    ]
    defined: dict[str, Any] = {"keras": keras, "tf": tf}
    exec(compile(ast.Module([written], []), "train.py", "exec"), defined)
    layer = keras.layers.BatchNormalization(momentum=0.9)
    model = keras.Sequential([keras.Input((3,)), layer])
    x = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    x[:2] += 5  # the first micro-batch is unlike the second
    scopes = []
    for part in (x[:2], x[2:]):
        with keras.StatelessScope() as scope:
            model(part, training=True)
        scopes.append(scope)
    defined["write_statistics"](model, scopes, [2 / 7, 5 / 7])
    np.testing.assert_allclose(layer.moving_mean, 0.1 * x.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance, 0.9 + 0.1 * x.var(axis=0), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "done", "why"),
    [
        ("summary", "", ""),
        ("train_step", "", "The model has a train_step of its own, never called here"),
        ("compute_loss", "", "The model has a compute_loss of its own, never called here"),
        (
            "summary",
            "net.compile('sgd', 'mse')",
            "The model is compiled: name optimizer and loss",
        ),
    ],
)
def test_that_a_script_does_not_train_a_model_otherwise_than_it_was_meant(
    own, done, why, tmp_path, monkeypatch
):
    import keras

    lines = [
        "import keras",
        "class Net(keras.Sequential):",
        f"    def {own}(self, *given): ...",
        "def build():",
        "    net = Net([keras.layers.Flatten()])",
        f"    {done}",
        "    return net",
    ]
    (tmp_path / "steps.py").write_text("\n".join(lines))
    tree = ast.parse(python_script(small_plan("model.python=steps.py:build"), None, tmp_path))
    wanted = (ast.FunctionDef, ast.Assign, ast.Import, ast.ImportFrom)
    (place,) = [
        index for index, each in enumerate(tree.body) if getattr(each, "name", "") == "build_model"
    ]
    needed = [each for each in tree.body[: place + 1] if isinstance(each, wanted)]
    defined: dict[str, Any] = {"__name__": "script", "__file__": str(tmp_path / "train.py")}
    monkeypatch.setattr(sys, "path", list(sys.path))
    exec(compile(ast.Module(needed, []), "train.py", "exec"), defined)
    if why:
        with pytest.raises(SystemExit, match=why):
            defined["build_model"]()
    else:
        assert isinstance(defined["build_model"](), keras.Model)
    sys.modules.pop("steps", None)
