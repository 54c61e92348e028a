"""A small transformer encoder that classifies: rows of an image, a sequence of measurements, or tokens.

Vaswani et al. 2017, "Attention is all you need" (arXiv:1706.03762), the encoder, with normalisation before each
sublayer instead of after it (Xiong et al. 2020, arXiv:2002.04745: it needs no warm-up), and with learned positions.
"""

from __future__ import annotations

from typing import Any

import keras

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import ModelError
from gpu_studio.trainer.models.blocks import dropped, outputs


def transformer(
    dataset: Dataset, *, width: int, heads: int, depth: int, feed_forward: int, dropout: float, vocabulary: int
) -> keras.Model:
    """`depth` blocks of attention and feed-forward over positions of `width` numbers; the mean position is classified.

    A position is a row of an image, a step of a sequence, or a token. Raises ModelError if `width` is no multiple of
    `heads`, if a sample is a plain vector, or if the data hold tokens that `vocabulary` does not have.
    """
    if width % heads:
        raise ModelError(
            f"The transformer's width {width} is no multiple of its {heads} heads.",
            [f"Set model.options.width to {heads * max(1, round(width / heads))}.", "Choose another number of heads."],
        )
    dtype = "int32" if dataset.tokens else None
    inputs = keras.Input(dataset.sample_shape, name="inputs", dtype=dtype)
    x = _tokens(inputs, dataset, width, vocabulary) if dataset.tokens else _measured(inputs, dataset, width)
    x = dropped(_positioned(x), dropout, "embedded_dropout")
    for number in range(1, depth + 1):
        x = _attended(x, heads, dropout, f"block{number}_attention")
        x = _fed_forward(x, feed_forward, dropout, f"block{number}_feed_forward")
    x = keras.layers.LayerNormalization(epsilon=1e-6, name="norm")(x)
    x = keras.layers.GlobalAveragePooling1D(name="average")(x)
    return keras.Model(inputs, outputs(x, dataset.outputs), name="transformer")


def _tokens(x: Any, dataset: Dataset, width: int, vocabulary: int) -> Any:
    seen = 1 + dataset.largest_token
    if vocabulary and vocabulary < seen:
        raise ModelError(
            f"{dataset.name} holds the token {seen - 1}, but the transformer's vocabulary has {vocabulary} tokens.",
            [f"Set model.options.vocabulary to {seen} or more, or to 0 to count the tokens."],
        )
    return keras.layers.Embedding(vocabulary or seen, width, name="embedding")(x)


def _measured(x: Any, dataset: Dataset, width: int) -> Any:
    shape = dataset.sample_shape
    if len(shape) == 1:
        raise ModelError(
            f"The transformer needs a sequence, but a sample of {dataset.name} is a vector of {shape[0]} numbers.",
            ['Use model.name = "mlp".', "Save tokens as integers, or sequences with the shape (steps, features)."],
        )
    if len(shape) > 2:  # an image: a row with all its columns and channels is a step
        x = keras.layers.Reshape((shape[0], shape[1] * shape[2]), name="rows")(x)
    return keras.layers.Dense(width, name="embedding")(x)


def _positioned(x: Any) -> Any:
    """Learned numbers for each position, added: the bias of a layer that scales each channel by a learned factor.

    Keras has no layer that only adds; this one is Keras' own, so that a saved model needs nothing of GPU Studio.
    """
    return keras.layers.EinsumDense(
        "abc,c->abc",
        output_shape=x.shape[1:],
        bias_axes="bc",
        kernel_initializer="ones",
        bias_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
        name="positions",
    )(x)


def _attended(x: Any, heads: int, dropout: float, name: str) -> Any:
    y = keras.layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm")(x)
    y = keras.layers.MultiHeadAttention(heads, x.shape[-1] // heads, dropout=dropout, name=name)(y, y)
    y = dropped(y, dropout, f"{name}_dropout")
    return keras.layers.Add(name=f"{name}_add")([x, y])


def _fed_forward(x: Any, units: int, dropout: float, name: str) -> Any:
    y = keras.layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm")(x)
    y = keras.layers.Dense(units, activation="gelu", name=f"{name}_hidden")(y)
    y = keras.layers.Dense(x.shape[-1], name=name)(y)
    y = dropped(y, dropout, f"{name}_dropout")
    return keras.layers.Add(name=f"{name}_add")([x, y])
