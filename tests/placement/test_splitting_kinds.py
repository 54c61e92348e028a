from __future__ import annotations

import pytest

from gpu_studio.placement.known_problems import units_of, why_not_split
from gpu_studio.placement.plan_facts import GraphLayer

TWO, THREE = ("GPU:0", "GPU:1"), ("GPU:0", "GPU:1", "GPU:2")


def layer(kind: str, *shape: int) -> GraphLayer:
    return GraphLayer("middle", kind, output_shape=shape)


@pytest.mark.parametrize(
    "kind", ["Dense", "Embedding", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"]
)
def test_that_layers_whose_units_need_only_their_own_weights_can_be_split(kind: str) -> None:
    assert why_not_split(layer(kind, 8, 8), TWO) == ""
    assert units_of(layer(kind, 8, 12)) == 12


@pytest.mark.parametrize(
    "kind", ["Flatten", "BatchNormalization", "LSTM", "Dropout", "DepthwiseConv2D"]
)
def test_that_other_layers_are_refused_by_name_and_kind(kind: str) -> None:
    assert (
        why_not_split(layer(kind, 8), TWO)
        == f"The layer middle cannot be split: a {kind} has no units of its own."
    )
    assert units_of(layer(kind, 8)) is None


def test_that_fewer_units_than_devices_are_refused() -> None:
    assert why_not_split(layer("Dense", 2), TWO) == ""
    assert (
        why_not_split(layer("Dense", 2), THREE)
        == "The layer middle has 2 units, fewer than 3 devices."
    )


def test_that_units_that_nobody_knows_refuse_nothing() -> None:
    assert why_not_split(GraphLayer("middle", "Dense", output_shape=(None,)), THREE) == ""
