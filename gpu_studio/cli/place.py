"""`place`: choose a device for each layer."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_allowing,
    add_command,
    add_force,
    add_json,
    add_machine,
    add_plan,
    add_set,
    console,
    note,
    refuse_to_replace,
    say,
    say_json,
    typed,
)

if TYPE_CHECKING:
    from gpu_studio.lab.machine_figures import MachineFigures
    from gpu_studio.placement.correction import MeasuredPeak
    from gpu_studio.placement.estimate import Estimate
    from gpu_studio.placement.plan_facts import ModelFacts
    from gpu_studio.placement.search import Objective
    from gpu_studio.placement.suggestion import NothingFits, Suggestion
    from gpu_studio.placement.work import Times
    from gpu_studio.plan import AbsolutePlan, Machine, Plan, PlannedDevice

_SUMMARY = "suggest which layer runs on which device"
_EXAMPLES = """\
Every layer is timed first, in training steps on this machine. The times are kept until the model,
the data, the batch or the machine changes. Logical CPUs share the cores: placing gains nothing
there.

Each device gets one stretch of layers that follow one another; placements in which the layers come
back to a device are not looked at, though one of them may be faster. On real cards memory is left
for cuDNN where a placement can leave it (512 MiB on each), if it computes layers of the model.

objectives:
  fastest            the least time of a step
  least-memory       the fullest device as empty as can be
  fewest-transfers   the fewest bytes sent between devices

examples:
  gpu-studio place digits.plan.toml
  gpu-studio place digits.plan.toml --objective least-memory --micro-batches 4
  gpu-studio place digits.plan.toml --to placed.plan.toml
  gpu-studio place digits.plan.toml --estimate --json

With --estimate, layers go by their FLOPs: at the pace that gpu-studio lab has measured of this
machine (lab run compute, lab run copies), else as if all devices were equally fast."""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "place", _SUMMARY, _EXAMPLES, place)
    add_plan(parser)
    parser.add_argument(
        "--objective",
        choices=("fastest", "least-memory", "fewest-transfers"),
        default="fastest",
        help="what is wanted of the placement (default: fastest)",
    )
    parser.add_argument(
        "--micro-batches",
        metavar="M",
        type=_count,
        help="so many micro-batches (default: the best)",
    )
    parser.add_argument(
        "--recompute",
        action="store_true",
        help="keep only what goes into each stage and compute the rest again: less memory, more "
        "time",
    )
    add_allowing(parser)
    timing = parser.add_mutually_exclusive_group()
    timing.add_argument(
        "--estimate", action="store_true", help="go by FLOPs instead of timing the layers"
    )
    timing.add_argument(
        "--fresh", action="store_true", help="time the layers again, whatever is remembered"
    )
    parser.add_argument(
        "--to", metavar="FILE", type=Path, help="write the plan with its layers placed to FILE"
    )
    add_force(parser, "FILE if it is there")
    add_set(parser)
    add_machine(parser, "place for the machine described in FILE, by FLOPs")
    add_json(parser)


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of micro-batches: give one from 1 to 1024"
        )
    return count


class _Measured(NamedTuple):
    """The layers' times on each device, the bytes/s to each physical device, what steps held.

    `estimate` is how they were estimated, from the `figures` of the machine, if they were not
    measured.
    """

    times: dict[str, Times]
    links: Mapping[str, float]
    held: dict[str, MeasuredPeak]
    estimate: Estimate | None = None
    figures: MachineFigures | None = None

    @property
    def unit(self) -> str:
        """What times are in, for programs."""
        if self.estimate is None:
            return "seconds"
        return "estimated seconds" if self.estimate.in_seconds else "FLOPs"


def place(chosen: argparse.Namespace) -> int:
    """Say where the layers of a plan's model should go, and write that plan if asked to."""
    from gpu_studio.cli.given_plan import sound_plan
    from gpu_studio.placement.correction import corrected_model
    from gpu_studio.placement.suggestion import NothingFits
    from gpu_studio.placement.work import chosen_devices

    # Refused at once, and not after minutes of measuring.
    refuse_to_replace([] if chosen.to is None else [chosen.to], force=chosen.force)
    written, plan, machine = sound_plan(chosen)
    devices = chosen_devices(plan, machine)
    whole, model = _known(plan)
    measured = _measured(whole, machine, devices, model, chosen)
    model = corrected_model(model, measured.held)
    found = _suggestion(whole, machine, devices, model, measured, chosen)
    if isinstance(found, NothingFits):
        raise RefusedError(_nothing_fits(found))
    if chosen.to is not None:
        # Read from another folder, relative files would be others.
        beside = chosen.to.absolute().parent == chosen.plan.absolute().parent
        _write(chosen.to, _placed(written if beside else plan, found, devices))
    if chosen.json:
        say_json(_document(found, measured))
    else:
        _say(found, devices, measured)
    return OK


def _known(plan: AbsolutePlan) -> tuple[AbsolutePlan, ModelFacts]:
    """The plan with what it leaves to its script, and its model."""
    from gpu_studio.cli.given_plan import asked_facts

    facts = asked_facts(plan)
    wrong = facts.data_error or facts.model_error or facts.training_error
    if facts.model is None or wrong:
        raise RefusedError(" ".join((wrong, *facts.advice)))
    return facts.completed(plan), facts.model


def _measured(
    plan: AbsolutePlan,
    machine: Machine,
    devices: Sequence[PlannedDevice],
    model: ModelFacts,
    chosen: argparse.Namespace,
) -> _Measured:
    from gpu_studio.cli.given_plan import waiting
    from gpu_studio.placement.correction import held_in
    from gpu_studio.placement.work import links_in, times_in
    from gpu_studio.runs.questions.ask import AskError
    from gpu_studio.runs.questions.plan_question import ask_times

    if chosen.estimate or chosen.machine:
        described, tf32 = bool(chosen.machine), plan.training.tf32
        return _estimated(machine, devices, model, described=described, tf32=tf32)
    try:
        answer = ask_times(plan, devices, fresh=chosen.fresh, progress=waiting)
        return _Measured(times_in(answer, devices), links_in(answer, devices), held_in(answer))
    except (AskError, ValueError) as error:
        raise RefusedError(
            f"The layers could not be timed: {error} Add --estimate to go by FLOPs."
        ) from error


def _estimated(
    machine: Machine,
    devices: Sequence[PlannedDevice],
    model: ModelFacts,
    *,
    described: bool,
    tf32: bool,
) -> _Measured:
    """The times by FLOPs, at what benchmarks have measured of this machine, if they have."""
    from gpu_studio.lab.machine_figures import MachineFigures
    from gpu_studio.placement.estimate import estimated
    from gpu_studio.runs.machine_figures import kept_figures

    figures = MachineFigures() if described else kept_figures(machine)
    found = estimated(model, devices, figures.flops, figures.links, tf32=tf32)
    return _Measured(found.times, found.links, {}, found, figures)


def _suggestion(
    plan: Plan,
    machine: Machine,
    devices: Sequence[PlannedDevice],
    model: ModelFacts,
    measured: _Measured,
    chosen: argparse.Namespace,
) -> Suggestion | NothingFits:
    from gpu_studio.placement.suggestion import suggest
    from gpu_studio.placement.work import places, threads_per_operation, workers
    from gpu_studio.plan import Placed

    if model.graph is None or not model.graph.layers:
        raise RefusedError("The model has no layers that can be placed: choose another model.")
    objective: Objective = chosen.objective.replace("-", "_")
    at_once = workers(devices, machine, threads_per_operation(os.environ))
    batch = max(1, plan.training.batch_size)
    again = chosen.recompute or (plan.distribution.placed or Placed()).recompute
    there = places(devices, machine, measured.links)
    return suggest(
        model,
        there,
        batch,
        measured.times,
        objective,
        chosen.micro_batches,
        at_once,
        recompute=again,
    )


def _nothing_fits(found: NothingFits) -> str:
    from gpu_studio.common import figures

    missing = ", ".join(f"{lack.device} lacks {figures.size(lack.missing)}" for lack in found.lacks)
    if found.recomputed is not None:
        return (
            f"With its activations kept the model fits in no way: {missing}. "
            "Recomputed it fits: add --recompute."
        )
    return (
        f"The model fits in no way: {missing}. Give the device more, take "
        "more devices, or a smaller batch."
    )


def _placed(plan: Plan, found: Suggestion, devices: Sequence[PlannedDevice]) -> Plan:
    from dataclasses import replace

    from gpu_studio.plan import Placed
    from gpu_studio.plan.strategies.placed import placing

    layers = {layer: (device,) for layer, device in found.layers.items()}
    part = Placed(micro_batches=found.micro_batches, recompute=found.recompute, layers=layers)
    names = plan.distribution.devices and tuple(device.name for device in devices)
    return replace(plan, distribution=placing(part, names))


def _write(path: Path, plan: Plan) -> None:
    from gpu_studio import plan as plans

    plans.save(plan, path)
    note(f"{path}: written. Train it with: {typed('train', path)}")


def _document(found: Suggestion, measured: _Measured) -> dict[str, Any]:
    """Times are seconds where they were measured, and where the devices' pace was.

    By FLOPs alone they are only right in relation to each other.
    """
    figures = measured.figures if measured.estimate and measured.estimate.in_seconds else None
    return {
        "layers": dict(found.layers),
        "micro_batches": found.micro_batches,
        "recompute": found.recompute,
        "times": measured.unit,
        "figures": figures
        and {
            "measured": figures.measured,
            "flops_per_second": {name: dict(each) for name, each in figures.flops.items()},
            "bytes_per_second": dict(figures.links),
        },
        "step": found.step.seconds,
        "bubble": found.step.bubble,
        "others": [
            {"strategy": other.strategy, "devices": list(other.devices), "step": other.seconds}
            for other in found.others
        ],
    }


def _say(found: Suggestion, devices: Sequence[PlannedDevice], measured: _Measured) -> None:
    import numpy as np
    from rich.table import Table

    from gpu_studio.common import figures
    from gpu_studio.placement.schedule import busy_in

    table = Table(box=None, header_style="bold")
    for title in ("device", "layers", "busy"):
        table.add_column(title)
    busy = busy_in(found.step.tasks)
    for number, device in enumerate(devices):
        names = [layer for layer, on in found.layers.items() if on == device.name]
        share = (
            figures.share(busy[number] / found.step.seconds)
            if names and found.step.seconds
            else "–"
        )
        table.add_row(device.name, _span(names), share)
    console().print(table)
    in_seconds = measured.estimate is None or measured.estimate.in_seconds
    step = f"{figures.span(found.step.seconds)} a step" if in_seconds else "a step"
    again = ", activations recomputed" if found.recompute else ""
    say(
        f"{step}, {figures.plural(found.micro_batches, 'micro-batch', 'micro-batches')}, bubble "
        f"{figures.share(found.step.bubble)}{again}"
    )
    for other in found.others:
        ratio = other.seconds / found.step.seconds if found.step.seconds else np.inf
        say(f"  {other.strategy} on {', '.join(other.devices)}: {ratio:.2f} × that")
    if (better := found.better) is not None:
        say(f"{better.strategy} on {', '.join(better.devices)} is faster than placing the layers.")
    if measured.estimate is not None:
        say(_how_estimated(measured.estimate, measured.figures))


def _how_estimated(estimate: Estimate, known: MachineFigures | None) -> str:
    timed = "without --estimate every layer is timed on this machine."
    if not estimate.in_seconds or known is None:
        return (
            "By FLOPs, not measured, as if all devices were equally fast (gpu-studio lab run "
            f"compute measures how fast they are): {timed}"
        )
    return (
        f"By FLOPs {known.known} of this machine in {estimate.kind} "
        f"({known.in_words(estimate.kind)}): {timed}"
    )


def _span(names: Sequence[str]) -> str:
    if len(names) < 4:
        return ", ".join(names) or "none"
    return f"{names[0]} … {names[-1]} ({len(names)})"
