"""The transformer encoder."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import call, indented
from gpu_studio.export.literals import literal
from gpu_studio.export.models.piece import Piece, dropout, layer

_BEFORE = '''\
def attended(x, name):
    """A sublayer in which each position looks at all others; its output is added."""
    y = keras.layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm")(x)
    $attention
    $dropout
    return keras.layers.Add(name=f"{name}_add")([x, y])


def fed_forward(x, name):
    """A sublayer that works on each position alone; its output is added."""
    y = keras.layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm")(x)
    y = keras.layers.Dense($units, activation="gelu", name=f"{name}_hidden")(y)
    y = keras.layers.Dense($width, name=name)(y)
    $dropout
    return keras.layers.Add(name=f"{name}_add")([x, y])
'''

_DROPOUT = 'y = keras.layers.Dropout({dropout}, name=f"{{name}}_dropout")(y)'

_POSITIONS = """\
    # Learned numbers for each position are added, as the bias of a layer that scales each
    # channel by a learned factor: Keras has no layer that only adds.
    x = keras.layers.EinsumDense(
        "abc,c->abc",
        output_shape=x.shape[1:],
        bias_axes="bc",
        kernel_initializer="ones",
        bias_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
        name="positions",
    )(x)"""

_BLOCKS = """\
    for number in range(1, $end):
        x = attended(x, f"block{number}_attention")
        x = fed_forward(x, f"block{number}_feed_forward")"""


def transformer(facts: Facts) -> Piece:
    """A small encoder that classifies."""
    options = facts.model_options
    lines = [
        *_embedding(facts, options),
        _POSITIONS,
        *dropout(options["dropout"], "embedded_dropout"),
        fill(_BLOCKS, end=literal(options["depth"] + 1)),
        layer("LayerNormalization", epsilon=1e-6, name="norm"),
        layer("GlobalAveragePooling1D", name="average"),
    ]
    words = "An encoder after Vaswani et al. 2017, normalised before each sublayer."
    return Piece(words, "\n".join(lines), _before(options), _feeds(facts, options))


def _feeds(facts: Facts, options: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    rows = ["rows"] if len(facts.source.shape) == 3 else []
    dropped = ["_dropout"] if options["dropout"] else []
    names = [*rows, "embedding", "positions", *(f"embedded{each}" for each in dropped)]
    found: dict[str, tuple[str, ...]] = {name: (of,) if of else () for of, name in pairwise(["", *names])}
    for number in range(1, options["depth"] + 1):
        for kind, hidden in (("attention", []), ("feed_forward", ["_hidden"])):
            before, name = next(reversed(found)), f"block{number}_{kind}"
            inner = [f"{name}{each}" for each in ("_norm", *hidden, "", *dropped)]
            found |= {each: (of,) for of, each in pairwise([before, *inner])}
            found |= {f"{name}_add": (before, inner[-1])}
    return found | {"norm": (next(reversed(found)),), "average": ("norm",)}


def _embedding(facts: Facts, options: dict[str, Any]) -> list[str]:
    shape = facts.source.shape
    if facts.source.tokens:
        vocabulary = literal(options["vocabulary"]) if options["vocabulary"] else "tokens"
        return [layer("Embedding", vocabulary, str(options["width"]), of="inputs", name="embedding")]
    embedding = layer("Dense", str(options["width"]), of="x" if len(shape) > 2 else "inputs", name="embedding")
    if len(shape) < 3:
        return [embedding]
    rows = layer("Reshape", literal((shape[0], shape[1] * shape[2])), of="inputs", name="rows")
    return [indented("# A row of the image, with all its columns and channels, is a step.", 4), rows, embedding]


def _before(options: dict[str, Any]) -> str:
    rate = literal(options["dropout"])
    sizes = [literal(options["heads"]), literal(options["width"] // options["heads"])]
    dropped = [f"dropout={rate}"] if options["dropout"] else []
    attention = [*sizes, *dropped, "name=name"]
    return fill(
        _BEFORE,
        attention=call("y = ", "keras.layers.MultiHeadAttention", attention, after="(y, y)", indent=4),
        dropout=_DROPOUT.format(dropout=rate) if options["dropout"] else "",
        units=literal(options["feed_forward"]),
        width=literal(options["width"]),
    )
