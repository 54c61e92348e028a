"""Who takes up a loan: named columns, numbers and texts, prepared inside the model."""

import keras
import numpy as np
from keras import layers

JOBS = ["clerk", "farmer", "nurse", "student"]


def columns():
    rng = np.random.default_rng(10)
    table = {
        "age": rng.uniform(18, 80, (100, 1)).astype("float32"),
        "job": rng.choice(JOBS, (100, 1)),
        "calls": rng.integers(0, 5, (100, 1)),
    }
    return table, ((table["age"][:, 0] > 50) ^ (table["calls"][:, 0] > 3)).astype("int32")


def load():
    return columns()


def make_model():
    table, _ = columns()
    age = keras.Input((1,), name="age")
    job = keras.Input((1,), name="job", dtype="string")
    calls = keras.Input((1,), name="calls", dtype="int64")
    scaled = layers.Normalization()
    scaled.adapt(table["age"])
    looked_up = layers.StringLookup(vocabulary=JOBS, output_mode="one_hot")
    counted = layers.CategoryEncoding(num_tokens=5, output_mode="one_hot")
    x = layers.Concatenate()([scaled(age), looked_up(job), counted(calls)])
    x = layers.Dense(16, activation="relu")(x)
    outputs = layers.Dense(1, activation="sigmoid")(x)
    model = keras.Model({"age": age, "job": job, "calls": calls}, outputs)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model
