"""All figures of one run, read from its directory.

The summary, the report and a comparison show the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_studio import plan as plans
from gpu_studio.contract import RunDirectory, SavedCheckpoint, checkpoints, events
from gpu_studio.hardware.accounting import CardTotals, MachineTotals, account
from gpu_studio.plan.difference import written
from gpu_studio.runs.diagnosis import Explanation
from gpu_studio.runs.labels import NOTHING, Labels, read_labels, title
from gpu_studio.runs.left_job import explained
from gpu_studio.runs.reading.epochs import BestValue
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.summary import Skimmer, Summary
from gpu_studio.runs.reading.workers import WorkersOfRun
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.evaluations import Evaluation, evaluations
from gpu_studio.runs.results.prediction import Prediction
from gpu_studio.runs.results.ran_code import ran_code
from gpu_studio.runs.results.run_cards import RunCard, card_name, cards_at_work, trains_on_cards
from gpu_studio.runs.results.run_times import (
    ONE_DEVICE,
    Parts,
    RunTimes,
    read_times,
    step_parts,
    why_no_communication,
)

NO_CARD = "trained on no card"
NO_RECORDING = "the machine was not recorded"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """All figures of a run. Memory is in bytes, times in seconds; None or missing means unknown.

    `metrics` are those of the last epoch, and those of the test after it; `epochs` holds their
    table. `peaks`, `limits` and `counted` (what was counted, as in `events.DeviceMemory.source`)
    are by logical device, as is `prediction.bytes`. `cards` are those of `machine` that the run
    used. `plan_values` has every field of the plan as text, `evaluations` those of checkpoints, by
    their names, `why` what happened to a run that failed or was lost.
    """

    summary: Summary
    times: RunTimes
    plan: plans.Plan | None = None
    plan_values: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    epochs: tuple[events.Epoch, ...] = ()
    peaks: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int | None] = field(default_factory=dict)
    counted: dict[str, str] = field(default_factory=dict)
    prediction: Prediction = field(default_factory=Prediction)
    machine: MachineTotals | None = None
    cards: tuple[RunCard, ...] = ()
    workers: WorkersOfRun = field(default_factory=WorkersOfRun)
    devices: events.Devices | None = None
    model: events.Model | None = None
    by_xla: bool | None = None
    placement: events.Placement | None = None
    timeline: events.Timeline | None = None
    communication: events.Communication | None = None
    finished: events.Finished | None = None
    environment: dict[str, str] = field(default_factory=dict)
    checkpoints: tuple[SavedCheckpoint, ...] = ()
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    warnings: tuple[events.Warned, ...] = ()
    labels: Labels = NOTHING
    why: Explanation | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.summary.id

    @property
    def title(self) -> str:
        """The run's number and its name."""
        return title(self.summary.number, self.labels.name or self.summary.plan)

    @property
    def best(self) -> BestValue | None:
        """The best epoch by the most informative metric."""
        return self.summary.best

    @property
    def predicted(self) -> dict[str, int]:
        """The bytes predicted for each logical device."""
        return self.prediction.bytes

    @property
    def samples_per_second(self) -> float | None:
        """Mean throughput of the training calls."""
        return self.times.samples_per_second

    @property
    def step_seconds(self) -> float | None:
        """Mean seconds of a training step."""
        return self.times.step_seconds(self.summary.step)

    @property
    def input_share(self) -> float | None:
        """The part (0 to 1) of the training calls that was spent waiting for data."""
        return self.times.input_share

    @property
    def compute_share(self) -> float | None:
        """The remaining part: the devices at work, and the communication between them."""
        return None if self.input_share is None else 1 - self.input_share

    @property
    def training_parts(self) -> Parts | None:
        """How all training calls but the first were spent, in seconds, without waiting for data.

        Extrapolated. None if it was not measured, as `why_not("communication")` explains.
        """
        shares = (
            None
            if why_no_communication(self.devices) == ONE_DEVICE
            else step_parts(self.communication)
        )
        return shares.of(self.times.compute_seconds) if shares else None

    @property
    def training_shares(self) -> Parts | None:
        """The same as parts (0 to 1) of the training calls, including waiting for data."""
        shares = None if self.training_parts is None else step_parts(self.communication)
        return shares.of(self.compute_share) if shares and self.compute_share is not None else None

    @property
    def card_totals(self) -> tuple[CardTotals, ...]:
        """The totals of the cards that the run trained on."""
        return tuple(self.machine.cards[card.key] for card in self.cards) if self.machine else ()

    def card_name(self, device: str) -> str | None:
        """The card behind a logical device that the run trained on; None if unknown."""
        if device not in self.summary.peaks_at_work:
            return None
        return card_name(device, self.devices, self.machine.known if self.machine else {})

    @property
    def joules(self) -> float | None:
        """The energy of the run's cards together; None unless it is known of each."""
        return _together([card.joules for card in self.card_totals])

    @property
    def joules_per_thousand_samples(self) -> float | None:
        """The energy per thousand trained samples, including everything around the training."""
        samples = self.times.samples
        return self.joules / samples * 1000 if self.joules is not None and samples else None

    @property
    def idle_seconds(self) -> float | None:
        """The seconds in which its cards were idle while it trained, summed over the cards."""
        return _together([card.idle_seconds for card in self.card_totals])

    @property
    def throttled_seconds(self) -> float | None:
        """The seconds in which something limited its cards' clocks, summed over the cards."""
        return _together([card.throttled_seconds for card in self.card_totals])

    def why_not(self, figure: str) -> str:
        """Why a figure of the cards (`joules`, …) or `communication` is unknown, in words."""
        if figure == "communication":
            return why_no_communication(self.devices)
        if not trains_on_cards(self.devices):
            return NO_CARD
        if not self.card_totals:
            return (self.machine.why if self.machine else "") or NO_RECORDING
        return next((card.why[figure] for card in self.card_totals if figure in card.why), "")


def joules_of(summary: Summary) -> float | None:
    """The total energy of a run's cards, from the recording alone; None unless it is known of each.

    Raises OSError if the recording cannot be read.
    """
    machine = account(summary.directory.hardware_file)
    cards = cards_at_work(summary.devices, machine.known) if machine else ()
    return _together([machine.cards[card.key].joules for card in cards]) if machine else None


def figures_of(run: RunDirectory) -> RunFigures:
    """Read all present figures of `run`; what is missing (yet) is unknown. Raises OSError."""
    skimmer = Skimmer(run)
    summary, history, times = skimmer.summary(), skimmer.history, read_times(run)
    machine = account(run.hardware_file, times.at_work)
    plan = _plan(run)
    return RunFigures(
        summary=summary,
        times=times,
        plan=plan,
        plan_values=written(plan) if plan else {},
        metrics=_metrics(history),
        epochs=tuple(history.epochs.rows),
        peaks=summary.peaks,
        limits={device: memory.limit for device, memory in history.memory.items()},
        counted={device: memory.source for device, memory in history.memory.items()},
        prediction=prediction.read(run) or Prediction(),
        machine=machine,
        cards=cards_at_work(history.devices, machine.known) if machine else (),
        workers=history.workers,
        devices=history.devices,
        model=history.model,
        by_xla=history.by_xla,
        placement=history.placement,
        timeline=history.timeline,
        communication=history.communication,
        finished=history.finished,
        environment=dict(_environment(history, machine)),
        checkpoints=tuple(checkpoints(run)),
        evaluations=evaluations(run),
        warnings=tuple(history.warnings),
        labels=read_labels(run),
        why=explained(run) if summary.state in ("failed", "lost") else None,
    )


def _together(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _plan(run: RunDirectory) -> plans.Plan | None:
    try:
        return plans.load(run.plan_file)
    except plans.PlanError:
        return None


def _metrics(history: History) -> dict[str, float]:
    last = history.epochs.last.metrics if history.epochs.last else {}
    tested = history.finished.metrics if history.finished else {}
    return {
        name: value
        for name, value in {**last, **tested}.items()
        if value is not None and math.isfinite(value)
    }


def _environment(history: History, machine: MachineTotals | None) -> list[tuple[str, str]]:
    """The software and hardware of the run as names and texts, as far as reported."""
    started, devices = history.started, history.devices
    reported = (
        ("computer", started.host if started else ""),
        ("GPU Studio", started.gpu_studio if started else ""),
        ("Python", started.python if started else ""),
        ("TensorFlow", devices.tensorflow if devices else ""),
        ("Keras", devices.keras if devices else ""),
        ("CUDA of TensorFlow", devices.cuda if devices else ""),
        ("NVIDIA driver", machine.driver if machine else ""),
        ("CUDA of the driver", machine.cuda if machine else ""),
        ("simulated cards", machine.simulated if machine else ""),
        *((code.label, code.words) for code in ran_code(history.code.values())),
    )
    return [(name, text) for name, text in reported if text]
