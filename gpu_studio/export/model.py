"""The part of a script that builds the model."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.literals import literal
from gpu_studio.export.models import convolutional, dense, residual, transformer
from gpu_studio.export.models.piece import Piece
from gpu_studio.export.own_model import own_model

_BUILD = """\
$before
def build_model($parameters):
    \"\"\"$words\"\"\"
    # Layers draw their initial weights from this seed, in the order of these lines.
    keras.utils.set_random_seed(SEED)
    inputs = keras.Input($shape, name="inputs"$dtype)
$layers
    # One number for $what$in_float.
    outputs = keras.layers.Dense($outputs$float, name="outputs")(x)
    return keras.Model(inputs, outputs, name=$name)
"""

_PIECES = {
    "mlp": dense.mlp,
    "linear": dense.linear,
    "cnn": convolutional.cnn,
    "lenet": convolutional.lenet,
    "cifar_cnn": convolutional.cifar_cnn,
    "resnet20": residual.resnet20,
    "transformer": transformer.transformer,
}


def model(facts: Facts) -> str:
    """The function `build_model`, and before it what it is made of."""
    if facts.from_file:
        return own_model(facts)
    piece = piece_of(facts)
    classes = facts.source.task == "classes"
    mixed = facts.plan.training.mixed_precision
    return fill(
        _BUILD,
        before=piece.before.rstrip("\n") + "\n\n" if piece.before else "",
        parameters=", ".join(parameters(facts)),
        words=piece.words,
        shape=literal(facts.source.shape),
        dtype=', dtype="int32"' if facts.source.tokens else "",
        layers=piece.layers,
        what="each class: its score (logit)" if classes else "the value",
        in_float=", in float32 for the loss to be exact" if mixed else "",
        outputs=facts.outputs,
        float=', dtype="float32"' if mixed else "",
        name=literal(facts.plan.model.name),
    )


def piece_of(facts: Facts) -> Piece:
    """What makes a built-in model the one that it is."""
    return _PIECES[str(facts.plan.model.name)](facts)


def parameters(facts: Facts) -> list[str]:
    """What `build_model` must be told, because only the data tell it."""
    if facts.plan.model.file is not None:
        return []
    return (["classes"] if facts.outputs == "classes" else []) + (["tokens"] if counts_tokens(facts) else [])


def counts_tokens(facts: Facts) -> bool:
    """Whether the vocabulary is as large as the data show."""
    return not facts.from_file and facts.source.tokens and not facts.model_options.get("vocabulary")
