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


@pytest.mark.parametrize("learnt_before", [False, True])
def test_that_a_cpu_keeps_no_lists_for_gradients_that_nobody_needs(learnt_before: bool) -> None:
    """TensorFlow takes loops apart, and leaves out what leads nowhere.

    Four parts of the kernel are what the gradient of a layer's input is computed from, with
    dropout between the turns. A layer that learns before it needs that gradient; a model's input
    does not (a step that was traced held none of them).
    """
    import keras

    from gpu_studio.trainer.answers.graph_tensors import LOOPS
    from gpu_studio.trainer.answers.step_operations import Graph

    layer = keras.layers.LSTM(UNITS, recurrent_dropout=0.5)
    layer.build((None, TURNS, FEATURES))
    before = keras.layers.Dense(FEATURES)
    before.build((None, TURNS, FEATURES))
    learning = [layer, before] if learnt_before else [layer]

    def called(x: Any) -> Any:
        return layer(before(x), training=True)

    weights = [x.value for each in learning for x in each.trainable_variables]
    graph = Graph(gradients_of(called, FEATURES, weights=weights), SAMPLES)
    loop = next(place for place, op in enumerate(graph.operations) if op.type in LOOPS)
    sizes = [size.fixed for _, size in graph.as_on("CPU")[loop].makes]
    assert sizes.count(TURNS * GIVEN * UNITS) == 4 * learnt_before
    assert sizes.count(TURNS * STATE * UNITS) == 4  # of the state, from turn to turn


def test_that_what_the_last_turn_puts_into_lists_is_not_there_twice_on_a_cpu() -> None:
    """Its eight convolutions are there together, before five lists get what is made in their place.

    Other lists have what the turn is given: states, and an element.
    """
    import keras

    from gpu_studio.trainer.answers.graph_tensors import LOOPS
    from gpu_studio.trainer.answers.step_operations import Graph

    layer = keras.layers.ConvLSTM1D(UNITS, 1)
    layer.build((None, TURNS, 2, FEATURES))
    weights = [x.value for x in layer.trainable_variables]
    graph = Graph(gradients_of(layer, 2, FEATURES, weights=weights), SAMPLES)
    loop = next(place for place, op in enumerate(graph.operations) if op.type in LOOPS)
    on_cpu, on_card = (graph.as_on(kind)[loop].scratch.per_sample for kind in ("CPU", "GPU"))
    assert (on_cpu, on_card) == (3 * 2 * STATE, 8 * 2 * STATE)


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
