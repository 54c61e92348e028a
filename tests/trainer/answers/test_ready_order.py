"""Which of the operations that become ready together comes first, as in the graph that is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

pytestmark = pytest.mark.slow


def test_that_gradients_of_filters_and_inputs_come_in_the_order_of_the_graph_that_is_run():
    """Of plain convolutions with a bias, of dilated and of separable ones.

    Where oneDNN joins some of them the order differs from one process to the next.
    """
    program = Path(__file__).parent / "programs" / "ready_order.py"
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert {*found["run"].values()} == {True, False}
    assert found["foreseen"] == found["run"]


@pytest.mark.parametrize(
    ("one_dnn", "expected"),
    [(0, ["Filter", "Bias", "Input", "Square"]), (1, ["Bias", "Square", "Input", "Filter"])],
)
def test_that_onednn_s_operations_come_behind_others_and_last_a_filter_s_with_a_bias(
    monkeypatch, one_dnn, expected
):
    import tensorflow as tf

    from gpu_studio.trainer.answers import ready_order

    monkeypatch.setattr(ready_order, "ONE_DNN", one_dnn)
    with tf.Graph().as_default() as graph:
        rows, window = tf.zeros((1, 4, 4, 2), name="rows"), tf.zeros((3, 3, 2, 2), name="window")
        made = tf.exp(rows, name="made")
        same = {"out_backprop": made, "strides": [1] * 4, "padding": "SAME"}
        tf.raw_ops.Conv2DBackpropFilter(
            input=rows, filter_sizes=window.shape, name="Filter", **same
        )
        tf.raw_ops.BiasAddGrad(out_backprop=made, name="Bias")
        tf.raw_ops.Conv2DBackpropInput(input_sizes=rows.shape, filter=window, name="Input", **same)
        tf.square(made, name="Square")
    operations = graph.get_operations()
    # That which the rewritten graph has no more is where what waits for it is.
    known = {op.name: place for place, op in enumerate(operations) if op.name != "window"}
    ranks = ready_order.ready_order(operations, known)
    names = {op.name: rank for op, rank in zip(operations, ranks, strict=True)}
    assert sorted(expected, key=names.__getitem__) == expected
    assert names["window"] > names["rows"]
