"""Rewrite the graph of a step in a process of its own.

TensorFlow's optimizer of graphs may end the process that it is in, and with it a failure that is
still to be reported.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from gpu_studio.common.processes import module_command, module_environment
from gpu_studio.trainer.environment import leave

if TYPE_CHECKING:
    from gpu_studio.trainer.answers.rewritten_graph import RewrittenGraph

PATIENCE_S = 180.0
"""TensorFlow is imported within seconds, and a graph rewritten within one: by a machine that has
nothing else to do."""
_WITHOUT_CARDS = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
_LENGTH_BYTES = 8


def rewritten_apart(graph: Any) -> RewrittenGraph:
    """Return what `rewritten` does. Raises OSError or SubprocessError if the process failed."""
    from tensorflow.core.framework import graph_pb2

    from gpu_studio.trainer.answers.rewritten_graph import described, read_back, settings

    about, definition = settings().SerializeToString(), described(graph).SerializeToString()
    done = subprocess.run(
        module_command(__name__),
        input=len(about).to_bytes(_LENGTH_BYTES, "big") + about + definition,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=module_environment(_WITHOUT_CARDS),
        timeout=PATIENCE_S,
        check=True,
    )
    return read_back(graph, graph_pb2.GraphDef.FromString(done.stdout))


def main() -> None:
    """Rewrite the graph that is read, with the settings that come before it, and write it.

    Garbage collections would take a fifth of the time and free nothing.
    """
    gc.disable()
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2

    from gpu_studio.trainer.answers.rewritten_graph import optimised

    given = sys.stdin.buffer.read()
    end = _LENGTH_BYTES + int.from_bytes(given[:_LENGTH_BYTES], "big")
    about = config_pb2.ConfigProto.FromString(given[_LENGTH_BYTES:end])
    definition = meta_graph_pb2.MetaGraphDef.FromString(given[end:])
    sys.stdout.buffer.write(optimised(definition, about).SerializeToString())


if __name__ == "__main__":
    main()
    leave(0)
