"""A chief, and the processes that do what it says: workers that compute, servers of variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpu_studio import plan
from gpu_studio.contract import WorkerShare
from gpu_studio.trainer import environment
from gpu_studio.trainer.cluster.status import Status
from gpu_studio.trainer.team import Alone


class Chief(Alone):
    """A `Team` of one, which agrees with itself.

    It tells the supervisor what it does, and what workers have done.
    """

    profiles = False  # TensorFlow's profiler sees this process alone

    def __init__(self, checkpoint: Path | None, status: Status, again: Callable[[], None]) -> None:
        """`again` is called once TensorFlow has taken the signals for itself."""
        self.checkpoint = checkpoint
        self._status, self._again = status, again

    def joined(self, strategy: Any) -> None:
        """Catch signals again."""
        del strategy
        self._again()

    def share(self, cards: Sequence[Any]) -> Sequence[Any]:
        """It computes nothing on a card."""
        del cards
        return ()

    def ready(self, digests: Callable[[], dict[str, str]], step: int) -> None:
        """Return once the supervisor says so."""
        del digests  # nobody else has the weights or the data
        self._status.wait_for_all({}, step)

    def shared(self, shares: Sequence[WorkerShare], held: Sequence[int]) -> None:
        """Pass it on."""
        self._status.shared(shares, held)


def serve(todo: plan.Plan, config: str) -> object:
    """Open TensorFlow's port for a worker or server; return what serves it.

    `config` (TF_CONFIG) names the process. Whoever holds what is returned keeps the port open:
    threads of TensorFlow's own serve it.
    """
    os.environ["TF_CONFIG"] = config
    # As TensorFlow's guide advises: else a worker waits ten minutes for a server that has gone.
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    environment.settle(todo)
    import tensorflow as tf

    # What the chief says for itself does not reach this process, which computes the products.
    tf.config.experimental.enable_tensor_float_32_execution(todo.training.tf32)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server: object = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        start=True,
    )
    return server
