"""Eight models of kinds that no built-in model is, saved with data for them: `python models_to_measure.py FOLDER`.

Prints by the name of each how it is trained. Their sizes are odd on purpose: a prediction must not know them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

CLASSES, SAMPLES, TOKENS = 10, 100, 5000
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


def recurrent() -> Any:
    """An LSTM over 50 steps."""
    return keras.Sequential([keras.Input((50, 32)), L.LSTM(128), L.Dense(CLASSES)])


def u_net(filters: int) -> Any:
    """Down once and up again, with what was skipped beside it."""
    inputs = keras.Input((48, 48, 3))
    high = L.Conv2D(filters, 3, padding="same", activation="relu")(inputs)
    low = L.Conv2D(2 * filters, 3, padding="same", activation="relu")(L.MaxPooling2D(2)(high))
    joined = L.Concatenate()([L.UpSampling2D(2)(low), high])
    x = L.Conv2D(filters, 3, padding="same", activation="relu")(joined)
    return keras.Model(inputs, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(x)))


def separable(*filters: int) -> Any:
    """Depthwise separable convolutions."""
    layers = [L.SeparableConv2D(count, 3, padding="same", activation="relu") for count in filters]
    return keras.Sequential([keras.Input((32, 32, 3)), *layers, L.GlobalAveragePooling2D(), L.Dense(CLASSES)])


def pooled(*filters: int) -> Any:
    """Convolutions, each halved."""
    layers = [layer for count in filters for layer in (L.Conv2D(count, 3, activation="relu"), L.MaxPooling2D(2))]
    return keras.Sequential([keras.Input((32, 32, 3)), *layers, L.Flatten(), L.Dense(CLASSES)])


MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "convolutions": (lambda: convolutions((32, 32, 3), 32, 64, 64), {"batch_size": 64}),
    "normalised": (lambda: convolutions((32, 32, 3), 32, 64, 128, normalised=True), {"batch_size": 200}),
    "wide": (lambda: dense(100, 1024, 1024, 1024, 1024), {"batch_size": 16}),
    "wide-sgd": (lambda: dense(100, 2048, 2048), {"batch_size": 32, "optimizer": "sgd"}),
    "lstm": (recurrent, {"batch_size": 64}),
    "u-net": (lambda: u_net(24), {"batch_size": 20}),
    "separable": (lambda: separable(32, 64, 96), {"batch_size": 64}),
    "bfloat16": (lambda: pooled(32, 64), {"batch_size": 64, "mixed_precision": True}),
}


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
