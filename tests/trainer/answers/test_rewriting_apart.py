"""What layers keep more as TensorFlow rewrites the graph of a step, wherever that is done."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_studio.placement.memory import predict
from gpu_studio.placement.memory_remedies import Needs, memory_remedies
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import (
    MIB,
    Card,
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    Training,
)

pytestmark = pytest.mark.slow

SAMPLES = 7
ROW = 6 * 4
"""The bytes of a sample in the tensors of this step."""
LAYERS = "first", "attention", "last"


@pytest.fixture
def traced(monkeypatch):
    """The trace of a step with a softmax of scaled numbers, as on a practice card."""
    import tensorflow as tf

    from gpu_studio.trainer.answers.step_trace import StepTrace

    monkeypatch.setenv("GPU_STUDIO_PRACTICE_LIBRARY", "/anywhere")
    image = tf.Variable(tf.ones((2, 2, 1, 1)))

    @tf.function(autograph=False)
    def step(x, weights):
        with tf.name_scope("while"), tf.GradientTape() as tape:
            tape.watch(weights)
            with tf.name_scope("first"):
                made = tf.matmul(x, weights)
            with tf.name_scope("attention"):
                rows = tf.reshape(tf.nn.softmax(0.25 * made), (SAMPLES, 2, 3, 1))
                made = tf.reshape(tf.nn.conv2d(rows, image, 1, "SAME"), (SAMPLES, 6))
            with tf.name_scope("last"):
                made = tf.matmul(made, weights)
            loss = tf.reduce_sum(made * made)
        return tape.gradient(loss, [weights, image])

    given = tf.TensorSpec((SAMPLES, 6)), tf.TensorSpec((6, 6))
    graph = step.get_concrete_function(*given).graph
    scopes = [(op, op.name.split("/")) for op in graph.get_operations()]
    made = [(op, names[1]) for op, names in scopes if names[0] == "while" and names[1] in LAYERS]
    ends = {layer: op.outputs[0] for op, layer in made}
    outputs = {layer: [[ends[layer]]] for layer in LAYERS}
    return StepTrace(graph, SAMPLES, {op.name: layer for op, layer in made}, outputs, [])


def costs(trace, rewriting):
    from gpu_studio.trainer.answers.step_trace import costs_of

    return costs_of(trace, rewriting=rewriting).layers


def test_that_a_term_that_is_moved_forward_is_kept_and_there_around_the_layer_and_its_kernels(
    traced,
):
    """Softmax times a factor, which the gradient of what was scaled needs, waits for it."""
    from gpu_studio.trainer.answers.rewritten_graph import rewritten

    before, after = costs(traced, None), costs(traced, rewritten)
    was = before["attention"]
    assert was.kernels
    assert after["attention"] == replace(
        was,
        kept_bytes=was.kept_bytes + ROW,
        around_bytes=was.around_bytes + ROW,
        kernels=tuple(each._replace(beside=each.beside + ROW) for each in was.kernels),
    )
    for layer in ("first", "last"):
        assert after[layer] == before[layer]


def test_that_a_graph_is_rewritten_in_another_process_as_in_this_one(traced):
    from gpu_studio.trainer.answers.rewriting_apart import rewritten_apart
    from gpu_studio.trainer.answers.rewritten_graph import rewritten

    here, apart = rewritten(traced.graph), rewritten_apart(traced.graph)
    assert [op.node_def for op in apart.operations] == [op.node_def for op in here.operations]
    assert costs(traced, rewritten_apart) == costs(traced, rewritten)


def test_that_a_crash_while_a_graph_is_rewritten_apart_leaves_the_traced_one(traced, monkeypatch):
    from gpu_studio.trainer.answers import rewriting_apart

    begun = []

    def crashing(module):
        begun.append(module)
        return [sys.executable, "-c", "import os; os.abort()"]

    monkeypatch.setattr(rewriting_apart, "module_command", crashing)
    assert costs(traced, rewriting_apart.rewritten_apart) == costs(traced, None)
    assert begun == ["gpu_studio.trainer.answers.rewriting_apart"]


CARD = Card(0, "GPU-made", "Practice card", "00000000:01:00.0", 8192, 0, practice=True)
MACHINE = Machine((CARD,), cpu_cores=2)
OPTIONS = {"width": 16, "heads": 4, "depth": 1, "feed_forward": 16, "dropout": 0.0}
PLACED = Plan(
    name="attentive",
    model=ModelSettings("transformer", options=OPTIONS),
    data=Data("synthetic", options={"shape": [96, 8], "samples": 20}),
    training=Training(batch_size=256),
)


def on_slices(limit_mib, layers, micro_batches=2):
    """The plan with the first half of the layers on a slice of a card, and the rest on another."""
    on = {name: (f"GPU:{2 * at // len(layers)}",) for at, name in enumerate(layers)}
    return replace(
        PLACED,
        devices=DeviceSettings(carve=(Carve("GPU:0", (limit_mib, limit_mib)),)),
        distribution=Distribution("placed", placed=Placed(micro_batches, on)),
    )


def near_the_border(without, checked, layers):
    """Limits in MiB, some of which only one of two predictions of some plan exceeds."""
    for count in (4, 8):
        plan = on_slices(4000, layers, count)
        low, high = (
            max(each.total for each in predict(plan, MACHINE, PlanFacts(model=facts))) // MIB
            for facts in (without, checked)
        )
        assert low + 2 < high
        yield from (low - 1, low + 1, (low + high) // 2, high - 1, high + 1)


def refused(remedies, plan, checked):
    """Of the remedies those with which the plan does not fit, as `check` predicts it."""
    found = []
    for remedy in remedies:
        memories = predict(remedy.make(plan), MACHINE, PlanFacts(model=checked))
        found += [remedy.label for each in memories if each.fits is False]
    return found


@pytest.mark.whole("tests/placement/test_memory_remedies.py")
def test_that_what_is_offered_after_a_failure_fits_as_the_plan_is_checked():
    """It is predicted from the same facts, terms that are moved forward among them."""
    from gpu_studio.trainer.answers import building
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.failures import FailureContext
    from gpu_studio.trainer.failures.out_of_memory import _facts

    dataset = load_data(PLACED.data, 0, Path())
    model = building.model_of(PLACED, dataset)
    checked = building.facts_of(PLACED.training, dataset, model)
    without = building.facts_of(PLACED.training, dataset, model, rewriting=None)
    failed = _facts(FailureContext(plan=PLACED), PLACED, dataset).model
    assert failed.graph == checked.graph != without.graph
    layers, wrong = [layer.name for layer in checked.graph.layers], []
    for limit_mib in near_the_border(without, checked, layers):
        plan = on_slices(limit_mib, layers)
        remedies = [*memory_remedies(Needs(plan, MACHINE, PlanFacts(model=failed)))]
        assert remedies
        assert refused(remedies, plan, checked) == []
        fewer = memory_remedies(Needs(plan, MACHINE, PlanFacts(model=without)))
        wrong += refused(fewer, plan, checked)
    # Without those terms some would be offered that are refused then.
    assert wrong
