"""LeNet as Caffe and DIGITS ship it, with a dense layer of 128.

After LeCun et al. 1998, "Gradient-based learning applied to document recognition": two convolutions, each followed by
pooling. Caffe's variant has 20 and 50 full feature maps, maxima instead of trainable averages, and rectified units.
"""

from __future__ import annotations

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.models.blocks import dropped, outputs


def lenet(dataset: Dataset, *, dropout: float) -> keras.Model:
    """Convolutions of 5 × 5 without padding: images of at least 16 × 16."""
    x = inputs = keras.Input(dataset.sample_shape, name="inputs")
    for number, filters in enumerate((20, 50), start=1):
        x = keras.layers.Conv2D(filters, 5, activation="relu", name=f"conv{number}")(x)
        x = keras.layers.MaxPooling2D(2, name=f"pool{number}")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    x = keras.layers.Dense(128, activation="relu", name="dense")(x)
    x = dropped(x, dropout, "dropout")
    return keras.Model(inputs, outputs(x, dataset.outputs), name="lenet")
