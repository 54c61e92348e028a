"""In which order a card computes what gradients need."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("on_card", [True, False])
def test_that_a_card_reads_the_shapes_that_gradients_need_before_a_sum_is_made(
    on_card, monkeypatch
):
    """As long as they are not read both terms lie there, and the sum has memory of its own."""
    import tensorflow as tf

    from gpu_studio.trainer import step_gradients

    monkeypatch.setattr(step_gradients, "_is_on_card", lambda op: on_card)

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = tf.identity(tf.sin(x) + tf.cos(x[:1]), name="made")
            loss = tf.reduce_sum(made * made)
        gradients = [tape.gradient(loss, x), None]
        step_gradients.shapes_first(gradients)
        return gradients[0]

    concrete = step.get_concrete_function(tf.TensorSpec((None, 3)))
    operations = concrete.graph.get_operations()
    made = next(op for op in operations if op.name == "made").inputs[0].op
    terms = {x.ref() for x in made.inputs}
    shapes = {op for op in operations if op.type == "Shape" and op.inputs[0].ref() in terms}
    first = {op for op in shapes if op.inputs[0] is made.inputs[0]}
    assert len(shapes) == 2 * len(first) == 2
    # That of the other may be read later: one term is enough, and only the first is as large.
    assert set(made.control_inputs) == (first if on_card else set())
    # It can be run: no edge closes a circle, and what is of the gradients waits for none.
    assert concrete(tf.ones((4, 3))).shape == (4, 3)
    late = {taker for op in shapes for taker in op.inputs[0].consumers()} - {made} - shapes
    assert not any(op.control_inputs for op in late)
