"""The graphs that TensorFlow executes: placed, optimised, and cut into one graph per device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import tensorflow as tf
from tensorflow.python.eager import context

SENDS: Final = ("_Send", "_HostSend")
RECEIVES: Final = ("_Recv", "_HostRecv")
"""The types of the operations that carry a tensor from one of these graphs to another."""


@contextmanager
def watched_graphs() -> Iterator[list[Any]]:
    """Fill the list, on leaving, with the graphs of functions that TensorFlow built meanwhile."""
    graphs: list[Any] = []
    eager = context.context()
    eager.enable_run_metadata()
    try:
        _forget_earlier_graphs(eager)
        yield graphs
        made = eager.export_run_metadata().function_graphs
        graphs += [graph for each in made for graph in each.partition_graphs]
    finally:
        eager.disable_run_metadata()


def _forget_earlier_graphs(eager: Any) -> None:
    """Drop the graphs of earlier functions, which TensorFlow would return with the next ones."""
    tf.function(lambda: tf.constant(0), autograph=False)()
    eager.export_run_metadata()


def logical_name(device: str) -> str:
    """`CPU:1` of TensorFlow's `/job:localhost/replica:0/task:0/device:CPU:1`.

    Empty for no device.
    """
    return device.rpartition("device:")[2]


def devices_in(graphs: Iterable[Any]) -> dict[str, str]:
    """Return the logical device of each operation, by name, and the sender of each edge, by name.

    A card's profile names a copy by its edge.
    """
    found: dict[str, str] = {}
    for node in (node for graph in graphs for node in graph.node):
        device = logical_name(node.device)
        found[node.name] = device
        if node.op in SENDS:
            found[node.attr["tensor_name"].s.decode()] = device
    return found
