"""How long the operations of a step are reckoned to take on a CPU."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

SAMPLES = 1009
FEW = 4


@pytest.fixture
def seconds():
    """The seconds of each operation of a small convolution's training step, by its type."""
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_operations import Graph

    layer = keras.layers.Conv2D(3, 3)
    layer.build((None, 8, 8, 2))

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.nn.relu(layer(x)))
        return tape.gradient(loss, [x, layer.kernel.value])

    graph = Graph(step.get_concrete_function(tf.TensorSpec((SAMPLES, 8, 8, 2))).graph, SAMPLES)
    return lambda: dict(zip((op.type for op in graph.operations), graph.seconds(FEW), strict=True))


def test_that_of_a_few_samples_a_filter_s_gradient_takes_longest_and_convolutions_nearly_all(
    monkeypatch, seconds
):
    """What oneDNN takes to begin one is far more than all else, as traced."""
    from gpu_studio.trainer.answers import step_operations

    monkeypatch.setattr(step_operations, "ONE_DNN", True)
    took = seconds()
    convolving = {kind: took.pop(kind) for kind in list(took) if "Conv" in kind}
    assert max(convolving, key=convolving.__getitem__) == "Conv2DBackpropFilter"
    assert set(convolving) == {"Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"}
    assert min(convolving.values()) > 5 * sum(took.values())


def test_that_convolutions_of_other_kernels_begin_as_anything_does(monkeypatch, seconds):
    from gpu_studio.trainer.answers import step_operations

    monkeypatch.setattr(step_operations, "ONE_DNN", False)
    assert all(each < 1e-5 for each in seconds().values())
