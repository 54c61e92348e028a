"""The layers of a model that can be placed.

Each once, in the order they run, with what feeds them.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


def listed(model) -> dict[str, tuple[str, ...]]:
    from gpu_studio.trainer.model_layers import placeable_layers  # not above: it starts TensorFlow

    return {each.path: each.inputs for each in placeable_layers(model)}


def made(name: str):
    import made_models

    return getattr(made_models, name)()


def test_that_a_sequential_model_is_a_chain():
    assert listed(made("sequential")) == {"first": (), "second": ("first",), "outputs": ("second",)}


def test_that_edges_run_through_bare_operations_and_branches():
    layers = listed(made("branched"))

    assert layers == {
        "left": (),
        "right": (),
        "joined": ("left", "right"),
        "after": ("joined",),
        "skip": ("after", "left"),
        "outputs": ("skip",),
    }
    order = list(layers)
    assert all(
        order.index(feed) < order.index(path) for path, feeds in layers.items() for feed in feeds
    )


def test_that_a_shared_layer_is_there_once_with_the_inputs_of_all_calls():
    assert listed(made("shared")) == {
        "before": (),
        "twice": ("before",),
        "sum": ("twice",),
        "outputs": ("sum",),
    }


def test_that_nested_models_are_laid_open_and_edges_run_into_them_and_out():
    assert listed(made("nested")) == {
        "before": (),
        "middle/inner/one": ("before",),
        "middle/inner/two": ("middle/inner/one",),
        "middle/three": ("middle/inner/two",),
        "sum": ("middle/three", "middle/inner/two"),
        "outputs": ("sum",),
    }


CALLED = {
    "first": (),
    "block/one": ("first",),
    "block/two": ("block/one",),
    "dropped": ("block/two",),
    "last": ("first", "dropped"),
}


def test_that_a_subclassed_model_is_listed_in_the_order_of_its_calls():
    import made_models
    import numpy as np

    model = made_models.Subclassed()
    model(np.zeros((2, made_models.FEATURES), "float32"))

    assert {path: set(feeds) for path, feeds in listed(model).items()} == {
        k: set(v) for k, v in CALLED.items()
    }
    assert list(listed(model)) == list(CALLED)


def test_that_a_subclassed_model_within_a_graph_is_listed_by_its_calls_too():
    assert list(listed(made("subclassed"))) == [f"body/{path}" for path in CALLED]


def test_that_a_subclassed_model_that_was_never_called_is_a_chain_of_its_attributes():
    import made_models

    layers = listed(made_models.Subclassed())

    assert list(layers) == ["last", "first", "block/one", "block/two", "dropped"]
    assert layers["first"] == ("last",)


def test_that_a_subclassed_model_with_inputs_by_name_is_listed_in_the_order_of_its_calls():
    import keras
    import numpy as np

    class Named(keras.Model):
        def __init__(self):
            super().__init__()
            self.last, self.first = keras.layers.Dense(1), keras.layers.Dense(2)

        def call(self, given):
            return self.last(self.first(given["left"]) + given["right"][0])

    model = Named()
    model({"left": np.ones((1, 3)), "right": (np.ones((1, 2)),)})
    assert list(listed(model)) == [model.first.name, model.last.name]


def test_that_a_subclassed_model_whose_trial_call_fails_is_listed_all_the_same():
    import made_models
    import numpy as np

    model = made_models.Subclassed()
    model(np.zeros((2, made_models.FEATURES), "float32"))
    model.first.call = None

    assert len(listed(model)) == 5


def test_that_a_composite_layer_is_one_leaf():
    layers = listed(made("recurrent"))

    assert layers == {"rows": (), "lstm": ("rows",), "both": ("lstm",), "outputs": ("both",)}


def test_that_a_loaded_model_is_listed_as_the_one_that_was_saved(tmp_path):
    import keras

    model = made("branched")
    model.save(tmp_path / "model.keras")

    assert listed(keras.models.load_model(tmp_path / "model.keras")) == listed(model)


def test_that_layers_of_one_name_are_told_apart():
    import keras
    import numpy as np

    class Twins(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (keras.layers.Dense(4, name="twin") for _ in range(2))

        def call(self, x):
            return self.b(self.a(x))

    model = Twins()
    model(np.zeros((2, 3), "float32"))

    assert listed(model) == {"twin": (), "twin#2": ("twin",)}
