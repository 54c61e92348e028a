"""Run a queue: start one plan after another, each when its devices have enough memory."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from gpu_studio import hardware
from gpu_studio.contract import RunDirectory, StateChanged, Steps, lock
from gpu_studio.hardware import accompany
from gpu_studio.hardware.asking import WITH_USERS
from gpu_studio.plan import CPU, Machine, PlanError, load
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.queue import Queue, QueueError, why
from gpu_studio.runs.queue_choice import (
    Need,
    Occupant,
    Waiting,
    first_to_start,
    needs_of,
    never_fits,
)
from gpu_studio.runs.queue_entry import QueueEntry, Wait, noted_in
from gpu_studio.runs.results import prediction
from gpu_studio.runs.resume import ResumeError, choose
from gpu_studio.runs.state import is_live

TICK_SECONDS: Final = 0.5
MEMORY_SECONDS: Final = 2.0
"""So often the cards are asked for their free memory while an entry waits for some."""
LONGEST_SECONDS: Final = 10.0
"""So often everything is decided anew even if nothing seems to have changed."""
MACHINE_SECONDS: Final = 60.0
PROBE_SECONDS: Final = 0.3
"""For so long the lock is tried: who only looks whether it is held holds it for an instant."""

Say = Callable[[str], None]


class Runner:
    """Works through one queue. `say` receives a line for each start, wait and hold."""

    def __init__(self, runs: Path, say: Say, machine: Callable[[], Machine] | None = None) -> None:
        self._queue = Queue(runs)
        self._say = say
        self._ask = machine or partial(hardware.inventory, command=WITH_USERS)
        self._occupants = Occupants(runs)
        self.processes: list[Launched | subprocess.Popen[bytes]] = []
        self._machine: tuple[float, Machine] | None = None
        self._seen: tuple[object, ...] = ()
        self._waits: dict[str, str] = {}
        self._wants_memory = False

    def run(self) -> bool:
        """Work until nothing is left that may start.

        Returns False at once if another runner is at work.
        """
        try:
            held = lock.take(self._queue.runner_lock, PROBE_SECONDS)
        except lock.LockHeldError:
            return False
        try:
            self._take_over()
            pause = threading.Event()
            while not self._done(held):
                self.step()
                pause.wait(TICK_SECONDS)
        finally:
            held.release()
        return True

    def _done(self, held: lock.Lock) -> bool:
        """Let go if nothing may start.

        As one step with those who add, so that none adds to a runner that leaves.
        """
        if self._queue.startable():
            return False
        with self._queue.editing():
            if self._queue.startable():
                return False
            self._queue.tell({})
            held.release()
            return True

    def _take_over(self) -> None:
        """Settle what a runner that was killed had claimed: it may have started it, or not."""
        for entry in self._queue.entries():
            if entry.claimed and self._was_started(entry):
                self._queue.drop(entry.id)
            elif entry.claimed:
                self._queue.change(entry.id, claimed=0.0)

    def _was_started(self, entry: QueueEntry) -> bool:
        runs = directories(self._queue.runs)
        return any(
            noted_in(run) == entry.id and (is_live(run) or run.events_file.exists()) for run in runs
        )

    def step(self) -> None:
        """Start every entry that may start, if anything that this depends on has changed."""
        self.processes = [process for process in self.processes if process.poll() is None]
        # Looked before and not after the decision: what changes meanwhile is seen the next time.
        before, self._seen = self._seen, self._look()
        if before == self._seen:
            return
        while self._start_first():
            pass
        self._queue.tell(self._waits)

    def _look(self) -> tuple[object, ...]:
        """What a new decision depends on, cheap to have: it is had twice a second."""
        period = MEMORY_SECONDS if self._wants_memory else LONGEST_SECONDS
        return self._queue.version(), self._occupants.living(), int(time.monotonic() / period)

    def _start_first(self) -> bool:
        """Start the first entry that need not wait. Returns whether the queue has changed."""
        self._wants_memory = False
        entries, waiting = self._queue.startable(), []
        for entry in entries:
            try:
                needs = self._needs_of(entry)
            except PlanError as error:
                return self._hold(entry, why(error))
            if not entry.now and (
                reason := never_fits(needs, self._known_machine(MACHINE_SECONDS))
            ):
                return self._hold(entry, reason)
            waiting.append(Waiting(entry.id, entry.name, needs, entry.now, entry.lets_pass))
        machine = self._known_machine(MEMORY_SECONDS if self._wants_memory else MACHINE_SECONDS)
        chosen, waits = first_to_start(waiting, machine, self._occupants.now(machine))
        self._tell_new(entries, waits)
        return any(self._start(entry) for entry in entries if entry.id == chosen)

    def _needs_of(self, entry: QueueEntry) -> tuple[Need, ...]:
        """What an entry needs. Raises PlanError."""
        needs = needs_of(
            self._queue.plan_of(entry), self._known_machine(MACHINE_SECONDS), entry.predicted
        )
        self._wants_memory = self._wants_memory or any(need.device != CPU for need in needs)
        return needs

    def _start(self, entry: QueueEntry) -> bool:
        try:
            self._queue.change(entry.id, claimed=time.time())
        except QueueError:  # removed in this moment
            return True
        try:
            launched = self._launch(entry)
        except (PlanError, OSError) as error:
            return self._hold(entry, why(error))
        except ResumeError as error:
            return self._hold(entry, str(error))
        run = launched.directory
        self.processes += filter(None, (launched, accompany(run.path)))
        self._queue.drop(entry.id)
        self._say(f"started {entry.name}: run {run.id}")
        return True

    def _launch(self, entry: QueueEntry) -> Launched:
        plan, base = self._queue.plan_of(entry), Path(entry.base)
        resume = (
            choose(RunDirectory(self._queue.runs / entry.run), entry.checkpoint)
            if entry.run
            else None
        )
        machine = self._known_machine(MACHINE_SECONDS)
        launched = launch(
            plan, self._queue.runs, base=base, machine=machine, resume=resume, queued_as=entry.id
        )
        reported = prediction.Prediction(
            bytes=entry.predicted, incomplete=entry.incomplete, bounds=entry.bounds
        )
        prediction.write(launched.directory, reported)
        return launched

    def _hold(self, entry: QueueEntry, reason: str) -> bool:
        self._queue.hold(entry.id, reason)
        self._say(f"held {entry.name}: {reason}")
        return True

    def _tell_new(self, entries: tuple[QueueEntry, ...], waits: dict[str, str]) -> None:
        before, self._waits = self._queue.waits(), waits
        for entry in entries:
            wait, reported = waits.get(entry.id), before.get(entry.id)
            if wait is not None and (reported is None or reported.what != Wait(wait).what):
                self._say(f"{entry.name} {wait}")

    def _known_machine(self, age: float) -> Machine:
        """The machine, queried again if the known facts are older than `age` seconds."""
        now = time.monotonic()
        if self._machine is None or now - self._machine[0] > age:
            self._machine = (now, self._ask())
        return self._machine[1]


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
        return tuple(
            Occupant(title_of(run), _devices(run, machine), self._holds(run), _pid(run))
            for run in self._known
        )

    def _holds(self, run: RunDirectory) -> bool:
        return bool(noted_in(run)) or not self._has_begun(run)

    def _has_begun(self, run: RunDirectory) -> bool:
        """Whether it trains, so that the memory it takes is seen to be taken."""
        if run.id not in self._begun and any(_tells_of_training(event) for event in events_of(run)):
            self._begun.add(run.id)
        return run.id in self._begun


def _tells_of_training(event: object) -> bool:
    return isinstance(event, Steps) or (
        isinstance(event, StateChanged) and event.state == "running"
    )


def _pid(run: RunDirectory) -> int:
    holder = lock.last_holder(run.lock_file)
    return holder.pid if holder is not None and holder.is_here else 0


def _devices(run: RunDirectory, machine: Machine) -> frozenset[str]:
    try:
        needs = needs_of(load(run.plan_file), machine, {})
    except PlanError:
        return frozenset({CPU, *(card.device for card in machine.cards)})
    return frozenset(need.device for need in needs)
