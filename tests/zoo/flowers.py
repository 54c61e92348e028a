"""Pictures through a `tf.data` pipeline with its own validation set; scaled in the model."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def load():
    rng = np.random.default_rng(17)
    kinds = rng.integers(0, 3, 110)
    pictures = (rng.uniform(0, 160, (110, 10, 10, 3)) + 40 * kinds[:, None, None, None]).astype(
        "uint8"
    )
    data = tf.data.Dataset.from_tensor_slices((pictures, kinds))
    data = data.map(lambda picture, kind: (tf.image.flip_left_right(picture), kind))
    train = data.take(90).cache().shuffle(60, seed=5).batch(20).prefetch(2)
    return train, data.skip(90).batch(20)


def make_model():
    model = keras.Sequential(
        [
            keras.Input((10, 10, 3)),
            layers.Rescaling(1 / 255),
            layers.Conv2D(8, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
