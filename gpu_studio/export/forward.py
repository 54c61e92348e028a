"""The model's call and the scaling of the loss, as every kind of step has them."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts

_SCALED = "scaled = optimizer.scale_loss(loss)  # larger where float16 needs it"

_OUTPUTS_OF = """\
def outputs_of(x, training):
    \"\"\"The model's only output, also out of a dictionary or list, in float32.\"\"\"
    (outputs,) = keras.tree.flatten(model(x, training=training))
    return tf.cast(outputs, tf.float32)
"""


def scaling(facts: ScriptFacts) -> dict[str, str]:
    """Return the line that scales the loss, if any, and what gradients are then computed of."""
    return (
        {"scaled": _SCALED, "target": "scaled"}
        if facts.scales
        else {"scaled": "", "target": "loss"}
    )


def called(facts: ScriptFacts, training: str) -> str:
    """Return the model's outputs as an expression.

    They are float32 even where the file's model returns another type.
    """
    return (
        f"outputs_of(x, training={training})"
        if facts.from_file
        else f"model(x, training={training})"
    )


def unwrapping(facts: ScriptFacts) -> str:
    """Return the function that extracts the outputs of a model.

    It is empty unless nothing is known here about the model.
    """
    return _OUTPUTS_OF if facts.from_file else ""
