"""Data and models of several inputs and outputs, as a user's own file has them.

Each case is a pair of functions, `NAME_data` and `NAME_model`, and what `compile` is given. A run
calls them by the plan's reference; Keras' own `fit` is given what they return.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

SAMPLES = 90
L: Any = keras.layers
_draw = np.random.default_rng(11)
LEFT = _draw.normal(size=(SAMPLES, 6)).astype(np.float32)
RIGHT = _draw.normal(size=(SAMPLES, 3, 2))
IDS = _draw.integers(0, 9, SAMPLES)
KIND = (np.abs(LEFT).sum(axis=1) * 10).astype(int) % 4
SIZE = LEFT[:, :1] * 2 - RIGHT[:, 0, :1]
SPOTS = (RIGHT > 0).astype(np.uint8)
WEIGHTS = _draw.uniform(0, 3, SAMPLES)
WORDS = np.array(["red green", "blue", "green blue red", ""])[KIND]
STEPS = _draw.integers(0, 5, (SAMPLES, 4)).astype(np.int32)


def two_inputs_data() -> Any:
    return {"right": RIGHT, "left": LEFT}, KIND


def two_inputs_model() -> Any:
    left, right = keras.Input((6,), name="left"), keras.Input((3, 2), name="right")
    x = L.Concatenate()([L.Dense(5, activation="relu")(left), L.Flatten()(right)])
    return keras.Model([left, right], L.Dense(4)(x))


def two_outputs_data() -> Any:
    return LEFT, (KIND, SIZE)


def two_outputs_model() -> Any:
    x = keras.Input((6,))
    hidden = L.Dense(8, activation="relu")(x)
    return keras.Model(x, [L.Dense(4, name="kind")(hidden), L.Dense(1, name="size")(hidden)])


class Both(keras.Model):  # type: ignore[misc]
    """A model that is no graph, with dictionaries in and out."""

    def __init__(self) -> None:
        super().__init__()
        self.shared, self.kind = L.Dense(8, activation="tanh"), L.Dense(4, activation="softmax")
        self.size = L.Dense(1)

    def call(self, given: Any) -> Any:
        x = self.shared(keras.ops.concatenate([given["b"], given["a"]], axis=-1))
        return {"size": self.size(x), "kind": self.kind(x)}


def dicts_data() -> Any:
    return {"x": {"b": LEFT, "a": SIZE}, "y": {"size": SIZE + 1, "kind": KIND}}


def dicts_model() -> Any:
    return Both()


def weights_data() -> Any:
    return LEFT, KIND, WEIGHTS


def weights_model() -> Any:
    return keras.Sequential([L.Dense(6, activation="relu"), L.Dense(4)])


def each_weighed_data() -> Any:
    return {"x": LEFT, "y": (KIND, SIZE), "sample_weight": (WEIGHTS, WEIGHTS[::-1].copy())}


each_weighed_model = two_outputs_model


def nested_data() -> Any:
    return {
        "x": ({"deep": (LEFT, RIGHT)}, IDS),
        "y": {"one": {"value": SIZE}, "two": {"spots": SPOTS}},
    }


class Deep(keras.Model):  # type: ignore[misc]
    """A model of structures within structures."""

    def __init__(self) -> None:
        super().__init__()
        self.ids, self.left, self.right = L.Embedding(9, 3), L.Dense(4), L.Dense(2)
        self.one, self.two = L.Dense(1), L.Dense(2, activation="sigmoid")

    def call(self, given: Any) -> Any:
        (left, right), ids = given[0]["deep"], given[1]
        x = keras.ops.concatenate([self.left(left), self.ids(ids)], axis=-1)
        spots = self.right(right) + keras.ops.mean(x, axis=-1)[:, None, None]
        return {"one": {"value": self.one(x)}, "two": {"spots": self.two(spots)}}


def nested_model() -> Any:
    return Deep()


def texts_data() -> Any:
    return {"words": WORDS, "numbers": LEFT}, KIND


def texts_model() -> Any:
    words, numbers = (
        keras.Input((), dtype="string", name="words"),
        keras.Input((6,), name="numbers"),
    )
    known = L.TextVectorization(vocabulary=["red", "green", "blue"], output_sequence_length=3)
    x = L.Flatten()(L.Embedding(5, 3)(known(words)))
    return keras.Model(
        {"words": words, "numbers": numbers},
        L.Dense(4)(L.Concatenate()([x, L.Dense(3, activation="relu")(numbers)])),
    )


WHOLE = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "bool"]
TYPES = [*WHOLE, "float16", "float32", "float64", "string"]


def code_of(tensor: Any) -> float:
    """A number for the type of what a model, or a metric, is given."""
    return float(TYPES.index(keras.backend.standardize_dtype(tensor.dtype))) / len(TYPES)


def types_data() -> Any:
    shapes = [(SAMPLES, *(2,) * (place % 4)) for place in range(len(TYPES))]
    pairs = zip(TYPES[:-1], shapes, strict=False)
    x = {kind: np.resize(KIND > 1, shape).astype(kind) for kind, shape in pairs}
    y = {kind: (KIND > 1).astype(kind)[:, None] for kind in TYPES[:-1]}
    weights = {kind: KIND.astype(kind) for kind in y}
    return {"x": {**x, "string": WORDS}, "y": y, "sample_weight": weights}


class Typed(keras.Model):  # type: ignore[misc]
    """A model that goes by the types of its inputs, as `tf.image.convert_image_dtype` does."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = {kind: L.Dense(1) for kind in TYPES[:-1]}

    def call(self, given: Any) -> Any:
        told = [code_of(given["string"])]
        for place, name in enumerate(TYPES[:-1]):
            numbers = keras.ops.reshape(
                keras.ops.cast(given[name], "float32"), (-1, 2 ** (place % 4))
            )
            told.append(code_of(given[name]) * keras.ops.mean(numbers, axis=1, keepdims=True))
        return {name: end(sum(told[1:], told[0])) for name, end in self.ends.items()}


def type_of(y_true: Any, y_pred: Any) -> Any:
    """A metric that goes by the type of its targets."""
    return code_of(y_true) + 0 * keras.ops.mean(y_pred, axis=-1)


def types_model() -> Any:
    model = Typed()
    model.compile("sgd", **compiled("types"))
    return model


class Reconstructing(L.Layer):  # type: ignore[misc]
    """Adds what is lost in a bottleneck as its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.wide = L.Dense(2), L.Dense(6)

    def call(self, x: Any) -> Any:
        made = self.wide(self.narrow(x))
        self.add_loss(keras.ops.mean(keras.ops.square(made - x)))
        return made


def no_targets_data() -> Any:
    return LEFT, None


def no_targets_model() -> Any:
    x = keras.Input((6,))
    return keras.Model(x, Reconstructing()(x))


def masked_data() -> Any:
    return STEPS, ((STEPS + 1) % 5, KIND), WEIGHTS[:, None]


def masked_model() -> Any:
    x = keras.Input((4,), dtype="int32")
    known = L.Embedding(5, 4, mask_zero=True)(x)
    pooled = L.GlobalAveragePooling1D()(known)
    return keras.Model(x, (L.Dense(5, name="step")(known), L.Dense(4, name="kind")(pooled)))


def single_numbers_data() -> Any:
    return LEFT[:, 0], SIZE[:, 0]


def single_numbers_model() -> Any:
    x = keras.Input((1,))
    return keras.Model(x, L.Dense(1)(L.Dense(4, activation="tanh")(x)))


def transfer_data() -> Any:
    return LEFT, KIND


def transfer_model() -> Any:
    inside = keras.Input((6,))
    x = L.Dense(7, activation="relu", name="a", kernel_regularizer="l2")(inside)
    x = L.Dense(5, activation="tanh", name="b")(L.BatchNormalization(name="bn")(x))
    base = keras.Model(inside, x, name="base")
    given = keras.Input((6,))
    return keras.Model(given, L.Dense(4, name="head")(base(given)))


transfer_frozen_data = transfer_data


def transfer_frozen_model() -> Any:
    model = transfer_model()
    model.get_layer("base").trainable = False
    return model


def compiled(name: str) -> dict[str, Any]:
    """What `compile` is given besides the optimizer, to do what the plan of a case says."""
    scores = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy, error = "accuracy", "mean_absolute_error"
    both = {
        "loss": {"kind": scores, "size": "mse"},
        "metrics": {"kind": [accuracy], "size": [error]},
    }
    found: dict[str, dict[str, Any]] = {
        "two_outputs": {**both, "loss_weights": {"kind": 0.5, "size": 2.0}},
        "each_weighed": both,
        "dicts": {
            "loss": {"kind": "sparse_categorical_crossentropy", "size": "mae"},
            "metrics": {"kind": [accuracy, "sparse_top_k_categorical_accuracy"], "size": []},
            "loss_weights": {"kind": 1.0, "size": 0.25},
        },
        "nested": {
            "loss": {"one": {"value": "mse"}, "two": {"spots": "binary_crossentropy"}},
            "metrics": None,
        },
        "types": {
            "loss": dict.fromkeys(TYPES[:-1], "mse"),
            "metrics": {kind: [type_of] for kind in TYPES[:-1]},
        },
        "no_targets": {"loss": None, "metrics": None},
        "single_numbers": {"loss": "mse", "metrics": [error]},
        "masked": {"loss": [scores, scores], "metrics": None},
    }
    return found.get(name, {"loss": scores, "metrics": [accuracy]})


SETTINGS: dict[str, list[str]] = {
    "two_outputs": [
        "training.outputs.kind.loss_weight=0.5",
        "training.outputs.size.loss_weight=2.0",
    ],
    "dicts": [
        'training.outputs.kind.metrics=["auto", "sparse_top_k_categorical_accuracy"]',
        'training.outputs.size={ loss = "mae", loss_weight = 0.25, metrics = [] }',
    ],
    "nested": ["training.metrics=[]"],
    "no_targets": ["training.metrics=[]"],
    "masked": ["training.metrics=[]"],
}
"""What the plan of a case says besides `auto`."""
