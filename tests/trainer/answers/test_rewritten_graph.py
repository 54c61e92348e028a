"""Steps of models that are too large to be computed where somebody asks about them."""

from __future__ import annotations

from pathlib import Path

import made_data
import pytest

from gpu_studio.common.figures import KIB, MIB
from gpu_studio.plan import Training

pytestmark = pytest.mark.slow

STEPS = 64
FEW, MANY = 16, 3000
"""Samples of which a mask has 64 KiB, and 12 MiB."""


def traced(samples: int):
    """A graph with masks that depend on nothing but the number of samples; two are equal."""
    import tensorflow as tf

    @tf.function(autograph=False)
    def step(scores):
        def masked(rows, others):
            seen = tf.linalg.band_part(tf.ones((STEPS, STEPS), tf.bool), *rows)
            return tf.where(tf.logical_and(tf.ones_like(scores, tf.bool), seen), scores, others)

        return masked((-1, 0), 0.5), masked((-1, 0), 1.5), masked((0, -1), 2.5)

    return step.get_concrete_function(tf.TensorSpec((samples, STEPS, STEPS))).graph


def shown(graph) -> set[tuple[str, str, tuple[str, ...]]]:
    """The operations of a graph by name, with what they take."""
    operations = graph.get_operations()
    return {(op.name, op.type, tuple(x.name for x in op.inputs)) for op in operations}


def test_that_large_masks_become_the_constants_that_small_ones_do_but_are_not_computed() -> None:
    from gpu_studio.trainer.answers.rewritten_graph import large_constants, rewritten

    few, many = traced(FEW), traced(MANY)
    assert large_constants(few) == []
    assert [op.type for op in large_constants(many)] == ["LogicalAnd"] * 3
    found = rewritten(many)
    assert shown(found) == shown(rewritten(few))
    masks = [op for op in found.get_operations() if op.type == "Const" and op.outputs[0].shape.rank]
    assert [op.outputs[0].shape for op in masks] == [(MANY, STEPS, STEPS)] * 2, "equal ones are one"
    assert max(op.node_def.ByteSize() for op in masks) < 1000


def test_that_what_is_computed_from_samples_or_drawn_is_no_constant() -> None:
    import tensorflow as tf

    from gpu_studio.trainer.answers.rewritten_graph import large_constants

    @tf.function(autograph=False)
    def step(scores):
        drawn = tf.random.uniform((MANY, STEPS)) > tf.ones((MANY, STEPS))
        wider = tf.broadcast_to(tf.constant([True, False] * (STEPS // 2)), (MANY, STEPS, STEPS))
        return drawn, tf.logical_not(scores > tf.zeros_like(scores)), wider

    given = tf.TensorSpec((MANY, STEPS, STEPS))
    assert large_constants(step.get_concrete_function(given).graph) == []


@pytest.mark.parametrize(("steps", "constant"), [(300, True), (400, False)])
def test_that_a_mask_is_a_constant_up_to_the_size_to_which_tensorflow_makes_it_one(steps, constant):
    import tensorflow as tf

    from gpu_studio.trainer.answers.rewritten_graph import large_constants, rewritten

    def traced_for(samples):
        @tf.function(autograph=False)
        def step(scores):
            seen = tf.range(steps)[:, None] >= tf.range(steps)
            every = tf.logical_and(tf.ones_like(scores, tf.bool), seen)
            return tf.where(every, scores, 0.0)

        return step.get_concrete_function(tf.TensorSpec((samples, steps, steps))).graph

    few, many = traced_for(2), traced_for(120)
    found = shown(rewritten(few))
    assert (("LogicalAnd", "Const", ()) in found) is constant
    assert len(large_constants(many)) == constant
    assert shown(rewritten(many)) == found


def peak_bytes() -> int:
    """The most memory that this process has held since its peak was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(each.split()[1]) * KIB for each in lines if each.startswith("VmHWM:"))


def test_that_no_value_is_made_for_what_a_graph_takes() -> None:
    import tensorflow as tf

    from gpu_studio.trainer.answers.rewritten_graph import described, optimised, rewritten, settings

    def traced_for(samples):
        @tf.function(autograph=False)
        def step(images, scores):
            # The zeros would be left out if the shape were known, as of what is not fed. The other
            # sum becomes a product with a constant that waits for what is taken.
            return (images * (1 / 255) + 0.0) * 2.0, scores + scores

        given = tf.TensorSpec((samples, 128, 128, 4)), tf.TensorSpec((samples, 3))
        return step.get_concrete_function(*given).graph

    few, many = traced_for(4), traced_for(2048)
    assert shown(rewritten(many)) == shown(rewritten(few))
    definition = described(many)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = peak_bytes()
    optimised(definition, settings())
    assert peak_bytes() - before < 64 * MIB, "the images alone have 512 MiB"


WATCHED: list[str] = []


def asked_about(last, question=None):
    """The facts about a model of 64 units whose calls are noted, with this last layer."""
    import keras

    from gpu_studio.trainer.answers import building

    class Watched(keras.layers.Layer):
        def call(self, x):
            WATCHED.append(type(x).__name__)
            return x

    WATCHED.clear()
    inputs = keras.Input((64,))
    model = keras.Model(inputs, last(Watched()(inputs)))
    data = made_data.classes((64,), 4)
    if question is not None:
        return question(Training(), data, model)
    return building.facts_of(Training(), data, model, rehearsed=False)


def test_that_slots_take_no_memory_where_somebody_asks(monkeypatch) -> None:
    import keras

    from gpu_studio.trainer import keras_objects

    made, make = [], keras_objects.make_optimizer

    def noted(*about):
        made.append(make(*about))
        return made[-1]

    monkeypatch.setattr(keras_objects, "make_optimizer", noted)
    facts = asked_about(keras.layers.Dense(4))
    assert sum(facts.slots.values()) == 2 * 4 * (64 * 4 + 4)
    (optimizer,) = made
    has_value = {each.name: bool(each.value.is_initialized()) for each in optimizer.variables}
    assert has_value.pop("iteration")
    assert has_value.pop("learning_rate", True)
    assert len(has_value) == 4
    assert not any(has_value.values())


def test_that_only_runs_compute_samples_where_the_last_layer_tells_that_it_gives_scores() -> None:
    import keras

    from gpu_studio.trainer.keras_objects import learners_of

    asked_about(keras.layers.Dense(4), learners_of)
    assert "EagerTensor" in WATCHED, "the memory that this leaves is predicted"
    asked_about(keras.layers.Dense(4))
    assert "EagerTensor" not in WATCHED
    asked_about(keras.layers.Dense(4, kernel_initializer="zeros"))
    assert "EagerTensor" in WATCHED
