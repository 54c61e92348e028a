"""Scripts have the trainer's own builders of the built-in models.

Which layers those call is known without Keras.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import import_rules
import made_data
import numpy as np
import pytest
from built_in_models import settings_for
from export_plans import IMAGES, token_file
from training_runs import small_plan

import gpu_studio
from gpu_studio.export.builders import builder_source, called_layers
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.model import model, parameters
from gpu_studio.export.strategies.placed import feeds_of
from gpu_studio.plan.catalogue import MODELS
from gpu_studio.trainer.data import Dataset

TOKENS = 20
PLANS = {
    **{name: settings_for(entry) for name, entry in MODELS.items()},
    "mlp on digits": (),
    "mlp without layers": ("model.options={ hidden = [] }",),
    "mlp with dropout": ("model.options={ hidden = [8, 8], dropout = 0.1 }",),
    "linear on a line": ("model.name=linear", "data.name=regression"),
    "cnn with dropout": ("model.name=cnn", "model.options={ dropout = 0.2 }"),
    "lenet on digits": ("model.name=lenet",),
    "cifar_cnn on images": ("model.name=cifar_cnn", *IMAGES),
    "resnet20 on cifar10": ("model.name=resnet20", "data.name=cifar10"),
    "transformer on digits": ("model.name=transformer",),
    "transformer without dropout": (
        "model.name=transformer",
        "model.options={ dropout = 0.0, depth = 2 }",
        *IMAGES,
    ),
    "tokens": ("model.name=transformer",),
    "a vocabulary": ("model.name=transformer", "model.options={ vocabulary = 33 }"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of tokens."""
    made = tmp_path_factory.mktemp("tokens")
    token_file(made)
    return made


def facts_of(name: str, folder: Path) -> ScriptFacts:
    data = [f"data.file={folder / 'tokens.npz'}"] if name in ("tokens", "a vocabulary") else []
    return ScriptFacts.of(small_plan(*PLANS[name], *data), None, folder, None)


def dataset_of(facts: ScriptFacts) -> Dataset:
    """Samples of the shape that the plan's data have."""
    if facts.source.tokens:
        return made_data.tokens(vocabulary=TOKENS)
    classes = facts.source.classes
    return (
        made_data.classes(facts.source.shape, classes)
        if classes
        else made_data.values(facts.source.shape)
    )


@pytest.mark.parametrize("name", MODELS)
def test_that_a_builder_needs_nothing_but_keras(name: str) -> None:
    package = Path(gpu_studio.__file__).parent
    file = package / "trainer" / "models" / f"{name}.py"
    imported = {each.module for each in import_rules.imports_of(package, [file])}
    assert imported <= {"__future__", "collections.abc", "keras"}


@pytest.mark.parametrize("name", MODELS)
def test_that_a_builder_in_a_script_has_its_docstrings_but_no_annotations_and_no_private_names(
    name: str,
) -> None:
    functions = ast.parse(builder_source(name)).body
    assert all(isinstance(each, ast.FunctionDef | ast.Assign) for each in functions)
    for function in functions:
        if isinstance(function, ast.FunctionDef):
            assert ast.get_docstring(function)
            assert not function.name.startswith("_")
            assert function.returns is None
            assert not any(
                each.annotation for each in ast.walk(function) if isinstance(each, ast.arg)
            )


@pytest.mark.slow
def test_that_layers_are_known_without_starting_tensorflow_or_keras() -> None:
    code = (
        "import sys; from gpu_studio.export.builders import called_layers; "
        "assert called_layers('resnet20', (8, 8, 3), {}); "
        "print([name for name in ('keras', 'tensorflow', 'gpu_studio.trainer') "
        "if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_that_layers_that_draw_and_layers_that_normalise_are_seen() -> None:
    options = {"hidden": [8], "activation": "relu"}
    quiet, drawing = (
        called_layers("mlp", (4,), options | {"dropout": rate}) for rate in (0.0, 0.5)
    )
    assert [layer.draws for layer in quiet] == [False]
    assert [layer.draws for layer in drawing] == [False, True]
    attention = {
        "width": 8,
        "heads": 2,
        "depth": 1,
        "feed_forward": 8,
        "dropout": 0.1,
        "vocabulary": 0,
    }
    drawn = {layer.name for layer in called_layers("transformer", (4, 3), attention) if layer.draws}
    assert {"block1_attention", "block1_attention_dropout"} <= drawn
    kinds = {layer.name: layer.kind for layer in called_layers("cifar_cnn", (8, 8, 3), {})}
    assert kinds["norm1"] == "BatchNormalization"


@pytest.mark.parametrize("name", PLANS)
def test_that_no_model_both_draws_and_keeps_statistics_or_the_step_of_a_whole_batch_would_lose_them(
    name: str, folder: Path
) -> None:
    facts = facts_of(name, folder)
    assert not (facts.draws and facts.keeps_statistics)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_that_a_script_builds_the_model_of_a_run_and_its_layers_are_foreseen(
    name: str, folder: Path
) -> None:
    import keras

    from gpu_studio.trainer.model_layers import placeable_layers
    from gpu_studio.trainer.models import build_model

    facts = facts_of(name, folder)
    defined: dict[str, Any] = {"keras": keras, "SEED": 7}
    exec(model(facts), defined)
    given = {"classes": 3, "tokens": TOKENS}
    script = defined["build_model"](*[given[each] for each in parameters(facts)])
    run = build_model(facts.plan.model, dataset_of(facts), folder, 7)
    assert [each.path for each in script.weights] == [each.path for each in run.weights]
    for mine, theirs in zip(script.weights, run.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
    assert [each.name for each in script.layers] == [each.name for each in run.layers]
    assert dict(feeds_of(facts.layers)) == {
        each.path: each.inputs for each in placeable_layers(script)
    }
