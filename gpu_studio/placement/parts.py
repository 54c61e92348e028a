"""Predict the step of a placement with split layers: each part is scheduled like a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpu_studio.placement.occupation import bubble_of
from gpu_studio.placement.schedule import StepTimeline, busy_in, timeline
from gpu_studio.placement.work import Array, Device, Work


def timeline_of_parts(
    work: Work,
    devices: Sequence[Device],
    placement: Sequence[Sequence[int]],
    micro_batches: int,
    workers: int | None = None,
) -> StepTimeline:
    """The step of `work` with layer l on the devices `placement[l]`, in equal parts.

    Tasks name the layers of `work`, even for parts. The rest as in `schedule.timeline`.
    """
    if all(len(places) == 1 for places in placement):
        return timeline(work, devices, [places[0] for places in placement], micro_batches, workers)
    layers = _apart(placement)
    parts, homes = _in_parts(work, placement, layers)
    step = timeline(
        parts, [*devices, Device("no device")], homes, micro_batches, workers or len(devices)
    )
    return _named(step, layers, len(devices))


def _apart(placement: Sequence[Sequence[int]]) -> list[int]:
    """The layer of each part, in order; -1 is a pause on no device.

    Consecutive layers on one device form a stage, which waits for all inputs of all its layers. A
    part must not wait for the inputs of neighbouring layers, so a pause before and after it ends
    the stage.
    """
    found: list[int] = []
    for layer, places in enumerate(placement):
        if len(places) == 1:
            found.append(layer)
        else:
            found += [-1, *(each for _ in places for each in (layer, -1))]
    return found


def _in_parts(
    work: Work, placement: Sequence[Sequence[int]], layers: Sequence[int]
) -> tuple[Work, list[int]]:
    """The work of the parts, and the device of each.

    A pause has an index beyond the last device.
    """
    here: dict[int, list[int]] = {}
    homes: list[int] = []
    for place, layer in enumerate(layers):
        homes.append(placement[layer][len(here.get(layer, ()))] if layer >= 0 else len(work.fixed))
        here.setdefault(layer, []).append(place)
    columns = np.maximum(np.array(layers), 0)
    share = np.array([1 / len(placement[layer]) if layer >= 0 else 0.0 for layer in layers])
    exists = np.sign(share)
    parts = Work(
        names=tuple(work.names[layer] if layer >= 0 else "" for layer in layers),
        inputs=tuple(
            tuple(part for name in work.inputs[layer] for part in here[name]) if layer >= 0 else ()
            for layer in layers
        ),
        # Each part takes the fixed time of a pass in full.
        fixed=_with_pause(work.fixed[:, columns] * exists),
        per_sample=_with_pause(work.per_sample[:, columns] * share),
        update=_with_pause(work.update[:, columns] * share),
        forward_share=work.forward_share[columns],
        output_bytes=work.output_bytes[columns] * share,
        kept_bytes=work.kept_bytes[columns] * share,
        passing_bytes=work.passing_bytes[columns] * share,
        taken_bytes=work.taken_bytes[columns] * exists,
        state_bytes=work.state_bytes[columns] * share,
        gradient_bytes=work.gradient_bytes[columns] * share,
        batch=work.batch,
        directions=tuple(work.directions[layer] if work.directions else 2 for layer in columns),
        share=(*work.share, work.share[0]) if work.share else (),
    )
    return parts, homes


def _with_pause(table: Array) -> Array:
    return np.vstack([table, np.zeros(table.shape[1])])


def _named(step: StepTimeline, layers: Sequence[int], devices: int) -> StepTimeline:
    """The step without the pauses, its tasks numbered by layer."""
    tasks = tuple(
        replace(task, layers=tuple(layers[part] for part in task.layers))
        for task in step.tasks
        if task.device < devices
    )
    return StepTimeline(tasks, step.seconds, bubble_of(busy_in(tasks).values(), step.seconds))
