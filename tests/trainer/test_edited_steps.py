"""What is changed in the graph of a step: turns at once, and what comes first."""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import PLAIN_STEPS, UNJUDGED, small_plan

from gpu_studio.plan import dumps

pytestmark = pytest.mark.slow

PLACED, RECOMPUTED = 2, 3
"""The numbers of the plan whose layers are placed, and of that where they are recomputed."""
GRAPHS_OF_STEPS = """
import json, sys
from pathlib import Path
import keras, tensorflow as tf
from gpu_studio import plan as plans
from gpu_studio.trainer import session, step_gradients

def model(*_):
    class Doubling(keras.layers.Layer):
        def call(self, x):
            # As many turns at once as Keras' recurrent layers have.
            return tf.map_fn(lambda row: 2 * row, x, parallel_iterations=32)
    layers = keras.layers
    rows = layers.Bidirectional(layers.LSTM(4, return_sequences=True))
    last = [layers.GRU(3), Doubling(), layers.LayerNormalization(), layers.Dense(10)]
    first = [layers.Conv2D(1, 3, padding="same", name=name) for name in ("lower", "upper")]
    frozen = layers.Conv2D(1, 3, padding="same", name="frozen", trainable=False)
    image = keras.Input((28, 28, 1))
    return keras.Sequential([image, *first, frozen, layers.Reshape((28, 28)), rows, *last])

def operations_of(graph):
    bodies = [graph, *(f.graph for f in graph._functions.values() if hasattr(f, "graph"))]
    return [op for each in bodies for op in each.get_operations()]

def turns_at_once(operations):
    loops = [op for op in operations if op.type.endswith("While")]
    return [(op.name, op.get_attr("parallel_iterations")) for op in loops]

def filters_first(operations, layer):
    inputs = [op for op in operations if layer in op.name and "BackpropInput" in op.type]
    return [[each.type for each in op.control_inputs] for op in inputs]

def shapes_first(operations):
    places = {op.name: place for place, op in enumerate(operations)}
    shapes = [op for op in operations if op.type == "Shape" and "gradients" in op.name]
    waits = []
    for op in shapes:
        takers = op.inputs[0].consumers()
        earlier = [each for each in takers if places[each.name] < places[op.name]]
        waits += [op in each.control_inputs for each in earlier if each.device == op.device]
    return waits

vars(session)["build_model"] = model
vars(step_gradients)["_is_on_card"] = lambda op: ON_CARDS
found = {}
for text in json.load(open(sys.argv[1])):
    plan = plans.loads(text)
    ON_CARDS = plan.training.batch_size != 8
    made = session.build(plan, Path(), lambda event: None)
    step = made.program._train.get_concrete_function(
        made.training_stream(0, 0), tf.constant(0, tf.int64), tf.constant(1)
    )
    made = operations_of(step.graph)
    layers = "upper", "frozen"
    filters = [filters_first(made, each) for each in layers]
    found[text] = turns_at_once(made), *filters, shapes_first(made)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """By plan, the turns at once of each loop, and what each gradient of an input comes after."""
    two = 'distribution.devices=["CPU:0", "CPU:1"]'
    settings: list[tuple[str, ...]] = [
        ("distribution.strategy=none",),
        ("distribution.strategy=mirrored", two),
        ("distribution.strategy=placed",),
        ("distribution.strategy=placed", "distribution.placed.recompute=true"),
        ("distribution.strategy=none", "training.jit_compile=true"),
        ("distribution.strategy=none", "training.batch_size=8"),
    ]
    plans = [small_plan(*each, *PLAIN_STEPS, *UNJUDGED) for each in settings]
    folder = tmp_path_factory.mktemp("edited")
    (folder / "plans.json").write_text(json.dumps(list(map(dumps, plans))))
    done = subprocess.run(
        [*warm_python.command("-c"), GRAPHS_OF_STEPS, "plans.json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == len(plans)
    return list(told.values())


def test_that_recurrent_layers_run_two_turns_at_once_in_a_step_and_other_loops_as_written(found):
    """Keras has 32 at once: those of a thread that stands still fill a third of a step's memory."""
    for loops, *_ in found:
        recurrent = [turns for name, turns in loops if "lstm" in name or "gru" in name]
        assert len(recurrent) >= 6  # three layers, there and back
        assert set(recurrent) == {2}
        assert {turns for name, turns in loops if "doubling" in name} == {32}


def test_that_a_card_computes_the_gradient_of_a_filter_before_that_of_the_input(found):
    *on_cards, by_xla, on_cpu = [ordered for _, ordered, *_ in found]
    for ordered in on_cards:
        assert ordered
        assert all(before == ["Conv2DBackpropFilter"] for before in ordered)
    assert by_xla == [[]]  # it has an order of its own
    assert on_cpu == [[]]  # both side by side


def test_that_no_gradient_waits_for_that_of_a_frozen_filter_which_nobody_takes(found):
    """TensorFlow prunes it, unless something waits for it: then a card would compute it."""
    for number, (_, _, ordered, _) in enumerate(found):
        assert ordered
        if number != RECOMPUTED:  # of which TensorFlow computes all gradients at once
            assert not any(ordered)


def test_that_a_placed_step_reads_shapes_that_gradients_need_before_others_take_the_tensor(found):
    """Its micro-batches are of a size that only the step knows."""
    for number, (*_, waits) in enumerate(found):
        assert waits
        assert any(waits) == (number in (PLACED, RECOMPUTED))
