"""Parameter server: variables on servers, and workers that update them alone or together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.keras_objects import OPTIMIZERS, keras_name
from gpu_studio.plan.strategies.strategy import Strategy
from gpu_studio.plan.values import (
    Caution,
    DeviceSettings,
    Distribution,
    Plan,
    Problem,
    changing,
)

MIXING = ("rmsprop", "adadelta", "adamax", "adafactor", "lion")
"""Optimizers that write anew what they keep of gradients, besides SGD with momentum."""


def own_steps_refused(own: str) -> tuple[str, str]:
    """Say why no step of a model's own is done by workers of servers, and what to do."""
    return (
        f"The model has its own {own}, which knows nothing of servers.",
        "Choose another strategy: workers would lose what it assigns at the same time.",
    )


class _ParameterServer(Strategy):
    def replica_devices(self, chosen: Distribution, names: Sequence[str]) -> tuple[str, ...]:
        """The CPU, whatever else there is."""
        del chosen, names
        return ("CPU:0",)

    def problems(self, chosen: Distribution) -> Iterator[Problem]:
        """No device can be chosen: each worker has the CPU."""
        if chosen.devices:
            advice = "leave them out: each worker computes on the CPU of its own process"
            yield Problem("distribution.devices", f'given with strategy "{self.name}"', advice)

    def cautions(self, plan: Plan, devices: Sequence[str]) -> Iterator[Caution]:
        """An optimizer whose memory of gradients several workers overwrite."""
        del devices
        cluster, training = plan.cluster or Cluster(), plan.training
        name = keras_name(training.optimizer, OPTIMIZERS)
        momentum = bool(training.options.get("momentum") or training.options.get("amsgrad"))
        if cluster.updates == "async" and cluster.workers > 1 and (name in MIXING or momentum):
            text = "Workers overwrite what the optimizer keeps of each other's gradients."
            why = (
                "Weights lose no update, but the averages that steer them know only of some; of "
                "SGD without momentum, Adagrad and Adam nothing is lost."
            )
            mend = changing("Update together", "", cluster=replace(cluster, updates="sync"))
            yield Caution("averages overwritten", text, why, mend)

    def template(self, first: Plan, devices: Sequence[str]) -> Plan:
        """Two workers and a server, on the CPU whatever cards there are."""
        made = Strategy.template(self, first, devices)
        visible = ("CPU:0",) if first.devices.visible else ()
        return replace(made, devices=DeviceSettings(visible=visible), cluster=Cluster(servers=1))


PARAMETER_SERVER = _ParameterServer(
    name="parameter_server",
    title="Parameter server",
    button="Servers",
    line="Parameter servers hold the variables; workers compute, each on its own or all together.",
    pace="asynchronous",
    pace_words=(
        "Each on its own, a worker sends its gradients when it has them, from weights that may be "
        "some steps old. All together, they share each step, and losses are those of one device."
    ),
    variables="shared out over the parameter servers, each whole",
    gradients="sent to the servers, and applied as they come; together, added up by the chief",
    batches="the chief reads the data and gives each worker the next one; together, a part",
    when="Workers of unequal speed, or workers that may go away; here, to practise that.",
    costs=(
        "Old gradients may take more epochs to learn as much, and no two runs are equal. Workers, "
        "servers and a chief are processes of their own, and weights go through the network."
    ),
    devices="none",
    picture="servers",
    clusters=True,
    serves=True,
)
