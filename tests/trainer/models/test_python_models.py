"""Models from a user's function: all kinds that Keras has, checked against the data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import made_data
import numpy as np
import pytest
from written_code import SCALE, Written

from gpu_studio.contract.consent import digest
from gpu_studio.plan.values import Data, ModelSettings, Named, Plan, Training
from gpu_studio.trainer.data.values import Dataset, Split, target_of
from gpu_studio.trainer.errors import ModelError, UserCodeError

pytestmark = pytest.mark.slow

DATASET = made_data.classes((8,), 3)

MODELS = (
    SCALE
    + """
class Net(keras.Model):
    def __init__(self, outputs, activation=None):
        super().__init__(name="net")
        self.scale, self.last = Scale(), keras.layers.Dense(outputs, activation=activation)

    def call(self, x):
        return self.last(self.scale(x))

def functional(input_shape, outputs, units=4):
    inputs = keras.Input(input_shape)
    x = keras.layers.Dense(units, name="first")(Scale()(inputs))
    return keras.Model(inputs, keras.layers.Dense(outputs, name="last")(x))

def sequential(outputs):
    model = keras.Sequential([Scale(), keras.layers.Dense(outputs)])
    model.compile("adam", "mse", metrics=["accuracy"])
    return model

def subclassed(outputs):
    return Net(outputs)

def shares(outputs):
    return Net(outputs, "softmax")

def nothing(): ...
def layer(): return keras.layers.Dense(3)
def narrow(): return sequential(2)
def two(input_shape):
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, [keras.layers.Dense(3)(inputs), keras.layers.Dense(3)(inputs)])
def each(input_shape):
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, keras.layers.Dense(3)(keras.layers.Reshape((8, 1))(inputs)))
def unlike(): return functional((9,), 3)
def breaking():
    class Broken(keras.Model):
        def call(self, x):
            return x @ x
    return Broken()

class Stepping(Net):
    def train_step(self, data):
        raise RuntimeError("never called")
class Losing(Stepping):
    train_step = keras.Model.train_step
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return 0.0
class Testing(keras.Sequential):
    def test_step(self, data):
        return {}
class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator = keras.Sequential([keras.layers.Dense(3)])
def stepping(outputs): return Stepping(outputs)
def losing(outputs): return Losing(outputs)
def testing(outputs): return Testing([keras.layers.Dense(outputs)])
def patched(outputs):
    model = sequential(outputs)
    model.train_step = lambda data: {}
    return model
class Rival(Gan):
    def train_step(self, x):
        self.generator(x[0] if isinstance(x, tuple) else x)
        return {}
def rival(): return Rival()
class Fitting(keras.Sequential):
    def fit(self, *given): ...
def fitting(outputs): return Fitting([keras.layers.Dense(outputs)])
def stepping_inside(outputs):
    return keras.Sequential([Stepping(outputs)])
def gan(): return Gan()
def with_loss(loss):
    model = narrow()
    model.compile("adam", loss)
    return model
def seeded(seed=7): return subclassed(3)
def ctc(): return with_loss(keras.losses.CTC())
def ctc_by_name(): return with_loss("ctc")
def own_loss(): return with_loss({"dense": lambda y, made: made[:, 0]})
def misfit(): return keras.Sequential([keras.layers.Conv2D(3, 3)])
def compiled(outputs):
    model = Net(outputs)
    model.compile(keras.optimizers.SGD(0.0), keras.losses.MeanAbsoluteError())
    return model
def clearing(outputs):
    keras.backend.clear_session()
    return Net(outputs)
"""
)


@pytest.fixture
def file(written: Written) -> Path:
    return written(MODELS, "own_models.py")


def build(path: Path, function: str, seed: int = 0, **options: object) -> Any:
    from gpu_studio.trainer.models import (
        build_model,  # not above: it starts TensorFlow, also where nothing is tested
    )

    return build_model(
        ModelSettings(python=f"{path}:{function}", options=options), DATASET, Path(), seed
    )


@pytest.mark.parametrize("function", ["functional", "sequential", "subclassed"])
def test_that_every_kind_of_model_becomes_one_with_an_input_and_an_output(
    file: Path, function: str
) -> None:
    made = build(file, function)
    assert [tuple(x.shape) for x in (*made.inputs, *made.outputs)] == [(None, 8), (None, 3)]
    assert np.asarray(made(DATASET.train.x)).shape == (len(DATASET.train), 3)


def test_that_a_function_that_clears_the_session_makes_its_model_under_a_strategy(
    file: Path,
) -> None:
    import tensorflow as tf

    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        made = build(file, "clearing")
        assert tf.distribute.get_strategy() is strategy
    assert not tf.distribute.has_strategy()
    assert made.outputs[0].shape == (None, 3)


@pytest.mark.parametrize("function", ["functional", "sequential", "subclassed"])
def test_that_equal_seeds_give_equal_weights(file: Path, function: str) -> None:
    one, other, third = build(file, function), build(file, function), build(file, function, 1)
    for first, second in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)
    assert any(
        (first != second).any()
        for first, second in zip(one.get_weights(), third.get_weights(), strict=True)
    )


def test_that_a_seed_in_the_place_of_the_functions_own_is_told_until_the_plan_names_it(
    file: Path,
) -> None:
    from gpu_studio.trainer.keras_objects.as_compiled import seed_notes
    from gpu_studio.trainer.models import build_model

    (told,) = seed_notes(build(file, "seeded", 3))
    assert told.text == (
        "own_models.py:seeded is given seed=3, which is training.seed, and not its own 7."
    )
    assert told.why == "Write model.options.seed = 7 to keep its own."
    assert seed_notes(build(file, "seeded", 7)) == []
    named = ModelSettings(python=f"{file}:seeded", options={"seed": 7})
    assert seed_notes(build_model(named, DATASET, Path(), 3)) == []
    assert seed_notes(build(file, "subclassed", 3)) == []


def test_that_layers_of_every_kind_of_model_can_be_placed(file: Path) -> None:
    from gpu_studio.trainer.model_layers import placeable_layers

    assert [each.path for each in placeable_layers(build(file, "functional"))] == [
        "scale",
        "first",
        "last",
    ]
    layers = placeable_layers(build(file, "subclassed"))
    assert [each.path.split("/")[0] for each in layers] == ["net", "net"]
    assert layers[1].inputs == (layers[0].path,)


def test_that_options_reach_the_function(file: Path) -> None:
    assert build(file, "functional", units=7).get_layer("first").units == 7


@pytest.mark.parametrize(
    ("function", "logits"), [("subclassed", True), ("shares", False), ("sequential", True)]
)
def test_that_a_model_shows_what_it_ends_in(file: Path, function: str, logits: bool) -> None:
    from gpu_studio.trainer.keras_objects.forms import ends_in_logits

    assert ends_in_logits(build(file, function), DATASET) is logits


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            "nothing",
            UserCodeError,
            "own_models.py:nothing returned nothing where a keras.Model is needed.",
        ),
        (
            "layer",
            UserCodeError,
            "own_models.py:layer returned a Dense where a keras.Model is needed.",
        ),
        ("narrow", ModelError, "own_models.py:narrow ends in outputs of shape (2,), but"),
        (
            "two",
            ModelError,
            "own_models.py:two has 2 outputs (dense and dense_1), and there is 1 target in made",
        ),
        (
            "each",
            ModelError,
            "own_models.py:each ends in outputs of shape (8, 3), but a target of made classes is",
        ),
        ("unlike", ModelError, "own_models.py:unlike takes samples of shape (9,), but one of"),
        ("misfit", UserCodeError, "own_models.py stopped with ValueError: Input 0"),
        (
            "breaking",
            UserCodeError,
            "own_models.py stopped in line 48 with InvalidArgumentError: Matrix",
        ),
    ],
)
def test_that_what_training_cannot_use_is_told(
    file: Path, function: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        build(file, function)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("function", ["ctc", "ctc_by_name", "own_loss"])
def test_that_a_loss_that_aligns_by_itself_decides_about_the_shape_of_the_outputs(
    file: Path, function: str
) -> None:
    assert build(file, function).output_shape == (None, 2)


@pytest.mark.parametrize(
    ("function", "own"),
    [("fitting", "a Fitting with its own fit,"), ("gan", "a Gan that has no method call,")],
)
def test_that_a_model_that_would_train_otherwise_than_here_is_refused(
    file: Path, function: str, own: str
) -> None:
    with pytest.raises(ModelError, match=f"own_models.py:{function} returns {own}") as caught:
        build(file, function)
    assert caught.value.suggestions


@pytest.mark.parametrize(
    ("function", "own"),
    [
        ("stepping", ["train_step"]),
        ("losing", ["compute_loss"]),
        ("testing", ["test_step"]),
        ("patched", ["train_step"]),
        ("rival", ["train_step"]),
    ],
)
def test_that_a_model_with_steps_of_its_own_is_trained_itself_and_built_without_a_step(
    file: Path, function: str, own: list[str]
) -> None:
    from gpu_studio.trainer.answers import building
    from gpu_studio.trainer.models.own_training import own_in_steps

    model = build(file, function)
    facts = building.facts_of(Training(), DATASET, model)
    assert (facts.own_steps, dict(facts.steps)) == (tuple(own), {})
    assert facts.graph is not None
    parameters = sum(int(np.prod(weight.shape)) for weight in model.weights)
    assert sum(layer.parameters for layer in facts.graph.layers) == parameters > 0
    assert own_in_steps(model) == own
    layers = list(model._flatten_layers(include_self=False))
    assert layers
    assert all(layer.built for layer in layers)


def test_that_steps_of_a_model_within_a_model_are_no_matter_as_in_keras(file: Path) -> None:
    assert build(file, "stepping_inside").count_params() == 8 + 8 * 3 + 3


@pytest.mark.parametrize(
    ("function", "settings", "words"),
    [
        ("sequential", {}, ""),
        ("shares", {"optimizer": "sgd"}, ""),
        (
            "sequential",
            {"optimizer": "sgd", "loss": Named("mae")},
            (
                "build is compiled, but the plan's optimizer sgd overrides the compiled Adam and "
                "loss mae overrides the compiled mse."
            ),
        ),
        (
            "compiled",
            {"schedule": Named("cosine")},
            (
                "build is compiled, but the plan's schedule cosine overrides the learning rate of "
                "the compiled SGD."
            ),
        ),
    ],
)
def test_that_it_is_told_what_the_plan_overrides_of_a_compiled_model(
    file: Path, function: str, settings: dict[str, Any], words: str
) -> None:
    from gpu_studio.trainer.keras_objects.as_compiled import compiled_notes

    told = compiled_notes("build", Training(**settings), build(file, function))
    assert " ".join(note.text for note in told) == words


@pytest.mark.parametrize(("steps", "fit_trains"), [(0, None), (8, None), (7, 8)])
def test_that_steps_which_fit_would_train_beyond_an_epoch_are_told(
    file: Path, steps: int, fit_trains: int | None
) -> None:
    """It trains `steps_per_execution` at a time: of 7 steps by 4, eight."""
    from gpu_studio.trainer.keras_objects.as_compiled import compiled_notes

    model = build(file, "sequential")
    model.compile("sgd", "mse", steps_per_execution=4)
    notes = list(compiled_notes("build", Training(steps_per_epoch=steps), model))
    said = [note.why for note in notes if note.name == "steps of fit"]
    wanted = f"Set training.steps_per_epoch = {fit_trains} to train as many."
    assert said == ([] if fit_trains is None else [wanted])
    if fit_trains:
        x = np.zeros((4 * fit_trains, *model.input_shape[1:]), "f4")
        y = np.zeros((4 * fit_trains, *model.output_shape[1:]), "f4")
        model.fit(x, y, batch_size=2, epochs=1, steps_per_epoch=steps, verbose=0)
        assert int(model.optimizer.iterations) == fit_trains


def test_that_a_checkpoint_knows_by_which_code_its_data_were_made(file: Path) -> None:
    from gpu_studio.trainer.session import Session

    parts = SimpleNamespace(cut=SimpleNamespace(samples=9), dataset=DATASET)
    for data, digest_ in (
        (Data(python=f"{file}:load"), digest(MODELS.encode())),
        (Data(name="digits"), None),
    ):
        parts.plan = Plan(data=data)
        assert Session.identity(parts)["data_code"] == digest_


COUNTED = """
import keras

def build(mode, input_shape, split="whitespace"):
    words = keras.layers.TextVectorization(output_mode=mode, split=split)
    words.adapt(["a b", "b c"])
    texts = keras.Input(input_shape, dtype="string")
    return keras.Model(texts, keras.layers.Dense(1, activation="sigmoid")(words(texts)))
"""


@pytest.mark.parametrize(
    ("shape", "options"),
    [((1,), {"mode": mode}) for mode in ("multi_hot", "count", "tf_idf")]
    + [((), {"mode": "count"}), ((1,), {"mode": "count", "split": None})],
)
def test_that_a_model_that_counts_words_has_the_shape_that_it_gives(written, shape, options):
    from gpu_studio.trainer.models import build_model

    x = np.array([b"a b", b"c", b"a", b""]).reshape(-1, *shape)
    whole = Split(x, np.array([0, 1, 1, 0], np.int32))
    dataset = Dataset("texts", whole, None, None, target_of([whole]))
    settings = ModelSettings(python=f"{written(COUNTED, 'counted.py')}:build", options=options)
    made = build_model(settings, dataset, Path(), 0)
    assert tuple(made.outputs[0].shape) == (None, 1)
    assert np.asarray(made(x)).shape == (4, 1)
