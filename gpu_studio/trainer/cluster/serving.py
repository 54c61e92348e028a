"""A process that does what the chief says: a worker that computes, or a server of variables."""

from __future__ import annotations

import os

from gpu_studio import plan
from gpu_studio.trainer import environment


def serve(todo: plan.Plan, config: str) -> object:
    """Open TensorFlow's port for this process, which `config` (TF_CONFIG) names; return its server.

    Whoever holds what is returned keeps the port open: threads of TensorFlow's own serve it.
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
