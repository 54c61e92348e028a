"""What a model says of XLA."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import made_data
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, None),
        ({"jit_compile": "auto"}, None),
        ({"jit_compile": True}, True),
        ({"jit_compile": False}, False),
        ({"run_eagerly": True}, False),
    ],
)
def test_that_a_model_says_what_it_was_compiled_with_also_where_keras_sees_a_card(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], asked: bool | None
) -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.xla import xla_facts

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    card = SimpleNamespace(device_type="GPU", name="GPU:0")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda *_kind: [card])
    model.compile("adam", "mse", **given)
    monkeypatch.undo()
    assert xla_facts(model).asked is asked
    assert not model.jit_compile or asked


@pytest.mark.parametrize(("began", "now"), [(True, False), (False, True), (None, True)])
def test_that_a_resumed_run_whose_random_layers_will_draw_otherwise_says_so(began, now) -> None:
    import keras

    from gpu_studio.trainer.training import other_draws

    layers = keras.layers.Dense(1), keras.layers.Dropout(0.5)
    session: Any = SimpleNamespace(
        cut=SimpleNamespace(replicas=1),
        program=SimpleNamespace(by_xla=now),
        dataset=made_data.values((2,)),
        model=keras.Sequential([keras.Input((2,)), *layers]),
    )
    state = {"parts": 1} | ({} if began is None else {"xla": began})
    told = [each.message for each in other_draws(state, session)]
    if began is None:
        assert told == []  # nothing is known of a run from before
        return
    assert len(told) == 1
    assert told[0].startswith(f"XLA compiles the steps {'now' if now else 'no longer'}: dropout")
    session.model = keras.Sequential([keras.Input((2,)), layers[0]])
    assert list(other_draws(state, session)) == []


def recurrent_of(name: str) -> int | None:
    import keras

    from gpu_studio.trainer.xla import xla_facts

    class Own(keras.layers.Dense):
        pass

    layers = keras.layers
    made: dict[str, list[Any]] = {
        "one": [layers.LSTM(8)],
        "its own cells": [layers.RNN([layers.GRUCell(4), layers.LSTMCell(8)])],
        "both ways": [layers.Bidirectional(layers.GRU(8))],
        "a layer at each time step": [layers.GRU(8, return_sequences=True), layers.Dense(64)],
        "a table": [layers.Flatten(), layers.Embedding(1000, 4), layers.SimpleRNN(8)],
        "no loop": [layers.Flatten(), layers.Dense(8)],
        "written out": [layers.LSTM(8, unroll=True)],
        "convolutions": [layers.Conv1D(4, 3), layers.LSTM(8)],
        "somebody's layer": [layers.LSTM(8), Own(1)],
    }
    x = inputs = keras.Input((12, 16))
    for layer in made[name]:
        x = layer(x)
    return xla_facts(keras.Model(inputs, x)).recurrent


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        ("one", 2 * 16 * 32),
        ("its own cells", 2 * 8 * 32),
        ("both ways", 2 * 16 * 24),
        ("a layer at each time step", 2 * 12 * 8 * 64),
        ("a table", 2 * 8 * 8),
        ("no loop", None),
        ("written out", None),
        ("convolutions", None),
        ("somebody's layer", None),
    ],
)
def test_that_a_model_of_keras_own_recurrent_layers_says_how_large_their_products_are(
    name: str, flops: int | None
) -> None:
    assert recurrent_of(name) == flops
