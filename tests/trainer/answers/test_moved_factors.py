"""Constant factors that TensorFlow moves to an earlier product, as a card holds what they make."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SAMPLES, WIDTH = 1009, 4


def traced(*, factor=0.5, kept="a_kept", again=False, longer=False):
    """The graph of a gradient that meets what was kept and then a factor; and what is rewritten."""
    import tensorflow as tf

    from gpu_studio.trainer.answers.rewritten_graph import rewritten
    from gpu_studio.trainer.answers.step_operations import Graph

    @tf.function(autograph=False)
    def gradient(came, given):
        x = tf.math.erfc(given, name=kept)
        y = tf.tanh(x)
        g = tf.cos(came, name="back/g")
        half = tf.constant(factor, name="half")
        first = tf.multiply(g, x, name="back/first")
        second = tf.multiply(first, half, name="back/second")
        if longer:
            second = tf.multiply(second, y, name="back/third")
        others = tf.sin(g, name="back/other") + (first if again else 0.0)
        return tf.reduce_sum(y), tf.add(second, others, name="back/sum")

    given = [tf.TensorSpec((SAMPLES, WIDTH), name=name) for name in ("came", "given")]
    graph = Graph(gradient.get_concrete_function(*given).graph, SAMPLES)
    return graph, graph.rewritten(rewritten)


def back(op):
    return op.name.startswith("back")


def products(graph):
    """The names of what each product of the graph takes, by its name."""
    return {op.name: {x.op.name for x in op.inputs} for op in graph.operations if op.type == "Mul"}


def named(graph, moved):
    names = {number: ref.deref().op.name for ref, number in graph.numbers.items()}
    return {name: {names[each] for each in takes} for name, takes in moved.items()}


def test_that_a_gradient_meets_the_constant_factor_first_as_tensorflow_moves_it():
    """Then the product cannot be written over what was kept: it is so in the gradient of gelu."""
    from gpu_studio.placement.liveness import Turn, history
    from gpu_studio.trainer.answers.moved_factors import moved_factors

    graph, run = traced()
    moved = moved_factors(graph, back)
    assert named(graph, moved) == products(run)
    assert products(run)["back/first"] == {"back/g", "half"}
    on_cpu, before = graph.as_on("CPU"), graph.as_on("GPU")
    graph.moved = {"GPU": moved}
    assert graph.as_on("CPU") == on_cpu  # there the rewritten graph is rehearsed, too

    def held(operations):
        """In bytes per sample, while the first product is made."""
        places = range(len(operations))  # another operation needs the gradient later
        order = [Turn(place, begins) for place in places for begins in (True, False)]
        moments = history(operations, order, results=graph.results).moments
        return moments[[op.name for op in graph.operations].index("back/first")].per_sample

    assert held(graph.as_on("GPU")) == held(before) + 4 * WIDTH


def test_that_it_does_so_too_where_the_names_give_the_factor_to_what_was_kept():
    """Where layers are placed the names are others."""
    from gpu_studio.trainer.answers.moved_factors import moved_factors

    graph, run = traced(kept="kept")
    assert products(run)["back/first"] == {"kept", "half"}
    assert named(graph, moved_factors(graph, back))["back/first"] == {"back/g", "half"}


def test_that_on_a_cpu_a_run_s_gradient_meets_the_factor_where_the_step_alone_rewrites_otherwise():
    """What was kept would meet it on the way forward, and that product wait for the gradient."""
    from gpu_studio.trainer.answers.moved_factors import in_runs

    graph, run = traced(kept="kept")
    moved, sure = in_runs(run, graph, back)
    assert named(run, moved) == {"back/first": {"back/g"}, "back/second": {"back/first", "kept"}}
    assert sure
    run.moved = {"CPU": moved}
    takes = dict(zip((op.name for op in run.operations), run.as_on("CPU"), strict=True))
    assert takes["back/second"].takes == moved["back/second"]
    alike, rewritten = traced()
    assert in_runs(rewritten, alike, back) == ({}, False)


@pytest.mark.parametrize("about", [{"factor": 1.0}, {"again": True}, {"longer": True}])
def test_that_a_factor_stays_that_is_one_or_has_another_product_before_or_behind_it(about):
    """That it is one, that others take the product, or that what follows gets the factor."""
    from gpu_studio.trainer.answers.moved_factors import moved_factors

    graph, _ = traced(**about)
    assert moved_factors(graph, back) == {}


def test_that_a_layer_of_gelu_is_known_to_hold_its_gradient_beside_what_that_becomes():
    """Of a placed transformer's 600 steps nine did: 10.81 MiB, where 10.37 were held mostly."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    weight = tf.Variable(tf.ones((WIDTH, WIDTH)))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            with tf.name_scope("hidden"):
                made = keras.activations.gelu(tf.matmul(x, weight), approximate=False)
            with tf.name_scope("last"):
                last = tf.matmul(made, weight)
            loss = tf.reduce_sum(last * last)
        return tape.gradient(loss, weight)

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, WIDTH))).graph
    scopes = {each.name: each.name.partition("/")[0] for each in graph.get_operations()}
    layer_of = {name: scope for name, scope in scopes.items() if scope in ("hidden", "last")}
    ends = {"hidden": "hidden/Gelu/mul_2", "last": "last/MatMul"}
    outputs = {
        layer: [[graph.get_operation_by_name(end).outputs[0]]] for layer, end in ends.items()
    }
    trace = StepTrace(graph, SAMPLES, layer_of, outputs, [])
    hidden = costs_of(trace, rehearsed=False).layers["hidden"]
    # Half of its input, that by a root of two, the error function of this, and its output; then
    # the gradient of the output and half of that instead of the last.
    assert hidden.kept_bytes == 4 * 4 * WIDTH
    assert hidden.around_bytes == 5 * 4 * WIDTH
