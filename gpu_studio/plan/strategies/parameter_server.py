"""Parameter server: asynchronous workers, variables on servers. It does not run in this version."""

from __future__ import annotations

from gpu_studio.plan.strategies.strategy import Strategy

PARAMETER_SERVER = Strategy(
    name="parameter_server",
    title="Parameter server",
    button="Servers",
    line="Parameter servers hold the variables; workers compute, and none waits for another.",
    pace="asynchronous",
    pace_words=(
        "Asynchronous: a worker sends its gradients when it has them, from "
        "weights that may be some steps old."
    ),
    variables="shared out over the parameter servers",
    gradients="sent to the servers, and applied as they come",
    batches="each worker takes the next one, as fast as it can",
    when="Many workers of unequal speed, or workers that may go away; very large embedding tables.",
    costs=(
        "Old gradients may take more epochs to learn as much, and no two runs are equal. Workers, "
        "servers and a coordinator are processes of their own."
    ),
    devices="many",
    picture="servers",
    why_not=("A run of this version has no servers; they come with a later one."),
    clusters=True,
    serves=True,
)
