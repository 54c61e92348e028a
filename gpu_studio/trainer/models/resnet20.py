"""The 20-layer residual network for CIFAR.

It has 0.27 million parameters on CIFAR-10 (table 6 of the paper). The paper's weight decay of
0.0001 belongs to the optimizer (`weight_decay`).
"""

from __future__ import annotations

import keras


def resnet20(x: keras.KerasTensor) -> keras.KerasTensor:
    """The 20-layer residual network for CIFAR, for images of any size.

    He, Zhang, Ren, Sun 2015, "Deep residual learning for image recognition"
    (arXiv:1512.03385), section 4.2: 6n + 2 layers with n = 3, on maps of full, half and
    quarter size, with shortcuts that have no parameters (option A).
    """
    x = convolved(x, 16, 1, "first")
    x = keras.layers.ReLU(name="first_relu")(x)
    for stage, width in enumerate((16, 32, 64), start=1):
        for number in (1, 2, 3):
            stride = 2 if number == 1 and stage > 1 else 1
            x = block(x, width, stride, f"stage{stage}_block{number}")
    return keras.layers.GlobalAveragePooling2D(name="average")(x)


def block(
    x: keras.KerasTensor,
    width: int,
    stride: int,
    name: str,
) -> keras.KerasTensor:
    """Two convolutions that learn what to add to the block's input."""
    residual = convolved(x, width, stride, f"{name}_a")
    residual = keras.layers.ReLU(name=f"{name}_a_relu")(residual)
    residual = convolved(residual, width, 1, f"{name}_b")
    if stride > 1:
        x = shortcut(x, width, stride, f"{name}_shortcut")
    total = keras.layers.Add(name=f"{name}_add")([residual, x])
    return keras.layers.ReLU(name=f"{name}_relu")(total)


def convolved(
    x: keras.KerasTensor,
    width: int,
    stride: int,
    name: str,
) -> keras.KerasTensor:
    """A convolution of 3 × 3 with batch normalisation, which makes a bias needless."""
    x = keras.layers.Conv2D(
        width,
        3,
        stride,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        name=f"{name}_conv",
    )(x)
    # A momentum of 0.9 lets the statistics follow the last tens of steps: with Keras'
    # own 0.99, a short run would still be evaluated with their initial values.
    return keras.layers.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        name=f"{name}_norm",
    )(x)


def shortcut(
    x: keras.KerasTensor,
    width: int,
    stride: int,
    name: str,
) -> keras.KerasTensor:
    """Every second pixel, with channels of zeros on both sides: no parameters."""
    x = keras.layers.MaxPooling2D(1, strides=stride, name=f"{name}_subsample")(x)
    rows, columns, channels = x.shape[1:]
    before = (width - channels) // 2
    padding = ((0, 0), (before, width - channels - before))
    # Keras pads the two middle axes only: the channels become one for a moment.
    x = keras.layers.Reshape((rows * columns, channels, 1), name=f"{name}_lay_open")(x)
    x = keras.layers.ZeroPadding2D(padding, name=f"{name}_pad")(x)
    return keras.layers.Reshape((rows, columns, width), name=f"{name}_put_back")(x)
