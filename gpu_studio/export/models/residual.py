"""The residual network."""

from __future__ import annotations

from itertools import pairwise

from gpu_studio.export.facts import Facts
from gpu_studio.export.models.piece import Piece

_BEFORE = '''\
def convolved(x, width, stride, name, rectified=True):
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
    # A momentum of 0.9 lets the statistics follow the last tens of steps: with Keras' own
    # 0.99, a short run would still be evaluated with their initial values.
    x = keras.layers.BatchNormalization(
        momentum=0.9, epsilon=1e-5, name=f"{name}_norm"
    )(x)
    return keras.layers.ReLU(name=f"{name}_relu")(x) if rectified else x


def shortcut(x, width, stride, name):
    """Every second pixel, with channels of zeros on both sides: no parameters."""
    x = keras.layers.MaxPooling2D(1, strides=stride, name=f"{name}_subsample")(x)
    rows, columns, channels = x.shape[1:]
    before = (width - channels) // 2
    after = width - channels - before
    # Keras pads the two middle axes only, so the channels become one of them for a moment.
    x = keras.layers.Reshape((rows * columns, channels, 1), name=f"{name}_lay_open")(x)
    x = keras.layers.ZeroPadding2D(((0, 0), (before, after)), name=f"{name}_pad")(x)
    return keras.layers.Reshape((rows, columns, width), name=f"{name}_put_back")(x)


def block(x, width, stride, name):
    """Two convolutions that learn what to add to the block's input."""
    residual = convolved(x, width, stride, f"{name}_a")
    residual = convolved(residual, width, 1, f"{name}_b", rectified=False)
    if stride > 1:
        x = shortcut(x, width, stride, f"{name}_shortcut")
    total = keras.layers.Add(name=f"{name}_add")([residual, x])
    return keras.layers.ReLU(name=f"{name}_relu")(total)
'''

_LAYERS = """\
    x = convolved(inputs, 16, 1, "first")
    for stage, width in enumerate((16, 32, 64), start=1):
        for number in (1, 2, 3):
            stride = 2 if number == 1 and stage > 1 else 1
            x = block(x, width, stride, f"stage{stage}_block{number}")
    x = keras.layers.GlobalAveragePooling2D(name="average")(x)"""


def resnet20(_facts: Facts) -> Piece:
    """The 20-layer residual network for CIFAR."""
    words = "The 20-layer residual network of He et al. 2015, arXiv:1512.03385, 4.2."
    return Piece(words, _LAYERS, _BEFORE, _feeds())


def _feeds() -> dict[str, tuple[str, ...]]:
    found = _chained(["first_conv", "first_norm", "first_relu"], "")
    for stage in (1, 2, 3):
        for number in (1, 2, 3):
            found |= _block(f"stage{stage}_block{number}", next(reversed(found)), halves=number == 1 and stage > 1)
    return found | {"average": (next(reversed(found)),)}


def _block(name: str, before: str, *, halves: bool) -> dict[str, tuple[str, ...]]:
    parts = ["a_conv", "a_norm", "a_relu", "b_conv", "b_norm"]
    found = _chained([f"{name}_{part}" for part in parts], before)
    if halves:
        parts = ["subsample", "lay_open", "pad", "put_back"]
        found |= _chained([f"{name}_shortcut_{part}" for part in parts], before)
    added = (f"{name}_b_norm", f"{name}_shortcut_put_back" if halves else before)
    return found | {f"{name}_add": added, f"{name}_relu": (f"{name}_add",)}


def _chained(names: list[str], before: str) -> dict[str, tuple[str, ...]]:
    return {name: (of,) if of else () for of, name in pairwise([before, *names])}
