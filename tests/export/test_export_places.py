"""A script places the layers of a placed plan as a run does, also those that the plan omits."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_runs import small_plan

from gpu_studio.export import ExportError, python_script
from gpu_studio.export.strategies.placed import places
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.plan.homes import Feeds

DEVICES = ("CPU:0", "CPU:1", "CPU:2")
PLACED = "distribution.strategy=placed"


def table(*settings: str) -> dict[str, list[str]]:
    """The table `PLACES` of a plan's script."""
    tree = ast.parse(python_script(small_plan(PLACED, *settings), None, Path("/nowhere"), None))
    (value,) = [
        each.value
        for each in tree.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "PLACES"
    ]
    found: dict[str, list[str]] = ast.literal_eval(value)
    return found


def test_that_layers_left_out_go_where_their_inputs_are_and_first_ones_where_they_are_taken() -> (
    None
):
    layers = 'distribution.placed.layers={ conv2 = "CPU:2", flatten = "CPU:1" }'
    assert table(layers, "model.name=lenet") == {
        "CPU:2": ["conv1", "pool1", "conv2", "pool2"],
        "CPU:1": ["flatten", "dense", "outputs"],
    }


def test_that_a_sum_goes_where_the_first_of_its_inputs_is() -> None:
    layers = (
        'distribution.placed.layers={ first_conv = "CPU:0", stage2_block1_b_conv = "CPU:1", '
        'average = "CPU:3" }'
    )
    found = table(layers, "model.name=resnet20", "data.name=cifar10")
    assert "stage2_block1_shortcut_put_back" in found["CPU:0"]
    assert found["CPU:1"][:3] == [
        "stage2_block1_b_conv",
        "stage2_block1_b_norm",
        "stage2_block1_add",
    ]
    assert found["CPU:3"] == ["average", "outputs"]


def test_that_a_layer_that_there_is_not_is_refused_with_the_nearest() -> None:
    plan = small_plan(PLACED, 'distribution.placed.layers={ dence = "CPU:1" }')
    with pytest.raises(ExportError, match='no layer "dence": did you mean dense'):
        python_script(plan, None, Path("/nowhere"), None)


@st.composite
def feeds(draw: st.DrawFn) -> Feeds:
    names = [f"layer{number}" for number in range(draw(st.integers(1, 8)))]
    return {
        name: tuple(draw(st.lists(st.sampled_from(names[:n]), unique=True, max_size=3)))
        if n
        else ()
        for n, name in enumerate(names)
    }


@given(st.data())
def test_that_every_layer_has_the_device_that_a_run_gives_it(data: st.DataObject) -> None:
    graph = data.draw(feeds())
    some = st.dictionaries(
        st.sampled_from(list(graph)), st.sampled_from(DEVICES).map(lambda each: (each,)), min_size=1
    )
    chosen = data.draw(some)
    layers = tuple(GraphLayer(name, "", inputs=of) for name, of in graph.items())
    expected = ModelGraph("", layers).devices_of(chosen, DEVICES)
    found = places(graph, chosen, DEVICES[0])
    assert {name: (device,) for device, names in found.items() for name in names} == expected
