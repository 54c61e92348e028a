"""A small U-Net that marks the cells in a picture, with an overlap as its metric."""

import keras
import numpy as np
from keras import layers


def load():
    rng = np.random.default_rng(6)
    rows, columns = np.mgrid[:16, :16]
    centres = rng.integers(3, 13, (70, 2, 1, 1))
    masks = ((rows - centres[:, 0]) ** 2 + (columns - centres[:, 1]) ** 2 < 10)[..., None]
    images = 0.7 * masks + rng.uniform(0, 0.4, masks.shape)
    return images.astype("float32"), masks.astype("uint8")


def block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


def make_model():
    inputs = keras.Input((16, 16, 1))
    fine = block(inputs, 4)
    middle = block(layers.MaxPooling2D()(fine), 8)
    coarse = block(layers.MaxPooling2D()(middle), 8)
    x = block(layers.Concatenate()([layers.UpSampling2D()(coarse), middle]), 8)
    x = block(layers.Concatenate()([layers.UpSampling2D()(x), fine]), 4)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile(
        optimizer=keras.optimizers.Adam(3e-3),
        loss="binary_crossentropy",
        metrics=["accuracy", keras.metrics.BinaryIoU(target_class_ids=[1], name="iou")],
    )
    return model
