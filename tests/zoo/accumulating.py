"""Gradients of two batches before each update, a restarting cosine, and weights kept in bounds."""

import keras
import numpy as np
from keras import layers


def load():
    x = np.random.default_rng(8).normal(size=(90, 6)).astype("float32")
    return x, (x[:, 0] + x[:, 1] > 0).astype("int32")


def make_model():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, "relu", kernel_constraint=keras.constraints.MaxNorm(1.0)),
            layers.Dense(2, "softmax"),
        ]
    )
    rate = keras.optimizers.schedules.CosineDecayRestarts(0.05, 3)
    model.compile(
        keras.optimizers.AdamW(
            rate, weight_decay=0.01, gradient_accumulation_steps=2, global_clipnorm=0.5
        ),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model
