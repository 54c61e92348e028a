"""What a model says of XLA."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.mark.parametrize(("given", "asked"), [({}, False), ({"jit_compile": True}, True)])
def test_that_only_a_model_compiled_so_asks_for_xla_also_where_keras_sees_a_card(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, bool], asked: bool
) -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.xla import xla_facts

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    card = SimpleNamespace(device_type="GPU", name="GPU:0")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda *_kind: [card])
    model.compile("adam", "mse", **given)
    monkeypatch.undo()
    assert xla_facts(model).asked == asked
