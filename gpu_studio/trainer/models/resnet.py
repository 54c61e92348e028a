"""The 20-layer residual network for CIFAR.

He, Zhang, Ren, Sun 2015, "Deep residual learning for image recognition" (arXiv:1512.03385), section 4.2: 6n + 2 layers
with n = 3; widths 16, 32, 64 on maps of full, half and quarter size; shortcuts without parameters (option A); 0.27
million parameters on CIFAR-10 (table 6). The paper's weight decay of 0.0001 belongs to the optimizer (`weight_decay`).
"""

from __future__ import annotations

from typing import Any

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.blocks import normed, outputs

_BLOCKS = 3
_WIDTHS = (16, 32, 64)


def resnet20(dataset: Dataset) -> keras.Model:
    """Everything is padded: images of any size."""
    inputs = keras.Input(dataset.sample_shape, name="inputs")
    x = _convolved(inputs, _WIDTHS[0], 1, "first")
    for stage, width in enumerate(_WIDTHS, start=1):
        for block in range(1, _BLOCKS + 1):
            halved = block == 1 and stage > 1
            x = _block(x, width, 2 if halved else 1, f"stage{stage}_block{block}")
    x = keras.layers.GlobalAveragePooling2D(name="average")(x)
    return keras.Model(inputs, outputs(x, dataset.outputs), name="resnet20")


def _block(x: Any, width: int, stride: int, name: str) -> Any:
    """Two convolutions, with the block's input added before the last rectifier."""
    residual = _convolved(x, width, stride, f"{name}_a")
    residual = _convolved(residual, width, 1, f"{name}_b", rectified=False)
    shortcut = x if stride == 1 else _shortcut(x, width, stride, f"{name}_shortcut")
    total = keras.layers.Add(name=f"{name}_add")([residual, shortcut])
    return keras.layers.ReLU(name=f"{name}_relu")(total)


def _convolved(x: Any, width: int, stride: int, name: str, *, rectified: bool = True) -> Any:
    x = keras.layers.Conv2D(
        width, 3, stride, padding="same", use_bias=False, kernel_initializer="he_normal", name=f"{name}_conv"
    )(x)
    x = normed(x, f"{name}_norm")
    return keras.layers.ReLU(name=f"{name}_relu")(x) if rectified else x


def _shortcut(x: Any, width: int, stride: int, name: str) -> Any:
    """Option A: every second pixel, and channels of zeros added on both sides. It has no parameters.

    Made of Keras' own layers, so that a saved model needs nothing of GPU Studio: Keras pads only the two middle axes,
    so the channels become one of them for a moment.
    """
    layers = keras.layers
    x = layers.MaxPooling2D(1, strides=stride, name=f"{name}_subsample")(x)
    rows, columns, channels = x.shape[1:]
    before = (width - channels) // 2
    x = layers.Reshape((rows * columns, channels, 1), name=f"{name}_lay_open")(x)
    x = layers.ZeroPadding2D(((0, 0), (before, width - channels - before)), name=f"{name}_pad")(x)
    return layers.Reshape((rows, columns, width), name=f"{name}_put_back")(x)
