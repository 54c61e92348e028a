"""How fast tensors go from device to device, and that logical CPUs hand them over."""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python

pytestmark = pytest.mark.slow

ADDRESSES = """
import json
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

card = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(card, [tf.config.LogicalDeviceConfiguration()] * 2)

@tf.function
def across(x):
    with tf.device("CPU:1"):
        return tf.reshape(x, (2, -1))

with tf.device("CPU:0"):
    sent = tf.fill((1 << 20,), 1.0)
eager = context.context()
eager.enable_run_metadata()
came = across(sent)
made = eager.export_run_metadata().function_graphs
nodes = [node for each in made for graph in each.partition_graphs for node in graph.node]
address = lambda x: np.frombuffer(memoryview(x), np.float32).ctypes.data
reshaped = [node.device[-5:] for node in nodes if node.op == "Reshape"]
print(json.dumps([reshaped, address(sent) == address(came)]))
"""


@pytest.fixture
def took(monkeypatch):
    """Make a transfer take so long: a fixed time, and so many bytes a second.

    More than `room` bytes have no room.
    """
    import tensorflow as tf

    from gpu_studio.trainer.answers import measurements

    def set_up(rate, room=float("inf")):
        def seconds(_source, _target, size):
            if size > room:
                raise tf.errors.ResourceExhaustedError(None, None, "no room")
            return 1e-4 + size / rate

        monkeypatch.setattr(measurements, "_seconds", seconds)
        return measurements.bandwidth("GPU:0", "GPU:1")

    return set_up


@pytest.mark.parametrize("rate", [1e8, 2.5e10, 9e11])
def test_that_what_a_transfer_takes_whatever_its_size_falls_out(took, rate):
    assert took(rate) == pytest.approx(rate)


def test_that_what_is_faster_than_any_link_was_not_copied(took):
    assert took(float("inf")) is None


def test_that_a_small_slice_is_measured_with_a_smaller_tensor_and_a_tiny_one_not(took):
    assert took(1e10, room=2e7) == pytest.approx(1e10)
    assert took(1e10, room=2e6) is None


def test_that_logical_processors_hand_a_tensor_over_where_it_lies():
    command = [*warm_python.command("-c"), ADDRESSES]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == [["CPU:1"], True]
