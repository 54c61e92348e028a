"""Benchmarks of the ways between devices: copies, and the sum of what each device has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from gpu_studio.trainer.answers.benchmark_timing import WARM_UP, arrived, repeated, row_of

Say = Callable[[Any], None]
"""Says a text (what is done now) or a row (what was measured)."""

COPIED: Final = (1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26)
REDUCED: Final = (1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26)
"""Bytes that are copied, and summed."""


def copies(names: Sequence[str], _logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    """Measure copies from the host to each device, back, and between each two."""
    import numpy as np
    import tensorflow as tf

    for amount in COPIED:
        host = np.random.default_rng(0).integers(0, 256, amount, np.uint8)
        into = np.empty_like(host)
        with tf.device("/device:CPU:0"):
            on_host = tf.identity(tf.constant(host))
        there = {}
        for name in names:
            with tf.device(f"/device:{name}"):
                there[name] = tf.identity(on_host)
                arrived(there[name])
        ways = [("host", name) for name in names] + [(name, "host") for name in names]
        ways += [(one, other) for one in names for other in names if one != other]
        for source, target in ways:
            say(f"{source} to {target}")
            tensor = on_host if source == "host" else there[source]
            yield _one_copy(source, target, tensor, host, into)


def _one_copy(source: str, target: str, tensor: Any, host: Any, into: Any) -> dict[str, Any]:
    import numpy as np
    import tensorflow as tf

    device = "/device:CPU:0" if target == "host" else f"/device:{target}"

    def copied() -> Any:
        with tf.device(device):
            return tf.identity(tensor)

    for _ in range(WARM_UP):
        result = copied()
        arrived(result)
    seconds, others = repeated(copied, arrived, lambda: np.copyto(into, host))
    same = bool((result.numpy() == host).all())
    return row_of(
        "copy",
        [source, target],
        len(host),
        dtype="uint8",
        seconds=seconds,
        bytes=float(len(host)),
        reference=others,
        reference_name="the host's own copy",
        error=0.0 if same else 1.0,
    )


# All-reduce


def all_reduce(names: Sequence[str], logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    """Measure each way to add up what the devices have, as a mirrored strategy does."""
    from gpu_studio.plan import ALL_REDUCES
    from gpu_studio.plan.devices import why_not_nccl
    from gpu_studio.trainer.errors import PlanRefused
    from gpu_studio.trainer.strategies.mirrored import all_reduce_for, strategy_over

    among = [device for device in logical if device.name in names]
    chosen = all_reduce_for("auto", among)
    for way in (each for each in ALL_REDUCES if each != "auto"):
        try:
            strategy = strategy_over(names, all_reduce_for(way, among))
        except PlanRefused as refused:
            why_not = why_not_nccl(among) if way == "nccl" else refused.message
            yield row_of(way, names, 0, why_not=why_not)
            continue
        for amount in REDUCED:
            say(f"{way}, {amount} bytes")
            yield _one_sum(strategy, way, names, amount, "auto" if way == chosen else "")


def _one_sum(
    strategy: Any, way: str, names: Sequence[str], amount: int, called: str
) -> dict[str, Any]:
    import tensorflow as tf

    numbers = amount // 4
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
