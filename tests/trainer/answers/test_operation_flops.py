"""The floating-point operations of products, by hand."""

from __future__ import annotations

import itertools

import pytest

pytestmark = pytest.mark.slow

SAMPLES, ROWS, SUMMED, COLUMNS = 5, 7, 11, 13


@pytest.mark.parametrize(("first", "second"), [*itertools.product((False, True), repeat=2)])
def test_that_products_of_matrices_cost_the_same_however_they_lie(first, second):
    import tensorflow as tf

    from gpu_studio.trainer.answers.operation_flops import flops

    @tf.function(autograph=False)
    def step(one, other):
        return tf.matmul(one, other, transpose_a=first, transpose_b=second)

    one = (SUMMED, ROWS) if first else (ROWS, SUMMED)
    other = (COLUMNS, SUMMED) if second else (SUMMED, COLUMNS)
    given = [tf.TensorSpec((SAMPLES, *shape)) for shape in (one, other)]
    operations = step.get_concrete_function(*given).graph.get_operations()
    (product,) = [each for each in operations if each.type.startswith("BatchMatMul")]
    assert flops(product) == 2 * SAMPLES * ROWS * SUMMED * COLUMNS


def test_that_attention_costs_twice_as_much_backwards():
    import tensorflow as tf
    from keras import layers

    from gpu_studio.trainer.answers.operation_flops import flops

    layer = layers.MultiHeadAttention(4, 16)
    layer.build((SAMPLES, ROWS, 64), (SAMPLES, ROWS, 64))

    def forward(x):
        return layer(x, x)

    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(forward(x))
        return tape.gradient(loss, [x, *(each.value for each in layer.trainable_weights)])

    given = tf.TensorSpec((SAMPLES, ROWS, 64))

    def cost(step):
        traced = tf.function(step, autograph=False).get_concrete_function(given)
        return sum(map(flops, traced.graph.get_operations()))

    one, whole = cost(forward), cost(both)
    assert whole == pytest.approx(3 * one, rel=0.05)
