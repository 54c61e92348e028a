"""Multi-worker mirrored, in the trainer: replicas on the devices of several processes.

TensorFlow makes it before anything else initialises its devices, so that it is made in two steps:
`joined` makes the strategy of a process of the cluster that TF_CONFIG names, and the function that
it returns says what was decided, once the devices are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy as collectives
from tensorflow.python.eager import context

from gpu_studio.plan import (
    MULTI_WORKER,
    Cluster,
    DeviceLike,
    Distribution,
    default_devices,
    why_not_nccl,
)
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.strategies.spread import Spread, replicas_of

Made = Callable[[Distribution, Sequence[DeviceLike]], Spread]
SILENCE_S = 3600
"""A lost process is noticed by the supervisor, which knows the first cause; TensorFlow's own limit
only ends what nobody supervises."""


def joined(
    chosen: Distribution, names: Callable[[str], Sequence[str]], cluster: Cluster
) -> tuple[Any, Made]:
    """Make the strategy, over the devices of this process that `names` lists by their kind.

    Return it, and the function that says what was decided for it. It returns only when the others
    have made theirs.
    """
    del cluster
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    _be_patient(resolver.cluster_spec())
    ring = chosen.all_reduce == "ring" or not _joins_cards(chosen)
    strategy = _OverOwnDevices(resolver, chosen, names, ring=ring)

    def spread(chosen: Distribution, devices: Sequence[DeviceLike]) -> Spread:
        return _spread(strategy, chosen, devices, "ring" if ring else "nccl")

    return strategy, spread


def _spread(
    strategy: Any, chosen: Distribution, devices: Sequence[DeviceLike], all_reduce: str
) -> Spread:
    """What was decided. Raises PlanRefused for NCCL on devices that it cannot join."""
    if all_reduce == "nccl" and (why := why_not_nccl(devices)):
        raise PlanRefused(f"{why}.", ['Set distribution.all_reduce to "auto" or "ring".'])
    names = replicas_of(MULTI_WORKER, chosen, devices)
    return Spread(MULTI_WORKER.name, strategy, names, names[0], all_reduce=all_reduce)


def _joins_cards(chosen: Distribution) -> bool:
    """Whether NCCL is to sum the gradients: asked for, or each process has whole cards."""
    if chosen.all_reduce == "nccl":
        return True
    cards = tf.config.get_visible_devices("GPU")
    carved = any(tf.config.get_logical_device_configuration(card) for card in cards)
    return bool(cards) and not carved and not any(each.startswith("CPU") for each in chosen.devices)


def _be_patient(spec: Any) -> None:
    job_of = collectives.coordination_config_pb2.CoordinatedJob
    jobs = [job_of(name=job, num_tasks=spec.num_tasks(job)) for job in spec.jobs]
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader="/job:worker/replica:0/task:0",
        heartbeat_timeout_in_ms=SILENCE_S * 1000,
        coordinated_jobs=jobs,
    )


class _OverOwnDevices(collectives.CollectiveAllReduceStrategy):  # type: ignore[misc]
    """TensorFlow's strategy, which by itself takes one CPU of a process, or all of its cards."""

    def __init__(
        self,
        resolver: Any,
        chosen: Distribution,
        names: Callable[[str], Sequence[str]],
        *,
        ring: bool,
    ) -> None:
        way = tf.distribute.experimental.CommunicationImplementation
        options = tf.distribute.experimental.CommunicationOptions(
            implementation=way.RING if ring else way.NCCL
        )
        # Not by its own constructor, which makes the part that chooses the devices itself.
        tf.distribute.Strategy.__init__(self, _Extended(self, resolver, options, chosen, names))


class _Extended(collectives.CollectiveAllReduceExtended):  # type: ignore[misc]
    def __init__(
        self,
        container: Any,
        resolver: Any,
        options: Any,
        chosen: Distribution,
        names: Callable[[str], Sequence[str]],
    ) -> None:
        self._chosen, self._names = chosen, names
        super().__init__(container, cluster_resolver=resolver, communication_options=options)

    def _initialize_local_devices(self, resolver: Any, worker: str) -> tuple[tuple[str, ...], str]:
        """The devices of this process that hold replicas, by their full names, and their kind."""
        del resolver
        there = [*self._names("GPU"), *self._names("CPU")]
        known = [_Named(name) for name in there]
        wanted = [name for name in self._chosen.devices if name in there]
        names = tuple(wanted) or default_devices(known)
        return tuple(f"{worker}/device:{name}" for name in names), names[0].partition(":")[0]


class _Named:
    """A logical device of which only the name counts."""

    def __init__(self, name: str) -> None:
        self.name = self.physical = name
