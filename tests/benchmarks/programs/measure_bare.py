"""What the benchmarks of the Lab say, in turn with a bare loop of the same, in one process.

With the number of repetitions. Prints the seconds of each as JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.plan import Carve, DeviceSettings
from gpu_studio.plan.devices import default_devices
from gpu_studio.trainer.answers import benchmark_timing as timing
from gpu_studio.trainer.answers import benchmark_ways, benchmarks
from gpu_studio.trainer.devices import set_up

BARE_S = 0.5
SIZES = {"GPU": (8192, 256, 1 << 28), "CPU": (2048, 128, 1 << 24)}
"""Of the product, the convolution and the element-wise product: the largest that are measured."""


def main(times: int) -> dict[str, Any]:
    """Measure everything `times` times; the seconds of each pair by what it is."""
    cards = tf.config.list_physical_devices("GPU")
    carve = () if cards else (Carve("CPU:0", (0, 0)),)
    names = list(default_devices(set_up(DeviceSettings(carve=carve))))
    found: dict[str, Any] = {"device": names[0], "pairs": {}, "launched": [], "done": []}
    for _ in range(times):
        for what, ours, bare in (*computed(names[0]), *copied(names[0])):
            pair = found["pairs"].setdefault(what, ([], []))
            pair[0].append(ours)
            pair[1].append(bare)
        for row in benchmarks._launched(names[:1], None, lambda _said: None):
            found["launched"].append(median(row["launched"]))
            found["done"].append(median(row["seconds"]) * row["count"])
    return found


def computed(name: str) -> Iterator[tuple[str, float, float]]:
    """Each operation in the way of the benchmark, and in a loop that knows nothing of it."""
    made = zip(benchmarks._MAKERS.items(), SIZES[name[:3]], strict=True)
    for (what, maker), size in made:
        bare = in_a_loop(name, bare_operation(name, what, size))
        row, _ = maker(name, "float32", size)
        again = in_a_loop(name, bare_operation(name, what, size))
        ours = median(row["seconds"])
        yield f"{what} {size} on {name}", ours, min(bare, again)
        if what == "matmul" and row.get("reference"):
            yield f"matmul {size} on {name}, NumPy", ours, median(row["reference"])


def bare_operation(name: str, what: str, size: int) -> Callable[[], Any]:
    """The operation on tensors of its own."""
    shapes: dict[str, list[tuple[int, ...]]] = {
        "matmul": [(size, size)] * 2,
        "convolution": [(8, 28, 28, size), (3, 3, size, size)],
        "element-wise": [(size,)] * 2,
    }
    with tf.device(name):
        left, right = (tf.random.uniform(shape) for shape in shapes[what])
    if what == "matmul":
        return lambda: tf.matmul(left, right)
    if what == "convolution":
        return lambda: tf.nn.conv2d(left, right, 1, "VALID")
    return lambda: left * right


def in_a_loop(name: str, operation: Callable[[], Any]) -> float:
    """The seconds of one call, of as many as fill some time, with one read at the end."""
    with tf.device(name):
        seconds_of(operation, 3)
        count = max(3, round(BARE_S / seconds_of(operation, 3)))
        return seconds_of(operation, count)


def seconds_of(operation: Callable[[], Any], count: int) -> float:
    """The seconds of one call, of so many."""
    began = time.perf_counter()
    for _ in range(count):
        result = operation()
    tf.reshape(result, [-1])[0].numpy()
    return (time.perf_counter() - began) / count


def copied(name: str) -> Iterator[tuple[str, float, float]]:
    """What copies are held against, and `memcpy` of as many bytes, timed alike."""
    for amount in benchmark_ways.COPIED[-2:]:
        before = memcpy_seconds(amount)
        row = benchmark_ways._one_copy("host", name, amount)
        bare = min(before, memcpy_seconds(amount))
        yield f"the host's own copy, {amount >> 20} MiB", min(row["reference"]), bare


def memcpy_seconds(amount: int) -> float:
    """The least seconds of a `memcpy`, of as many repeats as the benchmark's."""
    source, target = np.ones(amount, np.uint8), np.empty(amount, np.uint8)
    addresses = target.ctypes.data, source.ctypes.data

    def moved() -> None:
        ctypes.memmove(*addresses, amount)

    return min(timing.timed(moved, timing.no_wait) for _ in range(timing.REPEATS))


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
