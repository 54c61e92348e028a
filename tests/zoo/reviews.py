"""Is a review kind? Raw texts go in; the model cuts them into words itself."""

import keras
import numpy as np
from keras import layers

KIND = ["lovely", "great", "fine", "warm"]
HARSH = ["awful", "dull", "cold", "poor"]


def load():
    rng = np.random.default_rng(11)
    kind = rng.integers(0, 2, 90)
    texts = [
        f"the {rng.choice(['film', 'meal', 'room'])} was {' and '.join(rng.choice(words, 2))}!"
        for words in (KIND if each else HARSH for each in kind)
    ]
    return np.array(texts), kind


def make_model():
    texts, _ = load()
    words = layers.TextVectorization(max_tokens=50, output_sequence_length=8)
    words.adapt(texts)
    inputs = keras.Input((), dtype="string")
    x = layers.Embedding(50, 8)(words(inputs))
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model
