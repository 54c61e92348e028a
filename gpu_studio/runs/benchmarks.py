"""Benchmarks: measured in the trainer's process. Their results are kept by `benchmark_shelf`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from gpu_studio import plan as plans
from gpu_studio.lab.benchmarks import (
    BENCHMARKS,
    BenchmarkError,
    BenchmarkResult,
    BenchmarkRow,
    TrainingPace,
    row_of,
    with_pace,
)
from gpu_studio.lab.hand_placement import (
    HandPlacement,
    checked,
    classic,
    unknown_devices,
    with_explanation,
)
from gpu_studio.lab.published_peaks import against_peak
from gpu_studio.plan import (
    AbsolutePlan,
    DeviceSettings,
    Machine,
    Plan,
    default_devices,
    logical_devices,
)
from gpu_studio.runs.benchmark_shelf import (
    TENSORFLOW,
    KeptResult,
    benchmarks_folder,
    delete_result,
    keep_result,
    kept_in,
    kept_results,
    load_result,
    restore_result,
    result_named,
)
from gpu_studio.runs.machine_identity import identity, physical_names
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.questions.ask import AskCancelledError, AskError, ask
from gpu_studio.runs.questions.plan_question import NotAllowedError, refuse_unless_allowed
from gpu_studio.runs.results.measured_steps import MeasuredSteps
from gpu_studio.runs.results.run_figures import figures_of

__all__ = [
    "BY_HAND",
    "INPUT",
    "LONGEST_S",
    "OF_CARDS",
    "KeptResult",
    "benchmark_plan",
    "benchmarks_folder",
    "data_alone",
    "delete_result",
    "keep_result",
    "kept_in",
    "kept_results",
    "load_result",
    "newest_pace",
    "restore_result",
    "result_named",
    "run_benchmark",
]

LONGEST_S: Final = 1800.0
BY_HAND: Final = "place"
"""The benchmark of operations that are placed by hand."""
OF_CARDS: Final = ("compute", "launched", "together")
"""The benchmarks of which a row is held against the published peak of its card."""
INPUT: Final = "input"
"""The benchmark of the data of a plan."""


def benchmark_plan(name: str, machine: Machine, given: Plan | None = None) -> Plan:
    """The plan of which the devices are measured: those of `given`, else all that are there.

    Without a card, two logical CPUs stand for the devices of a benchmark of several, or of what is
    placed by hand. Raises BenchmarkError for a simulated machine or practice cards, for too few
    devices, and where a plan is needed and none is given.
    """
    wanted = BENCHMARKS[name]
    if machine.simulated:
        raise BenchmarkError("Simulated cards compute nothing: they are never measured.")
    if machine.practice:
        raise BenchmarkError(
            "Practice cards compute on the CPU: how fast they are says nothing of real ones. "
            "Measure without them."
        )
    if given is None and wanted.of_a_plan:
        raise BenchmarkError(f"{wanted.title} is measured of a plan: name it with --plan.")
    if given is not None and wanted.of_a_plan:
        return given
    devices = given.devices if given is not None else DeviceSettings()
    spread = wanted.several or name == BY_HAND
    if given is None and spread and not machine.cards:
        devices = DeviceSettings(carve=(plans.Carve("CPU:0", (0, 0)),))
    plan = Plan(name=f"benchmark {name}", devices=devices)
    names = default_devices(logical_devices(plan, machine))
    if wanted.several and len(names) < 2:
        raise BenchmarkError(
            f"{wanted.title} needs two devices, and there is {names[0] if names else 'none'}: "
            "carve it in a plan, and measure the devices of that plan."
        )
    return plan


def run_benchmark(
    name: str,
    plan: Plan,
    machine: Machine,
    progress: Callable[[str], None],
    *,
    by_hand: HandPlacement | None = None,
    pace: TrainingPace | None = None,
    command: Sequence[str] | None = None,
    cancel: threading.Event | None = None,
    measured: Callable[[BenchmarkRow], None] | None = None,
) -> BenchmarkResult:
    """Measure in a process of TensorFlow's. What was measured before an end is in the result.

    `by_hand` are the operations of the benchmark `place`; without them, one multiplication on each
    device, and their sum on the CPU. The files of a plan whose data are read must be absolute, and
    `pace` is how fast it trains, if that is known; without it, as its newest run did, else as is
    predicted.
    `measured` is called with each row as it comes. Raises BenchmarkError if nothing was measured,
    or the data are code that is not allowed.
    """
    begun, rows, cards = time.time(), list[BenchmarkRow](), _cards(plan, machine)
    asked = _asked(name, plan, machine, by_hand, pace)

    def take(part: dict[str, Any]) -> None:
        row = with_pace(row_of(part), asked.pace)
        if name in OF_CARDS and len(row.devices) == 1:
            row = against_peak(row, cards.get(row.devices[0], ""))
        rows.append(with_explanation(row, asked.explained))
        if measured is not None:
            measured(rows[-1])

    why_not = _answered(asked, progress, take, command, cancel)
    if why_not and not rows:
        raise BenchmarkError(f"Nothing was measured: {why_not}.")
    uuids = _uuids(plan, machine)
    return BenchmarkResult(name, begun, asked.known, tuple(rows), not why_not, why_not, uuids)


@dataclass(slots=True)
class _Asked:
    """What a process of TensorFlow's is asked `about`, and what is `known` besides its answer.

    `explained` are the words for devices that are not there, by their names.
    """

    about: dict[str, Any]
    known: dict[str, str]
    pace: TrainingPace | None
    explained: dict[str, str] = field(default_factory=dict)


def _asked(
    name: str,
    plan: Plan,
    machine: Machine,
    by_hand: HandPlacement | None,
    pace: TrainingPace | None,
) -> _Asked:
    asked = _Asked({"benchmark": name, "plan": plans.dumps(plan)}, identity(machine), pace)
    if name == BY_HAND:
        logical = logical_devices(plan, machine)
        placement = by_hand or classic(default_devices(logical))
        asked.explained = unknown_devices(checked(placement), [each.name for each in logical])
        asked.about |= {"plan": plans.dumps(_as_placed(plan, placement)), **placement.asked}
        asked.known["soft placement"] = "on" if placement.soft_placement else "off"
    if name == INPUT:
        whole = AbsolutePlan(plan)
        data = data_alone(whole)
        _refuse_unless_allowed(data)
        asked.about["plan"] = plans.dumps(data)
        asked.pace = pace or newest_pace(whole) or _predicted(whole, machine)
        asked.known["data"] = _name_of(plan.data)
    return asked


def _answered(
    asked: _Asked,
    progress: Callable[[str], None],
    take: Callable[[dict[str, Any]], None],
    command: Sequence[str] | None,
    cancel: threading.Event | None,
) -> str:
    """Ask, and hand each part of the answer to `take`. Return why it is not whole, or nothing."""
    try:
        found = ask(
            "benchmark",
            about=asked.about,
            command=command,
            timeout=LONGEST_S,
            fresh=True,
            progress=progress,
            part=take,
            cancel=cancel,
        ).value
    except (KeyboardInterrupt, AskCancelledError):
        return "it was cancelled"
    except AskError as error:
        return str(error)
    asked.known[TENSORFLOW] = str(found.get("tensorflow", "unknown"))
    return ""


def _uuids(plan: Plan, machine: Machine) -> dict[str, str]:
    """The UUID of the card of each logical device; empty of a CPU."""
    names = {physical: uuid for uuid, physical in physical_names(machine).items()}
    return {each.name: names.get(each.physical, "") for each in logical_devices(plan, machine)}


def _cards(plan: Plan, machine: Machine) -> dict[str, str]:
    """The name of the card of each logical device that is a whole one, or a slice of one.

    An instance of a card has a part of its peak, which nobody publishes.
    """
    known = {each.name: machine.card(each.physical) for each in logical_devices(plan, machine)}
    return {name: card.name for name, card in known.items() if card and not card.instance}


def data_alone(plan: AbsolutePlan) -> AbsolutePlan:
    """The plan without what its data do not need: nothing of its model is run."""
    training = plans.Training(
        batch_size=plan.training.batch_size,
        batch_scope=plan.training.batch_scope,
        steps_per_epoch=plan.training.steps_per_epoch,
        seed=plan.training.seed,
        epochs=plan.training.epochs,
    )
    blank = AbsolutePlan(Plan(name=plan.name))
    return replace(
        blank,
        devices=plan.devices,
        data=plan.data,
        training=training,
        distribution=plan.distribution,
    )


def _refuse_unless_allowed(plan: AbsolutePlan) -> None:
    try:
        refuse_unless_allowed(plan)
    except NotAllowedError as error:
        raise BenchmarkError(str(error)) from error


def _name_of(data: plans.Data) -> str:
    return str(data.python or data.table or data.folder or data.file or data.name)


def newest_pace(plan: AbsolutePlan, runs: Path | None = None) -> TrainingPace | None:
    """How fast the newest run trained that trains like this plan; None if there is none."""
    try:
        for run in MeasuredSteps(runs or runs_dir()).alike(plan):
            if rate := figures_of(run).samples_per_second:
                return TrainingPace(rate, f"as in run {run.id}")
    except OSError:
        return None
    return None


def _predicted(plan: AbsolutePlan, machine: Machine) -> TrainingPace | None:
    # Imported here: NumPy comes with it, and the window's start would wait for that.
    from gpu_studio.runs.predicted_pace import predicted_pace

    return predicted_pace(plan, machine)


def _as_placed(plan: Plan, placement: HandPlacement) -> Plan:
    """The plan with the placement's soft placement, and TensorFlow's log of it."""
    devices = replace(plan.devices, soft_placement=placement.soft_placement, log_placement=True)
    return replace(plan, devices=devices)
