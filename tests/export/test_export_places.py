"""Where a script puts the layers of a placed plan: as a run does, those that the plan leaves out included."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from export_plans import IMAGES, token_file
from hypothesis import given
from hypothesis import strategies as st
from training_runs import small_plan

from gpu_studio.export import ExportError, python_script
from gpu_studio.export.facts import Facts
from gpu_studio.export.model import model, parameters, piece_of
from gpu_studio.export.models.piece import Feeds
from gpu_studio.export.places import feeds_of, places
from gpu_studio.placement.memory_placed import devices_of
from gpu_studio.placement.model_graph import Layer, ModelGraph

DEVICES = ("CPU:0", "CPU:1", "CPU:2")
PLACED = "distribution.strategy=placed"
MODELS = {
    "mlp": (),
    "mlp without layers": ("model.options={ hidden = [] }",),
    "mlp with dropout": ("model.options={ hidden = [8, 8], dropout = 0.1 }",),
    "linear": ("model.name=linear", "data.name=regression"),
    "cnn": ("model.name=cnn", "model.options={ dropout = 0.2 }"),
    "lenet": ("model.name=lenet",),
    "cifar_cnn": ("model.name=cifar_cnn", *IMAGES),
    "resnet20": ("model.name=resnet20", "data.name=cifar10"),
    "transformer": ("model.name=transformer",),
    "transformer without dropout": ("model.name=transformer", "model.options={ dropout = 0.0, depth = 2 }", *IMAGES),
}


def table(*settings: str) -> dict[str, list[str]]:
    """The table `PLACES` of a plan's script."""
    tree = ast.parse(python_script(small_plan(PLACED, *settings), None, Path("/nowhere"), None))
    (value,) = [
        each.value for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "PLACES"
    ]
    found: dict[str, list[str]] = ast.literal_eval(value)
    return found


def test_that_layers_left_out_go_where_their_inputs_are_and_first_ones_where_they_are_taken() -> None:
    layers = 'distribution.placed.layers={ conv2 = "CPU:2", flatten = "CPU:1" }'
    assert table(layers, "model.name=lenet") == {
        "CPU:2": ["conv1", "pool1", "conv2", "pool2"],
        "CPU:1": ["flatten", "dense", "outputs"],
    }


def test_that_a_sum_goes_where_the_first_of_its_inputs_is() -> None:
    layers = 'distribution.placed.layers={ first_conv = "CPU:0", stage2_block1_b_conv = "CPU:1", average = "CPU:3" }'
    found = table(layers, *MODELS["resnet20"])
    assert "stage2_block1_shortcut_put_back" in found["CPU:0"]
    assert found["CPU:1"][:3] == ["stage2_block1_b_conv", "stage2_block1_b_norm", "stage2_block1_add"]
    assert found["CPU:3"] == ["average", "outputs"]


def test_that_a_layer_that_there_is_not_is_refused_with_the_nearest() -> None:
    plan = small_plan(PLACED, 'distribution.placed.layers={ dence = "CPU:1" }')
    with pytest.raises(ExportError, match='no layer "dence": did you mean dense'):
        python_script(plan, None, Path("/nowhere"), None)


@pytest.mark.parametrize("name", MODELS)
def test_that_no_model_both_draws_and_keeps_statistics_or_the_step_of_a_whole_batch_would_lose_them(name: str) -> None:
    facts = Facts.of(small_plan(*MODELS[name]), None, Path("/nowhere"), None)
    assert not (facts.draws and facts.keeps_statistics)


@st.composite
def feeds(draw: st.DrawFn) -> Feeds:
    names = [f"layer{number}" for number in range(draw(st.integers(1, 8)))]
    return {
        name: tuple(draw(st.lists(st.sampled_from(names[:n]), unique=True, max_size=3))) if n else ()
        for n, name in enumerate(names)
    }


@given(st.data())
def test_that_every_layer_has_the_device_that_a_run_gives_it(data: st.DataObject) -> None:
    graph = data.draw(feeds())
    some = st.dictionaries(st.sampled_from(list(graph)), st.sampled_from(DEVICES).map(lambda each: (each,)), min_size=1)
    chosen = data.draw(some)
    expected = devices_of(
        ModelGraph("", tuple(Layer(name, "", inputs=of) for name, of in graph.items())), chosen, DEVICES
    )
    found = places(graph, chosen, DEVICES[0])
    assert {name: (device,) for device, names in found.items() for name in names} == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_that_layers_and_what_feeds_them_are_those_that_keras_builds(name: str) -> None:
    check_layers(Facts.of(small_plan(*MODELS[name]), None, Path("/nowhere"), None))


@pytest.mark.slow
def test_that_the_layers_for_tokens_are_those_that_keras_builds(tmp_path: Path) -> None:
    check_layers(
        Facts.of(small_plan("model.name=transformer", f"data.file={token_file(tmp_path)}"), None, tmp_path, None)
    )


def check_layers(facts: Facts) -> None:
    import keras

    from gpu_studio.trainer.model_layers import placeable_layers

    defined: dict[str, Any] = {"keras": keras, "SEED": 0}
    exec(model(facts), defined)
    built = placeable_layers(defined["build_model"](*[20 for _ in parameters(facts)]))
    assert dict(feeds_of(piece_of(facts))) == {each.path: each.inputs for each in built}
