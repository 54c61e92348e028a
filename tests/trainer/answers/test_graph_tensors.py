"""What loops keep in lists for the way back."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SAMPLES, TURNS, FEATURES, UNITS = 509, 7, 3, 5
STATE, GIVEN = 4 * UNITS, 4 * FEATURES


@pytest.mark.parametrize(
    ("kind", "a_turn", "before"),
    [
        # The state that a turn begins with is what the turn before has made: it lies there once.
        ("SimpleRNN", STATE + GIVEN, STATE),
        # The turn of a GRU or an LSTM that makes it does not keep it.
        ("GRU", 6 * STATE + GIVEN, 0),
        ("LSTM", 7 * STATE + GIVEN, 0),
    ],
)
def test_that_a_state_in_two_lists_of_a_recurrent_layer_lies_in_memory_once(
    kind: str, a_turn: int, before: int
) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.answers.graph_tensors import LOOPS, in_list

    loop = next(op for op in operations_of(kind) if op.type in LOOPS)
    kept = sum(in_list(x, SAMPLES).per_sample for x in loop.outputs if x.dtype == tf.variant)
    assert kept == TURNS * a_turn + before


@pytest.mark.parametrize(("kind", "parts"), [("SimpleRNN", []), ("GRU", [3]), ("LSTM", [4])])
def test_that_a_turn_splits_what_is_computed_for_its_gates_on_the_way_forward(
    kind: str, parts: list[int]
) -> None:
    from gpu_studio.placement.step_memory import SplitTurns
    from gpu_studio.trainer.answers.graph_tensors import splits_of

    assert splits_of(operations_of(kind), SAMPLES) == tuple(
        SplitTurns(TURNS, each, STATE) for each in parts
    )


def operations_of(kind: str) -> list[Any]:
    """The operations of a layer of this kind with its gradients."""
    import keras
    import tensorflow as tf

    layer = getattr(keras.layers, kind)(UNITS)
    layer.build((None, TURNS, FEATURES))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, training=True))
        return tape.gradient(loss, [each.value for each in layer.trainable_variables])

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, TURNS, FEATURES))).graph
    return list(graph.get_operations())
