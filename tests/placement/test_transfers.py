from __future__ import annotations

from dataclasses import replace

from gpu_studio.placement.model_graph import Layer, ModelGraph
from gpu_studio.placement.transfers import Transfer, home_of, transfers

A, B, C = ("GPU:0",), ("GPU:1",), ("GPU:2",)


def layer(name: str, *inputs: str, trained: bool = True) -> Layer:
    return Layer(name, "Dense", inputs, (10,), trainable=int(trained), output_bytes=40)


CHAIN = ModelGraph("chain", (layer("one"), layer("two", "one"), layer("three", "two")))
FORK = ModelGraph("fork", (layer("one"), layer("left", "one"), layer("right", "one"), layer("sum", "left", "right")))


def test_that_an_output_goes_there_and_its_gradient_back() -> None:
    (sent,) = transfers(CHAIN, {"one": A, "two": A, "three": B}, 8)
    assert sent == Transfer("two", "three", "GPU:0", "GPU:1", 2 * 40 * 8)


def test_that_nothing_crosses_on_one_device() -> None:
    assert transfers(CHAIN, dict.fromkeys(("one", "two", "three"), A), 8) == ()


def test_that_an_output_is_sent_once_to_a_device_where_two_take_it() -> None:
    (sent, *_) = found = transfers(FORK, {"one": A, "left": B, "right": B, "sum": A}, 1)
    assert [(each.source, each.target) for each in found] == [("one", "left"), ("left", "sum"), ("right", "sum")]
    assert sent.bytes == 80


def test_that_nothing_comes_back_to_what_is_not_trained() -> None:
    plain = replace(CHAIN, layers=(layer("one", trained=False), *CHAIN.layers[1:]))
    sent, back = transfers(plain, {"one": A, "two": B, "three": A}, 8)
    assert (sent.bytes, back.bytes) == (40 * 8, 2 * 40 * 8)


def test_that_a_split_layer_gets_its_input_everywhere_and_is_joined_where_it_is_taken() -> None:
    found = transfers(CHAIN, {"one": A, "two": (*A, *B), "three": B}, 1)
    assert [(each.source, each.target, each.from_device, each.to_device, each.bytes) for each in found] == [
        ("one", "two", "GPU:0", "GPU:1", 80),
        ("two", "two", "GPU:0", "GPU:1", 40),
    ]


def test_that_a_split_layer_is_whole_with_its_takers_only_if_they_are_in_one_place() -> None:
    assert home_of((*A, *B), [B, B]) == "GPU:1"
    assert home_of((*A, *B), [B, C]) == "GPU:0"
    assert home_of((*A, *B), [(*B, *C)]) == "GPU:0"
    assert home_of((*A, *B), []) == "GPU:0"
    assert home_of(C, [A]) == "GPU:2"
