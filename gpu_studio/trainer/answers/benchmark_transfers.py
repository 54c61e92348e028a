"""Benchmarks of what goes between devices: copies, and the sum of what each device has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from gpu_studio.trainer.answers.benchmark_timing import (
    WARM_UP,
    NotMeasuredError,
    arrived,
    from_host,
    measured_or_why,
    repeated,
    row_of,
    timed,
)

Say = Callable[[Any], None]
"""Says a text (what is done now) or a row (what was measured)."""

COPIED: Final = (1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26)
REDUCED: Final = tuple(1 << power for power in range(10, 29, 2))
"""Bytes that are copied, and summed: 1 KiB to 256 MiB."""
COPY, PINNED, OVERLAPPED = "copy", "pinned copy", "overlapped copy"
SIDE: Final = 2048
"""The side of the matrices that are multiplied while something is copied."""
_NO_BUS: Final = "the CPU reads this memory itself: pinned or not, nothing else does"
_NOTHING_TO_OVERLAP: Final = "no byte is copied to the CPU: there is nothing to overlap with"


def copies(names: Sequence[str], _logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    """Measure copies from the host to each device, back, and between each two.

    Each is waited for. To and from a card, copies of pinned memory are measured besides, and such
    as go on while the card computes.
    """
    pairs = [("host", name) for name in names] + [(name, "host") for name in names]
    pairs += [(one, other) for one in names for other in names if one != other]
    for amount in COPIED:
        for source, target in list(pairs):
            say(f"{source} to {target}, {amount} bytes")
            measure = partial(_one_copy, source, target, amount)
            row = measured_or_why(measure, COPY, (source, target), amount, dtype="uint8")
            yield row
            if not row.get("seconds"):
                # TensorFlow tries for ten seconds: what is larger finds no memory either.
                pairs.remove((source, target))
    cards = [name for name in names if name.startswith("GPU")]
    if not cards:
        yield row_of(PINNED, ["host", names[0]], 0, dtype="uint8", why_not=_NO_BUS)
        yield row_of(OVERLAPPED, ["host", names[0]], 0, dtype="uint8", why_not=_NOTHING_TO_OVERLAP)
    for card in cards:
        for amount in COPIED:
            way = ("host", card)
            say(f"host to {card}, {amount} bytes, pinned")
            measure = partial(_one_copy, *way, amount, pinned=True)
            yield measured_or_why(measure, PINNED, way, amount, dtype="uint8")
        for way in (("host", card), (card, "host")):
            say(f"{' to '.join(way)} while {card} computes")
            measure = partial(_overlapped, *way, card, COPIED[-1])
            yield measured_or_why(measure, OVERLAPPED, way, COPIED[-1], dtype="uint8")


def _one_copy(source: str, target: str, amount: int, *, pinned: bool = False) -> dict[str, Any]:
    import numpy as np

    host = np.random.default_rng(0).integers(0, 256, amount, np.uint8)
    into = np.empty_like(host)
    card = next((name for name in (source, target) if name != "host"), "")
    tensor = _tensor_on(source, host, card if pinned else "")
    kind = _kind_of_memory(tensor) if source == "host" else ""
    if pinned and kind != "pinned":
        raise NotMeasuredError(f"TensorFlow gave {kind or 'unknown'} memory, none that is pinned")
    copied = partial(_copied, tensor, target)
    for _ in range(WARM_UP):
        result = copied()
        arrived(result)
    kind = kind or (_kind_of_memory(result) if target == "host" else "")
    seconds, others = repeated(copied, arrived, lambda: np.copyto(into, host))
    same = bool((result.numpy() == host).all())
    return row_of(
        PINNED if pinned else COPY,
        [source, target],
        amount,
        dtype="uint8",
        seconds=seconds,
        bytes=float(amount),
        reference=others,
        reference_name="the host's own copy",
        error=0.0 if same else 1.0,
        reported=kind,
    )


def _tensor_on(device: str, host: Any, by: str = "") -> Any:
    """Return the bytes on a device, or on the host.

    What comes back from the card `by` lies in pinned memory: TensorFlow takes that for whatever a
    card writes (GPUProcessState::GetGpuHostAllocator). What NumPy brings does not.
    """
    import tensorflow as tf

    with tf.device("/device:CPU:0"):
        tensor = tf.identity(from_host(host))
    for name in (by, "CPU:0") if by else (device.replace("host", "CPU:0"),):
        tensor = _copied(tensor, name)
    arrived(tensor)
    return tensor


def _copied(tensor: Any, target: str) -> Any:
    """Return a copy on the target, made anew.

    An operation on another device would copy what it takes only once: TensorFlow keeps that copy
    beside the tensor for the next operation there (`AddLocalMirror` in eager/tensor_handle.h).
    """
    return tensor._copy(device_name=f"/device:{target.replace('host', 'CPU:0')}")  # noqa: SLF001


def _kind_of_memory(tensor: Any) -> str:
    """Return `pinned` or `pageable`, as CUDA's driver knows the tensor's memory; empty without."""
    from gpu_studio.trainer.cuda_driver import is_pinned

    known = is_pinned(tensor._numpy().ctypes.data)  # noqa: SLF001  (no copy is made of it)
    return "" if known is None else "pinned" if known else "pageable"


def _overlapped(source: str, target: str, card: str, amount: int) -> dict[str, Any]:
    """Time a copy and as much computing at once, in turn with one after the other."""
    import numpy as np
    import tensorflow as tf

    host = np.random.default_rng(0).integers(0, 256, amount, np.uint8)
    tensor = _tensor_on(source, host, card if source == "host" else "")
    with tf.device(f"/device:{card}"):
        left, right = (tf.random.normal((SIDE, SIDE)) for _ in range(2))

    def computed(calls: int) -> Any:
        with tf.device(f"/device:{card}"):
            for _ in range(calls):
                result = tf.linalg.matmul(left, right)
        return result

    copied = partial(_copied, tensor, target)
    for _ in range(WARM_UP):
        arrived(computed(1))
        arrived(copied())
    once, each = timed(copied, arrived), timed(partial(computed, 1), arrived)
    calls = max(1, round(once / each))

    def at_once() -> tuple[Any, Any]:
        return computed(calls), copied()

    def waited(both: tuple[Any, Any]) -> None:
        for one in both:
            arrived(one)

    def in_turn() -> None:
        arrived(computed(calls))
        arrived(copied())

    seconds, others = repeated(at_once, waited, in_turn)
    held = {"reference": others, "reference_name": "one after the other"}
    about = {"dtype": "uint8", "bytes": float(amount), "count": calls}
    return row_of(OVERLAPPED, [source, target], amount, seconds=seconds, **about, **held)


# All-reduce


def all_reduce(names: Sequence[str], logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    """Measure each way to add up what devices have, as a mirrored strategy does; of 2, 3, … all."""
    for count in range(2, len(names) + 1):
        some = names[:count]
        among = [device for device in logical if device.name in some]
        yield from _sums(some, among, say)


def _sums(names: Sequence[str], among: Sequence[Any], say: Say) -> Iterator[dict[str, Any]]:
    from gpu_studio.plan import ALL_REDUCES, why_not_nccl
    from gpu_studio.trainer.errors import PlanRefused
    from gpu_studio.trainer.strategies.mirrored import all_reduce_for

    chosen = all_reduce_for("auto", among)
    for way in (each for each in ALL_REDUCES if each != "auto"):
        try:
            strategy = _strategy(names, all_reduce_for(way, among))
        except PlanRefused as refused:
            why = why_not_nccl(among) if way == "nccl" else refused.message
            yield row_of(way, names, 0, why_not=why)
            continue
        for amount in REDUCED:
            say(f"{way}, {len(names)} devices, {amount} bytes")
            called = "auto" if way == chosen else ""
            row = measured_or_why(
                partial(_one_sum, strategy, way, names, amount, called), way, names, amount
            )
            yield row
            if not row.get("seconds"):
                break  # what is larger finds no memory either


def _strategy(names: Sequence[str], way: str) -> Any:
    """Return a mirrored strategy whose collectives have keys of their own.

    All strategies of a process begin with the same key, and devices that meet under one key in
    groups of different sizes never end. TensorFlow's tests raise the number as it is done here.
    """
    import tensorflow as tf

    from gpu_studio.trainer.strategies.mirrored import strategy_over

    tf.distribute.MirroredStrategy._collective_key_base += 100_000  # noqa: SLF001
    return strategy_over(names, way)


_HELD_OF_SUM: Final = 3
"""What each device holds of a sum, at most: its part, the sum, and what came from another."""


def _refuse_too_large(names: Sequence[str], numbers: int) -> None:
    """Raises OpError if a device has no memory for so many numbers.

    A device that had none within a collective would leave the others waiting for ever.
    """
    import tensorflow as tf

    for name in names:
        with tf.device(f"/device:{name}"):
            arrived(tf.fill([numbers], 0.0))


def _one_sum(
    strategy: Any, way: str, names: Sequence[str], amount: int, called: str
) -> dict[str, Any]:
    import tensorflow as tf

    numbers = amount // 4
    _refuse_too_large(names, _HELD_OF_SUM * numbers)
    parts = strategy.experimental_distribute_values_from_function(
        lambda context: tf.fill([numbers], 1.0 + context.replica_id_in_sync_group)
    )

    def summed(part: Any) -> Any:
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, part)

    @tf.function  # type: ignore[untyped-decorator]
    def step() -> Any:
        return strategy.run(summed, args=(parts,))

    def waited(result: Any) -> None:
        for each in strategy.experimental_local_results(result):
            arrived(each)

    for _ in range(WARM_UP):
        result = step()
        waited(result)
    seconds, _ = repeated(step, waited)
    wanted = len(names) * (len(names) + 1) / 2
    found = [each.numpy() for each in strategy.experimental_local_results(result)]
    error = max(float(abs(each - wanted).max()) / wanted for each in found)
    return row_of(
        way,
        names,
        amount,
        seconds=seconds,
        bytes=float(amount),
        error=error,
        reference_name=called,
    )
