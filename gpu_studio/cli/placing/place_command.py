"""`place`: which layer goes on which device."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from gpu_studio import plan as plans
from gpu_studio.cli import exit_codes
from gpu_studio.cli.code.allowing import have_allowed
from gpu_studio.cli.machine import described_machine, this_machine
from gpu_studio.cli.output import RefusedError, console, note, say, say_json
from gpu_studio.cli.replacing import refuse_to_replace
from gpu_studio.placement.correction import Held, corrected_model, held_in
from gpu_studio.placement.estimate import Times, by_flops, links_in, times_in
from gpu_studio.placement.places import chosen_devices, places, threads_per_operation, workers
from gpu_studio.placement.plan_facts import ModelFacts, decoded
from gpu_studio.placement.schedule import busy_in
from gpu_studio.placement.search import Objective
from gpu_studio.placement.suggestion import NoRoom, Suggestion, suggest
from gpu_studio.plan import Distribution, LogicalDevice, Machine, Placed, Plan
from gpu_studio.runs.launch import problems_of
from gpu_studio.runs.questions.ask import AskError
from gpu_studio.runs.questions.plan_question import ask_about
from gpu_studio.runs.questions.times_question import ask_times
from gpu_studio.runs.relocation import with_absolute_files


@dataclass(frozen=True, slots=True)
class _Measured:
    """The layers' times on each device, the bytes/s to each physical device, what steps held; nothing if by FLOPs."""

    times: dict[str, Times] | None = None
    links: dict[str, float] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)


def place(chosen: argparse.Namespace) -> int:
    """Say where the layers of a plan's model should go, and write the plan so where that is asked for."""
    # Refused at once, and not after minutes of measuring.
    refuse_to_replace([] if chosen.to is None else [chosen.to], force=chosen.force)
    machine = described_machine(chosen.machine) if chosen.machine else this_machine()
    plan = plans.with_settings(plans.load(chosen.plan), chosen.settings)
    base = chosen.plan.absolute().parent
    have_allowed(plan, base, allow=chosen.allow_code, may_ask=not chosen.json)
    if problems := problems_of(plan, base, machine):
        raise plans.PlanError(problems, str(chosen.plan))
    devices = chosen_devices(plan, machine)
    model = _model(plan, base)
    measured = _measured(plan, base, devices, chosen)
    model = corrected_model(model, measured.held)
    found = _suggestion(plan, machine, devices, model, measured, chosen)
    if isinstance(found, NoRoom):
        raise RefusedError(_no_room(found))
    placed = _placed(plan, found, devices)
    if chosen.to is not None:
        # Read from another folder, relative files would be others.
        beside = chosen.to.absolute().parent == base
        _write(chosen.to, placed if beside else with_absolute_files(placed, base))
    if chosen.json:
        say_json(_document(found, measured=measured.times is not None))
    else:
        _say(found, devices, measured=measured.times is not None)
    return exit_codes.OK


def _model(plan: Plan, base: Path) -> ModelFacts:
    try:
        facts = decoded(ask_about(plan, base, progress=_progress))
    except AskError as error:
        raise RefusedError(f"TensorFlow did not tell of the model: {error}") from error
    wrong = facts.data_error or facts.model_error or facts.training_error
    if facts.model is None or wrong:
        raise RefusedError(" ".join((wrong, *facts.advice)))
    return facts.model


def _measured(plan: Plan, base: Path, devices: Sequence[LogicalDevice], chosen: argparse.Namespace) -> _Measured:
    if chosen.estimate or chosen.machine:
        return _Measured()
    try:
        answer = ask_times(plan, base, devices, fresh=chosen.fresh, progress=_progress)
        return _Measured(times_in(answer, devices), links_in(answer, devices), held_in(answer))
    except (AskError, ValueError) as error:
        raise RefusedError(f"The layers could not be timed: {error} Add --estimate to go by FLOPs.") from error


def _progress(text: str) -> None:
    note(f"{text}…")


def _suggestion(
    plan: Plan,
    machine: Machine,
    devices: Sequence[LogicalDevice],
    model: ModelFacts,
    measured: _Measured,
    chosen: argparse.Namespace,
) -> Suggestion | NoRoom:
    if model.graph is None or not model.graph.layers:
        raise RefusedError("The model has no layers that can be placed: choose another model.")
    times = measured.times or {device.name: by_flops(model.graph) for device in devices}
    objective: Objective = chosen.objective.replace("-", "_")
    at_once = workers(devices, machine, threads_per_operation(os.environ))
    batch = max(1, plan.training.batch_size)
    again = chosen.recompute or (plan.distribution.placed or Placed()).recompute
    there = places(devices, machine, measured.links)
    return suggest(model, there, batch, times, objective, chosen.micro_batches, at_once, recompute=again)


def _no_room(found: NoRoom) -> str:
    missing = ", ".join(f"{lack.device} lacks {lack.missing / plans.MIB:.1f} MiB" for lack in found.lacks)
    if found.recomputed is not None:
        return f"With its activations kept the model fits in no way: {missing}. Recomputed it fits: add --recompute."
    return f"The model fits in no way: {missing}. Give the device more, take more devices, or a smaller batch."


def _placed(plan: Plan, found: Suggestion, devices: Sequence[LogicalDevice]) -> Plan:
    layers = {layer: (device,) for layer, device in found.layers.items()}
    part = Placed(micro_batches=found.micro_batches, recompute=found.recompute, layers=layers)
    names = plan.distribution.devices and tuple(device.name for device in devices)
    return replace(plan, distribution=Distribution("placed", names, placed=part))


def _write(path: Path, plan: Plan) -> None:
    plans.save(plan, path)
    note(f"{path}: written. Train it with: gpu-studio train {path}")


def _document(found: Suggestion, *, measured: bool) -> dict[str, Any]:
    """Times are seconds where they were measured; by FLOPs they are only right in relation to each other."""
    return {
        "layers": dict(found.layers),
        "micro_batches": found.micro_batches,
        "recompute": found.recompute,
        "times": "seconds" if measured else "FLOPs",
        "step": found.step.seconds,
        "bubble": found.step.bubble,
        "others": [
            {"strategy": other.strategy, "devices": list(other.devices), "step": other.seconds}
            for other in found.others
        ],
    }


def _say(found: Suggestion, devices: Sequence[LogicalDevice], *, measured: bool) -> None:
    table = Table(box=None, header_style="bold")
    for title in ("device", "layers", "busy"):
        table.add_column(title)
    busy = busy_in(found.step.tasks)
    for number, device in enumerate(devices):
        names = [layer for layer, on in found.layers.items() if on == device.name]
        share = f"{100 * busy[number] / found.step.seconds:.0f} %" if names and found.step.seconds else "–"
        table.add_row(device.name, _span(names), share)
    console().print(table)
    step = _duration(found.step.seconds) if measured else "a step"
    again = ", activations recomputed" if found.recompute else ""
    say(f"{step}, {found.micro_batches} micro-batches, bubble {100 * found.step.bubble:.0f} %{again}")
    for other in found.others:
        ratio = other.seconds / found.step.seconds if found.step.seconds else np.inf
        say(f"  {other.strategy} on {', '.join(other.devices)}: {ratio:.2f} × that")
    if (better := found.better) is not None:
        say(f"{better.strategy} on {', '.join(better.devices)} is faster than placing the layers.")
    if not measured:
        say("By FLOPs, not measured: without --estimate every layer is timed on this machine.")


def _span(names: Sequence[str]) -> str:
    if len(names) < 4:
        return ", ".join(names) or "none"
    return f"{names[0]} … {names[-1]} ({len(names)})"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms a step" if seconds < 1 else f"{seconds:.2f} s a step"
