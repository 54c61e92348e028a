"""What the benchmarks of the Lab say, in turn with a bare loop of the same, in one process.

With the number of repetitions. Prints the seconds of each as JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.plan import Carve, DeviceSettings, Plan
from gpu_studio.plan.devices import default_devices
from gpu_studio.trainer.answers import benchmark_timing as timing
from gpu_studio.trainer.answers import benchmark_transfers, benchmarks
from gpu_studio.trainer.cuda_libraries import load_packaged
from gpu_studio.trainer.devices import set_up

BARE_S = 0.1
ROUNDS = 4
SIZES = {"GPU": (8192, 256, 1 << 28), "CPU": (2048, 128, 1 << 24)}
"""Of the product, the convolution and the element-wise product: the largest that are measured."""


def main(times: int) -> dict[str, Any]:
    """Measure everything `times` times; the seconds of each pair by what it is."""
    load_packaged()
    cards = tf.config.list_physical_devices("GPU")
    carve = () if cards else (Carve("CPU:0", (0, 0)),)
    plan = Plan(devices=DeviceSettings(carve=carve))
    names = list(default_devices(set_up(plan)))
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
    """Each operation in the way of the benchmark, and in a loop that knows nothing of it.

    They take turns, as often one as the other, and the medians of both count: the better of two
    long loops against the median of short ones would be ahead by the noise of the machine.
    """
    made = zip(benchmarks._MAKERS.items(), SIZES[name[:3]], strict=True)
    for (what, maker), size in made:
        operation = bare_operation(name, what, size)
        turns = InTurn(partial(in_a_loop, name, operation))
        with turns:
            row, _ = maker(name, "float32", size)
        ours = median(row["seconds"])
        yield f"{what} {size} on {name}", ours, median(turns.bare)
        if what == "matmul" and row.get("reference"):
            yield f"matmul {size} on {name}, NumPy", ours, median(row["reference"])


class InTurn:
    """While it is in force, the benchmark's repeats take turns with a `bare` loop."""

    def __init__(self, loop: Callable[[], float]) -> None:
        self._loop = loop
        self._kept: Callable[..., tuple[list[float], list[float]]] = timing.repeated
        self.bare: list[float] = []

    def __enter__(self) -> None:
        vars(benchmarks)["repeated"] = self._repeated

    def __exit__(self, *_error: object) -> None:
        vars(benchmarks)["repeated"] = self._kept

    def _repeated(self, *arguments: Any) -> tuple[list[float], list[float]]:
        mine, others = list[float](), list[float]()
        for turn in range(timing.REPEATS):
            if turn % 2:
                self.bare.append(self._loop())
            one, other = self._kept(*arguments, repeats=1)
            mine, others = [*mine, *one], [*others, *other]
            if not turn % 2:
                self.bare.append(self._loop())
        return mine, others


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
    """What copies are held against, and `memcpy` of as many bytes.

    Both are timed in turn, each time in memory of their own that is made anew: how its pages lie
    decides a fifth of the time of a large copy, and neither shall have the better ones for good.
    """
    for amount in benchmark_transfers.COPIED[-2:]:
        ours, bare = list[float](), list[float]()
        for _ in range(ROUNDS):
            bare.append(memcpy_seconds(amount))
            ours += benchmark_transfers._one_copy("host", name, amount)["reference"]
            bare.append(memcpy_seconds(amount))
        yield f"the host's own copy, {amount >> 20} MiB", median(ours), median(bare)


def memcpy_seconds(amount: int) -> float:
    """The seconds of a `memcpy`, timed as the benchmark's."""
    source = np.ones(amount, np.uint8)
    target = np.empty_like(source)
    addresses = target.ctypes.data, source.ctypes.data

    def moved() -> None:
        ctypes.memmove(*addresses, amount)

    moved()
    return timing.timed(moved, timing.no_wait)


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
