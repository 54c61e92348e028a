"""Benchmarks of the logical devices of a plan, in the process in which TensorFlow would train.

Each measurement is warmed up, repeated, and its result checked against NumPy's in float64. It is
said as a row as soon as it is there, so that nothing is lost if the process ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from gpu_studio import plan as plans
from gpu_studio.trainer.answers import benchmark_timing as timing
from gpu_studio.trainer.answers.benchmark_hand import by_hand
from gpu_studio.trainer.answers.benchmark_input import read_alone
from gpu_studio.trainer.answers.benchmark_timing import (
    WARM_UP,
    arrived,
    from_host,
    measured_or_why,
    no_wait,
    repeated,
    row_of,
    timed,
    why_not,
)
from gpu_studio.trainer.answers.benchmark_transfers import all_reduce, copies
from gpu_studio.trainer.environment import settle

Say = Callable[[Any], None]
"""Says a text (what is done now) or a row (what was measured)."""

LONGEST_S: Final = 1.5
"""Sizes of which one operation would take longer are left out."""
CALLS: Final = 50
SIZES: Final[Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "GPU": {
        "matmul": (1024, 2048, 4096, 8192),
        "convolution": (64, 128, 256),
        "element-wise": (1 << 20, 1 << 24, 1 << 28),
    },
    "CPU": {
        "matmul": (256, 512, 1024, 2048),
        "convolution": (32, 64, 128),
        "element-wise": (1 << 16, 1 << 20, 1 << 24),
    },
}
"""What is computed on each kind of device: sides, channels, and elements."""
SIDES: Final[Mapping[str, int]] = {"GPU": 4000, "CPU": 1000}
"""The side of the matrices of which fifty products are launched."""


def benchmark(about: dict[str, Any], progress: Say) -> tuple[dict[str, Any], bool]:
    """Measure the `benchmark` in `about` on the devices of its `plan`; say each row.

    The answer has TensorFlow's version and its devices. It never lasts: the machine may warm up.
    """
    plan = plans.loads(about["plan"])
    settle(plan)
    progress("importing TensorFlow")
    import tensorflow as tf

    from gpu_studio.trainer.devices import set_up

    tf.get_logger().setLevel("ERROR")
    logical = set_up(plan)
    names = list(plans.devices.default_devices(logical))
    if about["benchmark"] == "place":
        rows = by_hand(about, names, progress)
    elif about["benchmark"] == "input":
        rows = _explained(read_alone(plan, logical, progress))
    else:
        rows = _MEASURES[about["benchmark"]](names, logical, progress)
    for row in rows:
        progress(row)
    return {"tensorflow": tf.__version__, "devices": names}, False


def _explained(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Say what user's code or TensorFlow raises as a run would: in plain words."""
    from gpu_studio.trainer.errors import TrainerError
    from gpu_studio.trainer.failures import explain

    try:
        yield from rows
    except Exception as error:
        raise TrainerError(explain(error).message) from error


# Compute


def _compute(names: Sequence[str], _logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    for name in _one_of_each(names):
        for dtype in _types(name):
            if dtype == "tf32" and (why := _why_no_tf32()):
                yield row_of("matmul", [name], 0, dtype=dtype, why_not=why)
                continue
            for what, sizes in SIZES[name[:3]].items():
                yield from _over_sizes(what, sizes, name, dtype, say)


def _one_of_each(names: Sequence[str]) -> list[str]:
    """One CPU only: logical CPUs are the same processor."""
    cards = [name for name in names if name.startswith("GPU")]
    return cards or list(names[:1])


def _types(name: str) -> tuple[str, ...]:
    return (
        ("float32", "tf32", "bfloat16", "float16")
        if name.startswith("GPU")
        else ("float32", "bfloat16", "float16")
    )


def _why_no_tf32() -> str:
    """Say which card has no TF32, in which float32 would be computed again; empty if none."""
    import tensorflow as tf

    for card in tf.config.list_physical_devices("GPU"):
        capability = tf.config.experimental.get_device_details(card).get("compute_capability")
        if capability and tuple(capability) < (8, 0):
            return f"a card of compute capability {'.'.join(map(str, capability))} has no TF32"
    return ""


def _over_sizes(
    what: str, sizes: Iterable[int], name: str, dtype: str, say: Say
) -> Iterator[dict[str, Any]]:
    import tensorflow as tf

    for size in sizes:
        say(f"{what} {size}, {dtype}, {name}")
        tf.config.experimental.enable_tensor_float_32_execution(dtype == "tf32")
        try:
            row, longest = _MAKERS[what](name, dtype, size)
        # No kernel for a type, or no memory for a size: that is a finding, too.
        except (MemoryError, tf.errors.OpError) as error:
            yield row_of(what, [name], size, dtype=dtype, why_not=why_not(error))
            return
        yield row
        if longest > LONGEST_S / 8:
            return


def _arrays(shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    import numpy as np

    random = np.random.default_rng(0)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def _measured(
    what: str,
    name: str,
    size: int,
    dtype: str,
    arrays: Sequence[Any],
    operation: Callable[..., Any],
    beside: Callable[[], Any] | None,
    true: Callable[..., tuple[Any, Any]],
    beside_name: str = "NumPy",
    pause_s: float = 0.0,
    **work: float,
) -> tuple[dict[str, Any], float]:
    """Time an operation on a device, and another on the host, with a pause before each.

    `true` gives some of its numbers and the true ones.
    """
    import tensorflow as tf

    with tf.device(f"/device:{name}"):
        given = [tf.cast(from_host(each), _kept(dtype)) for each in arrays]
        for _ in range(WARM_UP):
            result = operation(*given)
            arrived(result)
        once = timed(lambda: operation(*given), arrived, once=True)
        found, wanted = true(result, [tf.cast(each, tf.float64).numpy() for each in given])
        seconds, others = repeated(lambda: operation(*given), arrived, beside, pause_s)
    error = float(abs(found - wanted).max() / max(abs(wanted).max(), 1e-30))
    held = {"reference": others, "reference_name": beside_name} if beside is not None else {}
    row = row_of(what, [name], size, dtype=dtype, seconds=seconds, error=error, **work, **held)
    return row, once


def _kept(dtype: str) -> str:
    return "float32" if dtype == "tf32" else dtype


def _matmul(name: str, dtype: str, size: int) -> tuple[dict[str, Any], float]:
    """Two square matrices: 2n³ operations."""
    import numpy as np
    import tensorflow as tf

    left, right = _arrays([(size, size), (size, size)])
    out = np.empty_like(left)
    on_cpu = name.startswith("CPU")

    def true(result: Any, given: list[Any]) -> tuple[Any, Any]:
        some = tf.cast(result[:3, :7], tf.float64).numpy()
        return some, given[0][:3] @ given[1][:, :7]

    return _measured(
        "matmul",
        name,
        size,
        dtype,
        (left, right),
        tf.linalg.matmul,
        (lambda: np.matmul(left, right, out=out)) if on_cpu else None,
        true,
        beside_name=_numpy_in(dtype),
        # NumPy's idle threads spin for a while, on the cores that TensorFlow's need.
        pause_s=timing.SPIN_S,
        flops=2.0 * size**3,
        bytes=3.0 * size**2 * _width(dtype),
    )


_BATCH, _SIDE, _WINDOW = 8, 28, 3


def _convolution(name: str, dtype: str, size: int) -> tuple[dict[str, Any], float]:
    """8 images of 28 × 28, 3 × 3, as many channels out as in: 2 · 8 · 26² · 9 · c² operations."""
    import numpy as np
    import tensorflow as tf

    images, kernel = _arrays([(_BATCH, _SIDE, _SIDE, size), (_WINDOW, _WINDOW, size, size)])
    out = _SIDE - _WINDOW + 1
    # The product that a convolution is, once each window is a row of a matrix.
    rows, columns = _arrays([(_BATCH * out**2, _WINDOW**2 * size), (_WINDOW**2 * size, size)])
    product = np.empty((len(rows), size), np.float32)
    on_cpu = name.startswith("CPU")

    def true(result: Any, given: list[Any]) -> tuple[Any, Any]:
        some = tf.cast(result[0, 5, 7], tf.float64).numpy()
        window = given[0][0, 5 : 5 + _WINDOW, 7 : 7 + _WINDOW]
        return some, np.einsum("hwc,hwco->o", window, given[1])

    def convolved(given: Any, by: Any) -> Any:
        return tf.nn.conv2d(given, by, strides=1, padding="VALID")

    moved = _BATCH * (_SIDE**2 + out**2) * size + _WINDOW**2 * size**2
    return _measured(
        "convolution",
        name,
        size,
        dtype,
        (images, kernel),
        convolved,
        (lambda: np.matmul(rows, columns, out=product)) if on_cpu else None,
        true,
        beside_name=f"a product of as many operations by {_numpy_in(dtype)}",
        pause_s=timing.SPIN_S,
        flops=2.0 * _BATCH * out**2 * _WINDOW**2 * size**2,
        bytes=float(moved * _width(dtype)),
    )


def _element_wise(name: str, dtype: str, size: int) -> tuple[dict[str, Any], float]:
    """A product of two vectors: two numbers are read and one is written for each operation."""
    import numpy as np
    import tensorflow as tf

    left, right = _arrays([(size,), (size,)])
    out = np.empty_like(left)
    on_cpu = name.startswith("CPU")

    def true(result: Any, given: list[Any]) -> tuple[Any, Any]:
        return tf.cast(result[:100], tf.float64).numpy(), given[0][:100] * given[1][:100]

    return _measured(
        "element-wise",
        name,
        size,
        dtype,
        (left, right),
        tf.multiply,
        (lambda: np.multiply(left, right, out=out)) if on_cpu else None,
        true,
        beside_name=_numpy_in(dtype),
        flops=float(size),
        bytes=3.0 * size * _width(dtype),
    )


def _numpy_in(dtype: str) -> str:
    return "NumPy" if dtype == "float32" else "NumPy in float32"


def _width(dtype: str) -> int:
    return 2 if dtype in ("float16", "bfloat16") else 4


_MAKERS: Final = {
    "matmul": _matmul,
    "convolution": _convolution,
    "element-wise": _element_wise,
}


# Launched against done


def _launched(names: Sequence[str], _logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    for name in _one_of_each(names):
        side = SIDES[name[:3]]
        say(f"{CALLS} multiplications of {side} × {side}, {name}")
        yield measured_or_why(partial(_calls_timed, name, side), "matmul", [name], side)


def _calls_timed(name: str, side: int) -> dict[str, Any]:
    """Time many products: until all calls have returned, and until the last result is there."""
    import tensorflow as tf

    with tf.device(f"/device:{name}"):
        left, right = (from_host(each) for each in _arrays([(side, side)] * 2))
        arrived(tf.linalg.matmul(left, right))
        launched, done = [], []
        for _ in range(3):
            began = time.perf_counter()
            for _ in range(CALLS):
                result = tf.linalg.matmul(left, right)
            launched.append(time.perf_counter() - began)
            arrived(result)
            done.append((time.perf_counter() - began) / CALLS)
    work = {"count": CALLS, "flops": 2.0 * side**3, "bytes": 12.0 * side**2}
    return row_of("matmul", [name], side, seconds=done, launched=launched, **work)


# One after another, and all at once


def _together(names: Sequence[str], _logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    import tensorflow as tf

    side = 4096 if names[0].startswith("GPU") else 512
    work = {"flops": 2.0 * side**3, "bytes": 12.0 * side**2}
    given = {}
    for name in names:
        with tf.device(f"/device:{name}"):
            given[name] = [from_host(each) for each in _arrays([(side, side)] * 2)]
            for _ in range(WARM_UP):
                arrived(tf.linalg.matmul(*given[name]))
    once = timed(lambda: _multiply(given[names[0]], names[0], 1), no_wait)
    calls = max(1, int(4 * timing.LEAST_S / once))
    seconds: dict[tuple[str, ...], list[float]] = {}
    for _ in range(timing.REPEATS):  # in turn, so that a machine that warms up does so for all
        for some in [*((name,) for name in names), tuple(names)]:
            say(f"{' and '.join(some)}")
            seconds.setdefault(some, []).append(_at_once(some, given, calls) / calls)
    for some, found in seconds.items():
        yield row_of("matmul", some, side, seconds=found, count=calls, **work)


def _multiply(given: Sequence[Any], name: str, calls: int) -> None:
    import tensorflow as tf

    with tf.device(f"/device:{name}"):
        for _ in range(calls):
            result = tf.linalg.matmul(*given)
        arrived(result)


def _at_once(names: Sequence[str], given: Any, calls: int) -> float:
    """Return how many seconds it takes until each device has done as many multiplications."""
    if len(names) == 1:
        began = time.perf_counter()
        _multiply(given[names[0]], names[0], calls)
        return time.perf_counter() - began
    gate = threading.Barrier(len(names) + 1)

    def work(name: str) -> None:
        gate.wait()
        _multiply(given[name], name, calls)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


_MEASURES: Final = {
    "compute": _compute,
    "launched": _launched,
    "together": _together,
    "copies": copies,
    "all-reduce": all_reduce,
}
