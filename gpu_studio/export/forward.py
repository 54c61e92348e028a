"""The model's call and the loss' scaling as they stand in every kind of step."""

from __future__ import annotations

from gpu_studio.export.facts import Facts

SCALED = "scaled = optimizer.scale_loss(loss)  # larger where float16 needs it"


def called(facts: Facts, training: str) -> str:
    """The model's outputs as an expression, in float32 also where the file's model gives others."""
    outputs = f"model(x, training={training})"
    return f"tf.cast({outputs}, tf.float32)" if facts.from_file else outputs
