"""Parameter server, in the trainer: this process is the chief, which workers and servers obey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from gpu_studio.plan import CPU, PARAMETER_SERVER, Cluster, DeviceLike, Distribution
from gpu_studio.trainer.strategies.spread import Served, Spread

Made = Callable[[Distribution, Sequence[DeviceLike]], Spread]


def joined(
    chosen: Distribution, names: Callable[[str], Sequence[str]], cluster: Cluster
) -> tuple[Any, Made]:
    """Make the strategy over the processes that TF_CONFIG names.

    Return it, and the function that says what was decided for it.
    """
    del chosen, names
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    spread_bytes(strategy.extended)
    read_batches_here(strategy)
    # The chief updates variables itself where all share a step: TensorFlow would warn of it.
    strategy.extended._allow_run_without_coordinator = True  # noqa: SLF001
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    workers = resolver.cluster_spec().num_tasks("worker")
    served = Served(coordinator, workers, cluster.updates == "sync")

    def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
        del chosen, devices
        return Spread(PARAMETER_SERVER.name, strategy, (CPU,), CPU, served=served)

    return strategy, spread


# Scripts have the next functions as they stand, see `export.script_text`: their lines have 88
# columns at most.


def read_batches_here(strategy: Any) -> None:
    """Have Keras read all batches in this process, also where a callback predicts.

    TensorFlow would have each worker read its own.
    """
    strategy.experimental_distribute_dataset = lambda dataset, _=None: dataset


def spread_bytes(extended: Any) -> None:
    """Have each new variable lie on the server that holds the fewest bytes.

    TensorFlow takes the servers in turn: of two, one would get all kernels, the other
    all biases. What an optimizer keeps of a variable lies beside it.
    """
    in_turn = extended._create_variable_round_robin  # noqa: SLF001
    held = [0] * extended._num_ps  # noqa: SLF001

    def lightest(creator: Any, **kwargs: Any) -> Any:
        server = held.index(min(held))
        extended._variable_count = server  # noqa: SLF001
        made = in_turn(creator, **kwargs)
        held[server] += (made.shape.num_elements() or 0) * made.dtype.size
        return made

    extended._create_variable_round_robin = lightest  # noqa: SLF001
