"""A small transformer encoder that classifies."""

from __future__ import annotations

import keras


def transformer(
    x: keras.KerasTensor,
    *,
    width: int,
    heads: int,
    depth: int,
    feed_forward: int,
    dropout: float,
    vocabulary: int,
) -> keras.KerasTensor:
    """An encoder of `depth` blocks, over positions of `width` numbers each.

    A position is a token, a step of a sequence, or a row of an image with all its
    columns and channels. `vocabulary` is the number of tokens, or 0 if the samples hold
    measured values.

    Vaswani et al. 2017, "Attention is all you need" (arXiv:1706.03762), with learned
    positions, and with normalisation before each sublayer instead of after it, which
    needs no warm-up (Xiong et al. 2020, arXiv:2002.04745).
    """
    x = positioned(embedded(x, width, vocabulary))
    if dropout > 0:
        x = keras.layers.Dropout(dropout, name="embedded_dropout")(x)
    for number in range(1, depth + 1):
        x = attended(x, width, heads, dropout, f"block{number}_attention")
        x = fed_forward(x, width, feed_forward, dropout, f"block{number}_feed_forward")
    x = keras.layers.LayerNormalization(epsilon=1e-6, name="norm")(x)
    return keras.layers.GlobalAveragePooling1D(name="average")(x)


def embedded(x: keras.KerasTensor, width: int, vocabulary: int) -> keras.KerasTensor:
    """Each position as `width` numbers."""
    if vocabulary:
        return keras.layers.Embedding(vocabulary, width, name="embedding")(x)
    if len(x.shape) == 4:
        rows, columns, channels = x.shape[1:]
        x = keras.layers.Reshape((rows, columns * channels), name="rows")(x)
    return keras.layers.Dense(width, name="embedding")(x)


def positioned(x: keras.KerasTensor) -> keras.KerasTensor:
    """Learned numbers for each position, added.

    They are the bias of a layer that scales each channel by a learned factor: Keras has
    no layer that only adds.
    """
    return keras.layers.EinsumDense(
        "abc,c->abc",
        output_shape=x.shape[1:],
        bias_axes="bc",
        kernel_initializer="ones",
        bias_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
        name="positions",
    )(x)


def attended(
    x: keras.KerasTensor,
    width: int,
    heads: int,
    dropout: float,
    name: str,
) -> keras.KerasTensor:
    """A sublayer in which each position looks at all others; its output is added."""
    y = keras.layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm")(x)
    attention = keras.layers.MultiHeadAttention(
        heads,
        width // heads,
        dropout=dropout,
        name=name,
    )
    y = attention(y, y)
    if dropout > 0:
        y = keras.layers.Dropout(dropout, name=f"{name}_dropout")(y)
    return keras.layers.Add(name=f"{name}_add")([x, y])


def fed_forward(
    x: keras.KerasTensor,
    width: int,
    units: int,
    dropout: float,
    name: str,
) -> keras.KerasTensor:
    """A sublayer that works on each position alone; its output is added."""
    y = keras.layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm")(x)
    y = keras.layers.Dense(units, activation="gelu", name=f"{name}_hidden")(y)
    y = keras.layers.Dense(width, name=name)(y)
    if dropout > 0:
        y = keras.layers.Dropout(dropout, name=f"{name}_dropout")(y)
    return keras.layers.Add(name=f"{name}_add")([x, y])
