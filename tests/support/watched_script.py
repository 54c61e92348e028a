"""Run the neighbouring `train.py`, and print where TensorFlow put its variables and operations.

A program: it is copied beside an exported script, and uses only Keras and TensorFlow.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# These carry values between devices and into functions; they compute nothing.
CARRIERS = {
    "_Send",
    "_Recv",
    "_HostSend",
    "_HostRecv",
    "_Arg",
    "_Retval",
    "_DeviceArg",
    "_DeviceRetval",
}
NOTHING = CARRIERS | {"Const", "Identity", "IdentityN", "NoOp"}


def device_of(name: str) -> str:
    """The `CPU:1` of TensorFlow's `/job:localhost/replica:0/task:0/device:CPU:1`."""
    return name.rpartition("device:")[2]


def main() -> None:
    """Train as the script does; then say what was seen."""
    sys.path.append(str(Path(__file__).parent))
    script: Any = import_module("train")
    from tensorflow.python.eager import context  # not before the script has set the environment

    make_steps = script.make_steps

    def watched(model: Any, optimizer: Any, *more: Any) -> Any:
        for variable in [*model.variables, *optimizer.variables]:
            print("lies", variable.path, device_of(variable.value.device))
        context.context().enable_run_metadata()
        return make_steps(model, optimizer, *more)

    script.make_steps = watched
    script.main()
    graphs = [
        graph
        for each in context.context().export_run_metadata().function_graphs
        for graph in each.partition_graphs
    ]
    ran = {
        (node.name, device_of(node.device))
        for graph in graphs
        for node in graph.node
        if node.op not in NOTHING
    }
    for name, device in sorted(ran):
        print("ran", name, device)


if __name__ == "__main__":
    main()
