from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpu_studio.placement.blocks import entering
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph
from gpu_studio.placement.transfers import Transfer, transfers
from gpu_studio.placement.work import Device, by_flops, work_of

A, B = ("GPU:0",), ("GPU:1",)


def layer(name: str, *inputs: str, trained: bool = True) -> GraphLayer:
    return GraphLayer(name, "Dense", inputs, (10,), trainable=int(trained), output_bytes=40)


CHAIN = ModelGraph("chain", (layer("one"), layer("two", "one"), layer("three", "two")))
FORK = ModelGraph(
    "fork",
    (layer("one"), layer("left", "one"), layer("right", "one"), layer("sum", "left", "right")),
)


def test_that_an_output_goes_there_and_its_gradient_back() -> None:
    (sent,) = transfers(CHAIN, {"one": A, "two": A, "three": B}, 8)
    assert sent == Transfer("two", "three", "GPU:0", "GPU:1", 2 * 40 * 8)


def test_that_nothing_crosses_on_one_device() -> None:
    assert transfers(CHAIN, dict.fromkeys(("one", "two", "three"), A), 8) == ()


def test_that_an_output_is_sent_once_to_a_device_where_two_take_it() -> None:
    (sent, *_) = found = transfers(FORK, {"one": A, "left": B, "right": B, "sum": A}, 1)
    assert [(each.source, each.target) for each in found] == [
        ("one", "left"),
        ("left", "sum"),
        ("right", "sum"),
    ]
    assert sent.bytes == 80


def test_that_nothing_comes_back_to_what_is_not_trained() -> None:
    plain = replace(CHAIN, layers=(layer("one", trained=False), *CHAIN.layers[1:]))
    sent, back = transfers(plain, {"one": A, "two": B, "three": A}, 8)
    assert (sent.bytes, back.bytes) == (40 * 8, 2 * 40 * 8)


def test_that_a_split_layer_gets_its_input_everywhere_and_is_joined_where_it_is_taken() -> None:
    found = transfers(CHAIN, {"one": A, "two": (*A, *B), "three": B}, 1)
    assert [
        (each.source, each.target, each.from_device, each.to_device, each.bytes) for each in found
    ] == [
        ("one", "two", "GPU:0", "GPU:1", 80),
        ("two", "two", "GPU:0", "GPU:1", 40),
    ]


def shared_graph(random: np.random.Generator) -> ModelGraph:
    """Layers with skips and branches, some used again on the output of a later layer."""
    count = int(random.integers(2, 14))
    layers = []
    for place in range(count):
        inputs = {
            place - 1,
            *(int(each) for each in random.integers(0, count, random.integers(0, 3))),
        } - {-1}
        trained = bool(random.random() < 0.5)
        size = int(random.integers(0, 1000))
        names = tuple(f"layer_{each}" for each in inputs)
        layers.append(
            GraphLayer(f"layer_{place}", "Dense", names, trainable=int(trained), output_bytes=size)
        )
    return ModelGraph("shared", tuple(layers))


def test_that_the_search_counts_what_the_prediction_counts_also_where_layers_are_shared() -> None:
    from_behind = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        graph, batch = shared_graph(random), int(random.integers(1, 100))
        devices = [Device(f"GPU:{place}") for place in range(4)]
        work = work_of(
            ModelFacts(graph), devices, batch, {device.name: by_flops(graph) for device in devices}
        )
        from_behind += any(work.later)
        cuts = (0, *sorted(random.integers(0, len(work.names) + 1, 3).tolist()), len(work.names))
        stages = list(zip(devices, pairwise(cuts), strict=True))
        places = {
            name: (device.name,) for device, stage in stages for name in work.names[slice(*stage)]
        }
        table = entering(work, work.sent_bytes)
        counted = sum(float(table[end, begin]) * batch for _, (begin, end) in stages)
        assert counted == sum(each.bytes for each in transfers(graph, places, batch))
    assert from_behind > 200
