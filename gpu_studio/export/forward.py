"""The model's call and the loss' scaling as they stand in every kind of step."""

from __future__ import annotations

from gpu_studio.export.facts import Facts

_SCALED = "scaled = optimizer.scale_loss(loss)  # larger where float16 needs it"

_OUTPUTS_OF = """\
def outputs_of(x, training):
    \"\"\"The model's only output, also out of a dictionary or list, in float32.\"\"\"
    (outputs,) = keras.tree.flatten(model(x, training=training))
    return tf.cast(outputs, tf.float32)
"""


def scaling(facts: Facts) -> dict[str, str]:
    """The line that scales the loss, if anything does, and what gradients are then taken of."""
    return {"scaled": _SCALED, "target": "scaled"} if facts.scales else {"scaled": "", "target": "loss"}


def called(facts: Facts, training: str) -> str:
    """The model's outputs as an expression, in float32 also where the file's model gives others."""
    return f"outputs_of(x, training={training})" if facts.from_file else f"model(x, training={training})"


def unwrapping(facts: Facts) -> str:
    """The function that gets at the outputs of a model of which nothing is known here; empty for the others."""
    return _OUTPUTS_OF if facts.from_file else ""
