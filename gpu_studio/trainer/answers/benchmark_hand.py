"""Execute operations on the devices that a person chose, and tell which TensorFlow really took.

All operations are one function. Where each was executed is read from the graphs that TensorFlow has
placed, optimised and cut, one for each device; what its log of placements says is shown beside it.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from gpu_studio.trainer.answers.benchmark_timing import (
    WARM_UP,
    arrived,
    from_host,
    repeated,
    row_of,
)

Say = Callable[[Any], None]
"""Says a text (what is done now) or a row (what was measured)."""

RECORDED: Final = 5
"""So many calls are recorded to learn how long each operation takes."""
ALL: Final = "all"
_LOGGED: Final = re.compile(r"^(placed_\d+/\w+): \(\w+\): (\S+)$", re.ASCII | re.MULTILINE)
_ROWS, _COLUMNS = 3, 7
"""The part of each result that is checked."""


def by_hand(about: Mapping[str, Any], names: Sequence[str], say: Say) -> Iterator[dict[str, Any]]:
    """Say a row for each of the `operations` in `about`, for what was sent, and for all together.

    If TensorFlow refuses, a row of each operation has its words in `reported`.
    """
    import tensorflow as tf

    from gpu_studio.trainer.step_recording import logical_name

    # Results are held against exact ones, which products in TF32 miss by a thousandth.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    say("placing the operations")
    operations, side = list(about["operations"]), int(about["side"])
    given = _given(operations, side)
    function = _function(operations)
    try:
        results, graphs, log = _first_call(function, given)
    except tf.errors.OpError as error:
        words = str(error.message).strip().splitlines()[0]
        yield from (_row(one, side, reported=words) for one in operations)
        return
    spent = _spent(function, given, say)
    executed = {node.name: node.device for graph in graphs for node in graph.node}
    used: list[str] = []
    for place, one in enumerate(operations):
        node = _node(place, one)
        used.append(logical_name(executed.get(node, results[place].backing_device)))
        yield _row(
            one,
            side,
            devices=used[-1:],
            seconds=spent.get(node, []),
            error=_error(one, place, operations, given, results),
            reported=log.get(node, ""),
            # TensorFlow executes once what would give the same twice.
            why_not="" if node in executed else "another gives the same: executed once for both",
        )
    yield from _sent(graphs, operations, side)
    yield _together(function, given, operations, side, list(dict.fromkeys(used)), names[0], say)


def _function(operations: Sequence[Mapping[str, Any]]) -> Any:
    """All operations as a function, whose name begins theirs in the log."""
    import tensorflow as tf

    def placed(tensors: Any) -> Any:
        return _built(operations, tensors)

    return tf.function(placed, autograph=False)


def _row(one: Mapping[str, Any], side: int, **more: Any) -> dict[str, Any]:
    flops = 2.0 * side**3 if one["kind"] == "matmul" else float(side**2)
    named = {"name": one["name"], "inputs": one["inputs"], "asked": one["device"], "flops": flops}
    return row_of(one["kind"], more.pop("devices", []), side, **named, **more)


def _node(place: int, one: Mapping[str, Any]) -> str:
    """The name of an operation in the graph, unique whatever a person calls it."""
    return f"placed_{place}/{one['name']}"


# The function


def _kinds() -> dict[str, tuple[int, Callable[..., Any]]]:
    """How many matrices each kind takes, and what makes it."""
    import tensorflow as tf

    raw = tf.raw_ops
    return {
        "matmul": (2, lambda x, y, name: raw.MatMul(a=x, b=y, name=name)),
        "add": (2, lambda x, y, name: raw.AddV2(x=x, y=y, name=name)),
        "subtract": (2, lambda x, y, name: raw.Sub(x=x, y=y, name=name)),
        "multiply": (2, lambda x, y, name: raw.Mul(x=x, y=y, name=name)),
        "relu": (1, lambda x, name: raw.Relu(features=x, name=name)),
        "tanh": (1, lambda x, name: raw.Tanh(x=x, name=name)),
        "softmax": (1, lambda x, name: raw.Softmax(logits=x, name=name)),
        "transpose": (1, lambda x, name: raw.Transpose(x=x, perm=[1, 0], name=name)),
    }


def _given(operations: Sequence[Mapping[str, Any]], side: int) -> list[list[Any]]:
    """Make up what each operation takes besides the results of others, on the host."""
    import numpy as np
    import tensorflow as tf

    random, kinds = np.random.default_rng(0), _kinds()
    with tf.device("/device:CPU:0"):
        return [
            [
                from_host(random.uniform(-1, 1, (side, side)).astype(np.float32))
                for _ in range(kinds[one["kind"]][0] - len(one["inputs"]))
            ]
            for one in operations
        ]


def _built(operations: Sequence[Mapping[str, Any]], given: Sequence[Sequence[Any]]) -> list[Any]:
    import tensorflow as tf

    made: dict[str, Any] = {}
    for place, one in enumerate(operations):
        taken = [*(made[name] for name in one["inputs"]), *given[place]]
        with tf.device(f"/device:{one['device']}" if one["device"] else None):
            made[one["name"]] = _kinds()[one["kind"]][1](*taken, name=_node(place, one))
    return list(made.values())


def _first_call(function: Any, given: Any) -> tuple[list[Any], list[Any], dict[str, str]]:
    """Return the results, the graphs that were executed, and the device of each in the log."""
    from gpu_studio.trainer.step_recording import watched_graphs

    with _own_output() as said, watched_graphs() as graphs:
        results = function(given)
        for each in results:
            arrived(each)
    return results, graphs, dict(_LOGGED.findall(said[0]))


@contextmanager
def _own_output() -> Iterator[list[str]]:
    """Put into the list, on leaving, what this process has meanwhile written to its stdout.

    TensorFlow's C++ writes the log of placements there, past Python.
    """
    said: list[str] = []
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield said
        finally:
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))


# What was executed


def _spent(function: Any, given: Any, say: Say) -> dict[str, list[float]]:
    """Return the seconds of each operation in some calls, by its name; nothing if unknown."""
    from gpu_studio.trainer.step_recording import Executed, if_possible, profiled

    say("recording the operations")
    with if_possible(profiled, list[Executed]()) as executed:
        for _ in range(RECORDED):
            for each in function(given):
                arrived(each)
    took: dict[str, list[float]] = {}
    for one in executed:
        took.setdefault(one.name, []).append(one.end - one.begin)
    # A card may need several kernels for one: then only their sum is known.
    return {
        name: each if len(each) == RECORDED else [sum(each) / RECORDED]
        for name, each in took.items()
    }


def _sent(
    graphs: Sequence[Any], operations: Sequence[Mapping[str, Any]], side: int
) -> Iterator[dict[str, Any]]:
    """Say a row of each result that was sent from one device to another."""
    from gpu_studio.trainer.placed.proof import sends

    names = {_node(place, one): one["name"] for place, one in enumerate(operations)}
    for sent in sends(graphs):
        if sent.name in names:
            directions, bytes_sent = [sent.from_device, sent.to_device], 4.0 * side**2
            taken = [names[taker] for taker in sent.takers if taker in names]
            yield row_of(
                "sent",
                directions,
                int(bytes_sent),
                bytes=bytes_sent,
                name=names[sent.name],
                inputs=taken,
            )


def _error(
    one: Mapping[str, Any],
    place: int,
    operations: Sequence[Mapping[str, Any]],
    given: Sequence[Sequence[Any]],
    results: Sequence[Any],
) -> float:
    """Return the largest difference of a part of the result from that of NumPy, in 64 bits."""
    import numpy as np
    import tensorflow as tf

    places = {each["name"]: number for number, each in enumerate(operations)}
    taken = [*(results[places[name]] for name in one["inputs"]), *given[place]]
    with tf.device("/device:CPU:0"):
        found = results[place][:_ROWS, :_COLUMNS].numpy().astype(np.float64)
        rows = [each[:_ROWS].numpy().astype(np.float64) for each in taken]
        columns = [each[:, :_COLUMNS].numpy().astype(np.float64) for each in taken]
    wanted = _true(one["kind"], rows, columns)
    return float(abs(found - wanted).max() / max(abs(wanted).max(), 1e-30))


def _true(kind: str, rows: Sequence[Any], columns: Sequence[Any]) -> Any:
    """Return the first rows and columns of the true result, from those of what was taken."""
    import numpy as np

    parts = [each[:, :_COLUMNS] for each in rows]
    match kind:
        case "matmul":
            return rows[0] @ columns[1]
        case "add":
            return parts[0] + parts[1]
        case "subtract":
            return parts[0] - parts[1]
        case "multiply":
            return parts[0] * parts[1]
        case "relu":
            return np.maximum(parts[0], 0)
        case "tanh":
            return np.tanh(parts[0])
        case "softmax":
            power = np.exp(rows[0] - rows[0].max(axis=1, keepdims=True))
            return (power / power.sum(axis=1, keepdims=True))[:, :_COLUMNS]
    return columns[0][:_COLUMNS, :_ROWS].T  # transpose


def _together(
    function: Any,
    given: Any,
    operations: Sequence[Mapping[str, Any]],
    side: int,
    used: Sequence[str],
    first: str,
    say: Say,
) -> dict[str, Any]:
    """Time all operations on what they `used`, in turn with the same on the `first` device."""
    import tensorflow as tf

    alone = [{**one, "device": first} for one in operations]
    on_one = tf.function(lambda tensors: _built(alone, tensors), autograph=False)

    def waited(results: Any) -> None:
        for each in results:
            arrived(each)

    say(f"all operations, and the same on {first}")
    for _ in range(WARM_UP):
        waited(function(given))
        waited(on_one(given))
    seconds, others = repeated(
        lambda: function(given), waited, lambda: waited(on_one(given)), pause_s=0.0
    )
    flops = sum(_row(one, side)["flops"] for one in operations)
    held = {"reference": others, "reference_name": f"the same on {first}"}
    return row_of(ALL, used, side, seconds=seconds, flops=float(flops), **held)
