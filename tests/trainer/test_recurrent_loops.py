"""How many turns of a loop run at once in a training step."""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python
from patience import PATIENCE_S
from training_runs import small_plan

from gpu_studio.plan import dumps

pytestmark = pytest.mark.slow

LOOPS_OF_STEPS = """
import json, sys
from pathlib import Path
import keras, tensorflow as tf
from gpu_studio import plan as plans
from gpu_studio.trainer import session

def model(*_):
    class Doubling(keras.layers.Layer):
        def call(self, x):
            # As many turns at once as Keras' recurrent layers have.
            return tf.map_fn(lambda row: 2 * row, x, parallel_iterations=32)
    layers = keras.layers
    rows = layers.Bidirectional(layers.LSTM(4, return_sequences=True))
    last = [layers.GRU(3), Doubling(), layers.Dense(10)]
    return keras.Sequential([keras.Input((28, 28, 1)), layers.Reshape((28, 28)), rows, *last])

def turns_at_once(graph):
    bodies = [graph, *(f.graph for f in graph._functions.values() if hasattr(f, "graph"))]
    loops = [op for each in bodies for op in each.get_operations() if op.type.endswith("While")]
    return [(op.name, op.get_attr("parallel_iterations")) for op in loops]

vars(session)["build_model"] = model
found = {}
for text in json.load(open(sys.argv[1])):
    plan = plans.loads(text)
    made = session.build(plan, Path(), lambda event: None)
    step = made.program._train.get_concrete_function(
        made.training_stream(0, 0), tf.constant(0, tf.int64), tf.constant(1)
    )
    found[str(plan.distribution)] = turns_at_once(step.graph)
print(json.dumps(found))
"""


def test_that_recurrent_layers_run_two_turns_at_once_in_a_step_and_other_loops_as_written(tmp_path):
    """Keras has 32 at once: those of a thread that stands still fill a third of a step's memory."""
    plans = [small_plan(f"distribution.strategy={each}") for each in ("none", "mirrored", "placed")]
    plans.append(small_plan("distribution.strategy=placed", "distribution.placed.recompute=true"))
    (tmp_path / "plans.json").write_text(json.dumps(list(map(dumps, plans))))
    done = subprocess.run(
        [*warm_python.command("-c"), LOOPS_OF_STEPS, "plans.json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == len(plans)
    for loops in found.values():
        recurrent = [turns for name, turns in loops if "lstm" in name or "gru" in name]
        assert len(recurrent) >= 6  # three layers, there and back
        assert set(recurrent) == {2}
        assert {turns for name, turns in loops if "doubling" in name} == {32}
