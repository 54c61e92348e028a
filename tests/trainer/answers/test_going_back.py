"""Gradients that functions compute themselves, such as swish's, in a traced step."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.slow

SAMPLES, FEATURES, UNITS = 1009, 5, 6


@pytest.fixture(scope="module")
def traced():
    """A step of two dense layers with a swish between them, and what it traced of the layers."""
    import tensorflow as tf

    first, last = (tf.Variable(tf.ones(shape)) for shape in ((FEATURES, UNITS), (UNITS, 1)))
    outputs, layer_of, gradients = {}, {}, []

    @tf.function(autograph=False)
    def step(x):
        graph = tf.compat.v1.get_default_graph()

        def called(layer, call, given):
            before = len(graph.get_operations())
            with tf.name_scope(layer):
                made = call(given)
            layer_of.update({op.name: layer for op in graph.get_operations()[before:]})
            outputs[layer] = [[made]]
            return made

        with tf.GradientTape() as tape:
            made = called("first", lambda x: tf.matmul(x, first), x)
            made = called("swish", tf.nn.silu, made)
            loss = tf.reduce_sum(called("last", lambda x: tf.matmul(x, last), made))
        gradients.extend(tape.gradient(loss, (first, last)))
        first.assign_sub(0.1 * gradients[0])
        last.assign_sub(0.1 * gradients[1])

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, FEATURES))).graph
    return SimpleNamespace(graph=graph, layer_of=layer_of, outputs=outputs, gradients=gradients)


def test_that_a_gradient_that_a_function_computes_is_known_with_its_layer(traced):
    """TensorFlow names it as none of its tape's, and the updates that come after it neither."""
    from gpu_studio.trainer.answers.going_back import own_gradients
    from gpu_studio.trainer.answers.step_operations import Graph

    operations = Graph(traced.graph, SAMPLES).operations
    own = own_gradients(operations, traced.layer_of, traced.gradients)
    kinds = {op.name: op.type for op in operations}
    assert set(own.values()) == {"swish"}
    assert sorted(kinds[name] for name in own if kinds[name] != "Const") == [
        "AddV2", "Mul", "Mul", "Mul", "Mul", "Mul", "Sigmoid", "Sub"
    ]  # fmt: skip


def test_that_a_swish_keeps_what_it_takes_and_makes_and_none_of_its_gradient(traced):
    """What it takes is the dense layer's output, what it makes is what the next layer takes."""
    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    trace = StepTrace(traced.graph, SAMPLES, traced.layer_of, traced.outputs, traced.gradients)
    found = costs_of(trace, rewriting=None, rehearsed=False).layers
    row = UNITS * 4
    assert {name: each.kept_bytes for name, each in found.items()} == {
        "first": row, "swish": row, "last": 0
    }  # fmt: skip
    assert found["swish"].keeps_inputs
    assert found["swish"].gives_back == found["last"].gives_back == 1
    assert found["swish"].flops_backward > found["swish"].flops_forward > 0


def traced_maximum(*, penalised: bool = False, twice: bool = False):
    """A step of a dense layer, the maximum over what it makes, and another dense layer.

    The first layer may add a penalty of its output to the loss, whose gradient needs no other.
    Twice there is beside both the maximum over what another dense layer makes.
    """
    import tensorflow as tf

    first, last = (tf.Variable(tf.ones(shape)) for shape in ((FEATURES, UNITS), (UNITS, 1)))
    outputs, layer_of, gradients = {}, {}, []

    @tf.function(autograph=False)
    def step(x):
        graph, penalties = tf.compat.v1.get_default_graph(), []

        def called(layer, call, given):
            before = len(graph.get_operations())
            with tf.name_scope(layer):
                made = call(given)
            layer_of.update({op.name: layer for op in graph.get_operations()[before:]})
            outputs[layer] = [[made]]
            return made

        def dense(x):
            made = tf.matmul(x, first)
            penalties.extend([tf.reduce_sum(made * made)] if penalised else [])
            return tf.nn.relu(made)

        with tf.GradientTape() as tape:
            made = called("max", lambda x: tf.reduce_max(x, 1), called("first", dense, x))
            if twice:
                beside = called("beside", lambda x: tf.nn.relu(tf.matmul(x, first)), x)
                made += called("other", lambda x: tf.reduce_max(x, 1), beside)
            loss = tf.reduce_sum(called("last", lambda x: tf.matmul(x, last), made))
            loss = tf.add_n([loss, *penalties])
        gradients.extend(tape.gradient(loss, (first, last)))
        first.assign_sub(0.1 * gradients[0])
        last.assign_sub(0.1 * gradients[1])

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 7, FEATURES))).graph
    return SimpleNamespace(graph=graph, layer_of=layer_of, outputs=outputs, gradients=gradients)


@pytest.mark.parametrize("penalised", [False, True])
def test_that_where_a_maximum_is_is_computed_and_kept_on_the_way_forward(penalised):
    """It needs no gradient, and takes the place of what came in. A trace showed it so."""
    from gpu_studio.trainer.answers.going_back import computed_early, is_taped
    from gpu_studio.trainer.answers.step_operations import Graph
    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    found = traced_maximum(penalised=penalised)
    operations = Graph(found.graph, SAMPLES).operations
    scopes = {
        op.name: op.name.partition("gradient_tape/")[2].partition("/")[0] for op in operations
    }
    layers = [
        found.layer_of.get(op.name, "") or scopes[op.name] * (scopes[op.name] in found.outputs)
        for op in operations
    ]
    early = computed_early(operations, layers, is_taped)
    kinds: dict[str, list[str]] = {}
    for op, layer in zip(operations, layers, strict=True):
        if op.name in early and op.inputs:
            kinds.setdefault(layer, []).append(op.type)
    assert kinds["max"] == ["Reshape", "Equal", "Cast", "Sum", "Reshape", "RealDiv"]
    # A penalty's gradient is one, though it waits for none: it goes on, and is added up.
    assert "Mul" not in kinds["first"]
    trace = StepTrace(found.graph, SAMPLES, found.layer_of, found.outputs, found.gradients)
    costs = costs_of(trace, rewriting=None, rehearsed=False).layers
    row, taken = UNITS * 4, 7 * UNITS * 4
    # Where it is, instead of what comes in, which the layer before keeps for itself.
    assert costs["max"].kept_bytes == row + taken
    assert costs["first"].kept_bytes == taken * (2 if penalised else 1)
    assert not costs["max"].keeps_inputs
    assert costs["max"].let_go_bytes == taken - taken // 4


def test_that_where_one_maximum_is_is_not_counted_around_another():
    """Two joined ones have one each on a card, and the last had both."""
    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    found = traced_maximum(twice=True)
    trace = StepTrace(found.graph, SAMPLES, found.layer_of, found.outputs, found.gradients)
    costs = costs_of(trace, rewriting=None, rehearsed=False).layers
    taken = 7 * UNITS * 4
    assert min(costs[each].kept_bytes for each in ("max", "other")) >= taken
    assert taken < costs["other"].around_bytes < 2 * taken


@pytest.mark.parametrize(("factor", "shares"), [(1.0, True), (2.0, False)])
def test_that_a_product_with_one_is_the_other_factor(factor, shares):
    """TensorFlow's optimizer leaves it out, so that it needs no memory of its own."""
    import tensorflow as tf

    from gpu_studio.trainer.answers.graph_tensors import root
    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def step(x):
        return tf.constant(factor) * tf.exp(x)

    graph = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 3))).graph, SAMPLES)
    made = {op.type: each for op, each in zip(graph.operations, graph.as_on("GPU"), strict=True)}
    (product,) = (op.outputs[0] for op in graph.operations if op.type == "Mul")
    assert made["Mul"].shares is shares
    assert root(product).op.type == ("Exp" if shares else "Mul")
