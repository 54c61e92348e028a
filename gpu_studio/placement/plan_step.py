"""How long a training step of a plan takes under its own strategy, by the times of its layers."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.schedule import timeline_of_parts
from gpu_studio.placement.suggestion import mirrored_seconds, one_device_seconds
from gpu_studio.placement.work import Times, places, recomputing, work_of, workers
from gpu_studio.plan import Machine, Placed, Plan, replica_devices, strategy_of


def global_batch(plan: Plan, machine: Machine) -> int:
    """The samples of a step, over all replicas."""
    count = 1
    if plan.training.batch_scope == "replica" and strategy_of(plan).replicates:
        count = len(replica_devices(plan, machine))
    return max(1, plan.training.batch_size) * max(1, count)


def step_seconds(
    plan: Plan,
    machine: Machine,
    model: ModelFacts,
    times: Mapping[str, Times],
    links: Mapping[str, float],
    threads_per_operation: int = 0,
) -> float | None:
    """The seconds of a step of `plan`; `times` are by device, `links` by physical device.

    None if the layers are not known, or those of a device have no times. Input is not in it.
    """
    devices = replica_devices(plan, machine)
    graph = model.graph
    if graph is None or not graph.layers or not devices:
        return None
    if any(device.name not in times for device in devices):
        return None
    there = places(devices, machine, links)
    work = work_of(model, there, global_batch(plan, machine), times)
    at_once = workers(devices, machine, threads_per_operation)
    if strategy_of(plan).places_layers:
        part = plan.distribution.placed or Placed()
        order = {device.name: place for place, device in enumerate(devices)}
        running = graph.devices_of(part.layers, tuple(order))
        if any(name not in order for names in running.values() for name in names):
            return None
        placement = [tuple(order[name] for name in running[layer]) for layer in work.names]
        timed = recomputing(work) if part.recompute else work
        parts = max(1, part.micro_batches)
        return timeline_of_parts(timed, there, placement, parts, at_once).seconds
    if len(devices) == 1:
        return one_device_seconds(work, 0)
    trained = sum(layer.trainable_bytes for layer in graph.layers)
    return mirrored_seconds(work, there, trained, at_once)
