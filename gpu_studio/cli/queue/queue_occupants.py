"""Which live runs work on which devices, for the runner of a queue."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.plan import Machine, PlanError, load
from gpu_studio.plan.logical import CPU
from gpu_studio.runs import lock
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import StateChanged, Steps
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.queueing.queue_choice import Occupant
from gpu_studio.runs.queueing.queue_entry import noted_in
from gpu_studio.runs.queueing.queue_needs import needs_of
from gpu_studio.runs.state import is_live


class Occupants:
    """The live runs of a runs directory."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._begun: set[str] = set()
        self._known: tuple[RunDirectory, ...] = ()

    def living(self) -> tuple[str, ...]:
        """Of the runs found by `now` last, those that still live: probes their locks only."""
        return tuple(f"{run.id} {self._has_begun(run)}" for run in self._known if is_live(run))

    def now(self, machine: Machine) -> tuple[Occupant, ...]:
        """Every live run, the oldest first."""
        locks = sorted(self._runs.glob("[!.]*/trainer.lock"))
        self._known = tuple(run for each in locks if is_live(run := RunDirectory(each.parent)))
        return tuple(Occupant(run.id, _devices(run, machine), self._holds(run), _pid(run)) for run in self._known)

    def _holds(self, run: RunDirectory) -> bool:
        return bool(noted_in(run)) or not self._has_begun(run)

    def _has_begun(self, run: RunDirectory) -> bool:
        """Whether it trains, so that the memory it takes is seen to be taken."""
        if run.id not in self._begun and any(_tells_of_training(event) for event in events_of(run)):
            self._begun.add(run.id)
        return run.id in self._begun


def _tells_of_training(event: object) -> bool:
    return isinstance(event, Steps) or (isinstance(event, StateChanged) and event.state == "running")


def _pid(run: RunDirectory) -> int:
    holder = lock.last_holder(run.lock_file)
    return holder.pid if holder is not None and holder.is_here else 0


def _devices(run: RunDirectory, machine: Machine) -> frozenset[str]:
    try:
        needs = needs_of(load(run.plan_file), machine, {})
    except PlanError:
        return frozenset({CPU, *(card.device for card in machine.cards)})
    return frozenset(need.device for need in needs)
