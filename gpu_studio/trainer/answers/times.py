"""Measure how long each layer of a plan's model takes on each kind of device, by training it.

A kind of device is a physical device, whose slices are equally fast. Steps of two sizes, the whole
batch and a quarter of it, are trained on the first logical device of each kind, one kind after the
other. To learn how fast tensors travel, some are sent between the kinds; between slices of one
device nothing is copied. The answer also says what the steps of the whole batch held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio import plan as plans
from gpu_studio.placement.correction import MeasuredPeak
from gpu_studio.placement.estimate import LayerTime
from gpu_studio.plan import Placed
from gpu_studio.plan.strategies.placed import placing
from gpu_studio.trainer.environment import settle

SMALL_PART = 4
Progress = Callable[[str], None]


def answer(about: dict[str, Any], progress: Progress) -> tuple[dict[str, Any], bool]:
    """Measure the plan in `about`: times by the name of the measured device. The answer lasts."""
    plan = plans.loads(about["plan"])
    settle(plan)
    progress("importing TensorFlow")
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    devices = about["devices"]
    found = {device: _on(plan, device, Path(about["base"]), progress) for device in devices}
    times, held = ({device: each[place] for device, each in found.items()} for place in (0, 1))
    return msgspec.to_builtins(
        {"times": times, "links": _links(devices, progress), "held": held}
    ), True


def _links(devices: Sequence[str], progress: Progress) -> dict[str, float]:
    """Return for each device the bytes per second from its slowest sender.

    None if nothing is copied.
    """
    from gpu_studio.trainer.links import bandwidth

    found: dict[str, float] = {}
    for target in devices:
        for source in devices:
            if source == target:
                continue
            progress(f"sending from {source} to {target}")
            rate = bandwidth(source, target)
            if rate is not None:
                found[target] = min(rate, found.get(target, rate))
    return found


def _on(
    plan: plans.Plan, device: str, base: Path, progress: Progress
) -> tuple[dict[str, LayerTime], MeasuredPeak]:
    """Return each layer's time on a device, and what a step of the whole batch held there."""
    from gpu_studio.trainer import session
    from gpu_studio.trainer.placed.layer_times import (
        line_through,
        measured,
        seconds_in_parts,
        share_of,
    )

    progress(f"building the model on {device}")
    built = session.build(_all_on(plan, device), base, lambda _event: None)
    batch = built.cut.batch
    progress(f"training steps of {batch} samples on {device}")
    large = measured(built, batch)
    small, share = large, None
    if batch >= 2 * SMALL_PART:
        progress(f"training steps of {batch // SMALL_PART} samples on {device}")
        small = measured(built, batch // SMALL_PART)
        if device.startswith("CPU"):  # A card runs one operation after the other.
            progress(f"training steps in {SMALL_PART} micro-batches on {device}")
            share = share_of(small, large, SMALL_PART, seconds_in_parts(built, batch, SMALL_PART))
    paths = (seat.path for seat in built.program.placed.seats)  # type: ignore[attr-defined]
    return line_through(small, large, paths, share), MeasuredPeak(batch, large.held)


def _all_on(plan: plans.Plan, device: str) -> plans.Plan:
    """Return the plan with every layer on one device, in one piece.

    Layers that the plan does not name are placed where their input is.
    """
    training = replace(plan.training, early_stopping=None)
    return replace(plan, training=training, distribution=placing(Placed(), (device,)))
