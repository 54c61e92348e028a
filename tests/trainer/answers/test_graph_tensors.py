"""What loops keep in lists for the way back."""

from __future__ import annotations

from collections.abc import Sequence
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


@pytest.mark.parametrize("needed", [True, False])
def test_that_what_a_loop_takes_on_a_cpu_lies_in_memory_once(needed: bool) -> None:
    """The gradient of a recurrent layer's weights needs it, so that two lists have its elements.

    The gradient of a sum does not: nobody keeps it then, but the loop has it until it ends.
    """
    import tensorflow as tf

    from gpu_studio.placement.liveness import Size, StepGraph, Turn, in_one_queue
    from gpu_studio.trainer.answers.graph_tensors import LOOPS
    from gpu_studio.trainer.answers.step_operations import Graph

    def summed(x):
        return tf.scan(lambda before, given: tf.tanh(before + given), tf.transpose(x, [1, 0, 2]))

    traced = graph_of("SimpleRNN", features=UNITS) if needed else gradients_of(summed, UNITS)
    graph = Graph(traced, SAMPLES)
    operations, turns = graph.as_on("CPU"), list(in_one_queue(graph.as_on("CPU")))
    loop = next(place for place, op in enumerate(graph.operations) if op.type in LOOPS)
    begun = turns[: 1 + turns.index(Turn(loop, begins=True))]
    held = dict[int, Size]()
    step = StepGraph(operations, results=graph.results, given=graph.given)
    for change in step.history(begun).changes:
        held |= {change.block: change.size if change.taken else Size()}
    lists = [size for size in held.values() if size.per_sample == TURNS * STATE]
    # What each turn makes, what each takes, and what it gives back: zeros until then.
    assert lists == [Size(0, TURNS * STATE, pieces=TURNS)] * (2 if needed else 3)
    # The tensor that the list of what it takes is made of may be in a larger piece.
    larger = [each.scratch for each in operations[:loop] if each.scratch != Size()]
    assert larger == [Size(0, TURNS * STATE, pieces=TURNS)] * needed


def test_that_what_a_turn_puts_into_several_lists_lies_in_memory_once() -> None:
    """Each of a ConvLSTM1D's four convolutions keeps the state, and the element, in a list."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.answers.graph_tensors import LOOPS, in_list

    layer = keras.layers.ConvLSTM1D(UNITS, 1)
    layer.build((None, TURNS, 2, FEATURES))
    graph = gradients_of(layer, 2, FEATURES, weights=[x.value for x in layer.trainable_variables])
    loop = next(op for op in graph.get_operations() if op.type in LOOPS)
    sizes = [in_list(x, SAMPLES).per_sample for x in loop.outputs if x.dtype == tf.variant]
    assert sizes.count(2 * TURNS * STATE) == 7  # as an LSTM: six of its gates and sums, and a state
    assert sizes.count(2 * TURNS * GIVEN) == 1


def operations_of(kind: str) -> list[Any]:
    """The operations of a layer of this kind with its gradients."""
    return list(graph_of(kind).get_operations())


def graph_of(kind: str, features: int = FEATURES) -> Any:
    """The graph of a layer of this kind with its gradients."""
    import keras

    layer = getattr(keras.layers, kind)(UNITS)
    layer.build((None, TURNS, features))
    weights = [each.value for each in layer.trainable_variables]
    return gradients_of(layer, features, weights=weights)


def gradients_of(called: Any, *axes: int, weights: Sequence[Any] = ()) -> Any:
    """The graph of a call with the gradients of weights, else of what is given to it."""
    import tensorflow as tf

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch([] if weights else x)
            loss = tf.reduce_sum(called(x))
        return tape.gradient(loss, weights or x)

    return step.get_concrete_function(tf.TensorSpec((SAMPLES, TURNS, *axes))).graph
