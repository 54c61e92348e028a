"""What layers that lie on several cards keep for each other, from the graph of a step."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SAMPLES = 7
ROW = 6 * 4
"""The bytes of a sample in the tensors of these steps."""


def graph_of(first, second):
    """The graph of a step with a layer that makes `first` of a product, one that makes `second` of
    that, and their gradients."""
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def step(x, weights):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            with tf.name_scope("first"):
                made = first(tf.matmul(x, weights))
            with tf.name_scope("second"):
                made = second(made)
            loss = tf.reduce_sum(made * made)
        return tape.gradient(loss, weights)

    given = tf.TensorSpec((SAMPLES, 6)), tf.TensorSpec((6, 6))
    return Graph(step.get_concrete_function(*given).graph, SAMPLES)


def backward(op):
    return op.name.startswith("gradient_tape/")


def layer(op):
    name = op.name.removeprefix("gradient_tape/").partition("/")[0]
    return name if name in ("first", "second") else ""


def lent(graph):
    """What each layer lends, if it keeps all that its own operations make."""
    from gpu_studio.trainer.answers.graph_tensors import root
    from gpu_studio.trainer.answers.sent_tensors import lent_bytes

    taken = {root(x).ref() for op in graph.operations if backward(op) for x in op.inputs}
    kept = {ref: layer(ref.deref().op) for ref in taken if not backward(ref.deref().op)}
    return lent_bytes(graph, list(map(layer, graph.operations)), kept, backward)


def test_that_a_layer_lends_what_only_the_gradient_of_the_next_one_needs():
    import tensorflow as tf

    # That of a sine needs what it took, and that of the loss what the last one made.
    assert lent(graph_of(lambda x: 3.0 * x, tf.sin)) == {"first": ROW}
    # That of tanh needs what it made, as does the sine behind it.
    assert lent(graph_of(tf.tanh, tf.sin)) == {}
    assert lent(graph_of(lambda x: 3.0 * x, lambda x: 3.0 * x)) == {}


@pytest.mark.parametrize("apart", [False, True])
def test_that_gradients_of_their_own_are_told_from_one_that_goes_back_as_it_came(apart):
    import tensorflow as tf

    from gpu_studio.trainer.answers.sent_tensors import given_back

    graph = graph_of(
        lambda x: (tf.sin(x), tf.cos(x)),
        lambda both: tf.concat(both, 1) if apart else both[0] + both[1],
    )
    layers = list(map(layer, graph.operations))
    assert given_back(graph, layers, backward).get("second", 0) == (2 if apart else 0)


def test_that_what_is_made_on_the_way_forward_for_gradients_waits_for_them():
    import tensorflow as tf

    from gpu_studio.trainer.answers.sent_tensors import waiting_for_gradients

    # Twice what is squared needs no gradient, and waits; what it is made of only for that of tanh.
    found = waiting_for_gradients(graph_of(tf.tanh, tf.square), layer, "second", backward)
    # That of a sum is the same for all, and no layer's.
    assert found == {"first": ROW, "second": ROW, "": ROW}
