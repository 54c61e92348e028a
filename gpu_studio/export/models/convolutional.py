"""Convolutions, one after another."""

from __future__ import annotations

from typing import Any

from gpu_studio.export.facts import Facts
from gpu_studio.export.models.piece import Piece, dropout, layer

_NORM: dict[str, Any] = {"momentum": 0.9, "epsilon": 1e-5}
_MOMENTUM = """\
    # A momentum of 0.9 lets the statistics follow the last tens of steps: with Keras' own
    # 0.99, a short run would still be evaluated with their initial values."""


def cnn(facts: Facts) -> Piece:
    """One convolution, pooling, one dense layer."""
    lines = [
        layer("Conv2D", "32", "3", of="inputs", activation="relu", name="conv"),
        layer("MaxPooling2D", "2", name="pool"),
        layer("Flatten", name="flatten"),
        layer("Dense", "64", activation="relu", name="dense"),
        *dropout(facts.model_options["dropout"], "dropout"),
    ]
    return Piece("One convolution, pooling, and a dense layer.", "\n".join(lines))


def lenet(facts: Facts) -> Piece:
    """Two convolutions and a dense layer."""
    lines = [
        layer("Conv2D", "20", "5", of="inputs", activation="relu", name="conv1"),
        layer("MaxPooling2D", "2", name="pool1"),
        layer("Conv2D", "50", "5", activation="relu", name="conv2"),
        layer("MaxPooling2D", "2", name="pool2"),
        layer("Flatten", name="flatten"),
        layer("Dense", "128", activation="relu", name="dense"),
        *dropout(facts.model_options["dropout"], "dropout"),
    ]
    words = "Two convolutions and a dense layer, as Caffe has them (LeCun et al. 1998)."
    return Piece(words, "\n".join(lines))


def cifar_cnn(_facts: Facts) -> Piece:
    """The tower of TensorFlow's CIFAR-10 tutorial."""
    padded: dict[str, Any] = {"padding": "same", "activation": "relu"}
    halved: dict[str, Any] = {"strides": 2, "padding": "same"}
    lines = [
        layer("Conv2D", "64", "5", of="inputs", **padded, name="conv1"),
        layer("MaxPooling2D", "3", **halved, name="pool1"),
        _MOMENTUM,
        layer("BatchNormalization", **_NORM, name="norm1"),
        layer("Conv2D", "64", "5", **padded, name="conv2"),
        layer("BatchNormalization", **_NORM, name="norm2"),
        layer("MaxPooling2D", "3", **halved, name="pool2"),
        layer("Flatten", name="flatten"),
        layer("Dense", "384", activation="relu", name="local3"),
        layer("Dense", "192", activation="relu", name="local4"),
    ]
    return Piece("Two convolutions with batch normalisation, after Krizhevsky's cuda-convnet.", "\n".join(lines))
