"""Models of kinds that no built-in model is, saved with data for them.

`python models_to_measure.py FOLDER NAME…`.

Prints by the name of each how it is trained. Eight are as they are written here; eight more are
drawn from a seed that nobody chose for what comes out of it: what was tuned to the others is held
against these."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np

CLASSES, SAMPLES = 10, 100
SEED = 20261122
"""The day on which the drawn models were first measured, written down before they were."""
OPTIMIZERS = ("adam", "sgd", "rmsprop", "adamw")
L = keras.layers


def convolutions(shape: tuple[int, ...], *filters: int, normalised: bool = False) -> Any:
    """Plain convolutions; or, normalised, each with batch normalisation and pooling."""
    inputs = x = keras.Input(shape)
    for count in filters:
        x = L.Conv2D(count, 3, padding="same", activation=None if normalised else "relu")(x)
        if normalised:
            x = L.MaxPooling2D(2)(L.ReLU()(L.BatchNormalization()(x)))
    return keras.Model(inputs, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(x)))


def dense(features: int, *units: int) -> Any:
    """Wide layers."""
    layers = [L.Dense(count, activation="relu") for count in units]
    return keras.Sequential([keras.Input((features,)), *layers, L.Dense(CLASSES)])


def recurrent(turns: int, features: int, units: int, kind: type[Any] = L.LSTM) -> Any:
    """One recurrent layer over so many turns."""
    return keras.Sequential([keras.Input((turns, features)), kind(units), L.Dense(CLASSES)])


def u_net(side: int, filters: int) -> Any:
    """Down once and up again, with what was skipped beside it."""
    inputs = keras.Input((side, side, 3))
    high = L.Conv2D(filters, 3, padding="same", activation="relu")(inputs)
    low = L.Conv2D(2 * filters, 3, padding="same", activation="relu")(L.MaxPooling2D(2)(high))
    joined = L.Concatenate()([L.UpSampling2D(2)(low), high])
    x = L.Conv2D(filters, 3, padding="same", activation="relu")(joined)
    return keras.Model(inputs, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(x)))


def separable(*filters: int) -> Any:
    """Depthwise separable convolutions."""
    layers = [L.SeparableConv2D(count, 3, padding="same", activation="relu") for count in filters]
    return keras.Sequential(
        [keras.Input((32, 32, 3)), *layers, L.GlobalAveragePooling2D(), L.Dense(CLASSES)]
    )


def pooled(*filters: int) -> Any:
    """Convolutions, each halved."""
    layers = [
        layer
        for count in filters
        for layer in (L.Conv2D(count, 3, activation="relu"), L.MaxPooling2D(2))
    ]
    return keras.Sequential([keras.Input((32, 32, 3)), *layers, L.Flatten(), L.Dense(CLASSES)])


def residual(side: int, filters: int, blocks: int) -> Any:
    """Blocks of two normalised convolutions, each with a path around it."""
    inputs = keras.Input((side, side, 3))
    x = L.Conv2D(filters, 3, padding="same")(inputs)
    for _ in range(blocks):
        inner = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 3, padding="same")(x)))
        x = L.ReLU()(
            L.Add()([x, L.BatchNormalization()(L.Conv2D(filters, 3, padding="same")(inner))])
        )
    return keras.Model(inputs, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(x)))


def attentive(turns: int, heads: int, width: int, blocks: int) -> Any:
    """Blocks of attention and two dense layers, `width` to a head."""
    inputs = keras.Input((turns, 16))
    x = L.Dense(heads * width)(inputs)
    for _ in range(blocks):
        x = L.LayerNormalization()(x + L.MultiHeadAttention(heads, width)(x, x))
        x = L.LayerNormalization()(
            x + L.Dense(heads * width)(L.Dense(4 * heads * width, activation="gelu")(x))
        )
    return keras.Model(inputs, L.Dense(CLASSES)(L.GlobalAveragePooling1D()(x)))


Made = tuple[Callable[[], Any], dict[str, Any]]
"""What makes a model, and how it is trained."""


def drawn(chance: random.Random) -> dict[str, Made]:
    """One model of each of eight kinds, of random sizes."""

    def training(least: int, most: int) -> dict[str, Any]:
        mixed = chance.random() < 0.25
        return {
            "batch_size": chance.randint(least, most),
            "optimizer": chance.choice(OPTIMIZERS),
            "mixed_precision": mixed,
        }

    def sizes(least: int, most: int, *, few: int = 2, many: int = 4) -> list[int]:
        return [chance.randint(least, most) for _ in range(chance.randint(few, many))]

    side = (chance.randint(20, 48),) * 2
    kinds: dict[str, Callable[..., Any]] = {
        "convolutions": partial(convolutions, (*side, 3), *sizes(12, 96)),
        "normalised": partial(convolutions, (*side, 3), *sizes(12, 96, many=3), normalised=True),
        "dense": partial(dense, chance.randint(30, 800), *sizes(200, 2000, few=1)),
        "recurrent": partial(
            recurrent,
            chance.randint(20, 80),
            chance.randint(8, 64),
            chance.randint(32, 256),
            chance.choice((L.LSTM, L.GRU)),
        ),
        "u-net": partial(u_net, 2 * chance.randint(10, 30), chance.randint(8, 40)),
        "separable": partial(separable, *sizes(16, 128)),
        "residual": partial(
            residual, chance.randint(16, 40), chance.randint(8, 48), chance.randint(1, 4)
        ),
        "attention": partial(
            attentive,
            chance.randint(16, 64),
            chance.randint(2, 6),
            chance.randint(8, 32),
            chance.randint(1, 3),
        ),
    }
    return {f"drawn {name}": (make, training(8, 160)) for name, make in kinds.items()}


WRITTEN: dict[str, Made] = {
    "convolutions": (lambda: convolutions((32, 32, 3), 32, 64, 64), {"batch_size": 64}),
    "normalised": (
        lambda: convolutions((32, 32, 3), 32, 64, 128, normalised=True),
        {"batch_size": 200},
    ),
    "wide": (lambda: dense(100, 1024, 1024, 1024, 1024), {"batch_size": 16}),
    "wide-sgd": (lambda: dense(100, 2048, 2048), {"batch_size": 32, "optimizer": "sgd"}),
    "lstm": (lambda: recurrent(50, 32, 128), {"batch_size": 64}),
    "u-net": (lambda: u_net(48, 24), {"batch_size": 20}),
    "separable": (lambda: separable(32, 64, 96), {"batch_size": 64}),
    "bfloat16": (lambda: pooled(32, 64), {"batch_size": 64, "mixed_precision": True}),
}
MODELS = WRITTEN | drawn(random.Random(SEED))


def main(folder: Path, names: list[str]) -> None:
    """Save those models, and data for each."""
    chance = np.random.default_rng(0)
    for name in names or MODELS:
        make, _ = MODELS[name]
        model = make()
        model.save(folder / f"{name}.keras")
        x = chance.standard_normal((SAMPLES, *model.input_shape[1:]), np.float32)
        np.savez(folder / f"{name}.npz", x=x, y=np.arange(SAMPLES) % CLASSES)
    sys.stdout.write(json.dumps({name: MODELS[name][1] for name in names or MODELS}) + "\n")


main(Path(sys.argv[1]), sys.argv[2:])
