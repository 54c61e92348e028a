"""What a traced step says of layers side by side, where each is on a card of its own."""

from __future__ import annotations

import pytest

from gpu_studio.placement.apart import less_apart

pytestmark = pytest.mark.slow

SAMPLES = 17
HEADS = ("one", "two", "three")
WIDE, NARROW = 1000 * 4, 8 * 4


def test_that_heads_of_one_output_know_what_the_others_hold():
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_trace import StepTrace, costs_of

    first = tf.Variable(tf.ones((6, 1000)))
    weights = {each: tf.Variable(tf.ones((1000, 8))) for each in HEADS}

    @tf.function(autograph=False)
    def step(x):
        made = {}
        with tf.GradientTape() as tape:
            with tf.name_scope("trunk"):
                made["trunk"] = tf.nn.relu(tf.matmul(x, first))
            for each in HEADS:
                with tf.name_scope(each):
                    made[each] = tf.nn.relu(tf.matmul(made["trunk"], weights[each]))
            with tf.name_scope("join"):
                made["join"] = tf.concat([made[each] for each in HEADS], 1)
            loss = tf.reduce_sum(made["join"] * made["join"])
        return tape.gradient(loss, [first, *weights.values()])

    graph = step.get_concrete_function(tf.TensorSpec((SAMPLES, 6))).graph
    layers = {each.name: each.name.partition("/")[0] for each in graph.get_operations()}
    ends = {"trunk": "Relu", **dict.fromkeys(HEADS, "Relu"), "join": "concat"}
    outputs = {
        layer: [[graph.get_operation_by_name(f"{layer}/{end}").outputs[0]]]
        for layer, end in ends.items()
    }
    layer_of = {name: layer for name, layer in layers.items() if layer in outputs}
    costs = costs_of(StepTrace(graph, SAMPLES, layer_of, outputs, [])).layers
    for head in HEADS:
        others = {each for each in HEADS if each != head}
        whole = costs[head].around_bytes
        # What all give back for the trunk's output; small tensors are not looked at.
        assert 3 * WIDE <= whole <= 3 * WIDE + 5 * NARROW
        # Alone it has what it gives back, and else a copy of what it has taken.
        alone = whole - less_apart(costs[head].apart, {head})
        assert WIDE <= alone <= WIDE + 5 * NARROW
        # What waits is where it was made, and where it is added up.
        assert whole - less_apart(costs[head].apart, {head, min(others)}) >= 2 * WIDE
        assert less_apart(costs[head].apart, {head, "trunk"}) < WIDE
    assert costs["trunk"].apart == costs["join"].apart == ()
