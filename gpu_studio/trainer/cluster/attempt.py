"""One start of all workers of a run, until it has ended or one of them is lost."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal

from gpu_studio.common.figures import duration
from gpu_studio.contract import (
    ClusterStarted,
    Failed,
    Finished,
    Log,
    RunDirectory,
    SavedCheckpoint,
    StateChanged,
    Warned,
    WorkerPlace,
    Workers,
    cluster_file,
)
from gpu_studio.contract.cluster_file import ClusterFile
from gpu_studio.contract.events import Event
from gpu_studio.contract.failure_texts import advice_for
from gpu_studio.plan import Cluster, listed
from gpu_studio.trainer.cluster.channel import Channel
from gpu_studio.trainer.cluster.ports import LOCAL, held_ports
from gpu_studio.trainer.cluster.roles import Part, config_of, equal_parts
from gpu_studio.trainer.cluster.workers import Worker, last_words
from gpu_studio.trainer.errors import ClusterError, WorkerFailed
from gpu_studio.trainer.telemetry import TakesEvents

POLL_SECONDS = 0.2
TELL_SECONDS = 1.0
SAY_MISSING_AFTER = 5.0
"""So long all may take after the first, before it is reported for whom they wait."""
GRACE_SECONDS = 2.0
"""So long the first cause is looked for, once a worker has said that another is gone."""
END_SECONDS, LEAVE_SECONDS = 20.0, 5.0
"""So long the other workers may take to end once worker 0 has, and to leave when all have."""

Again = Literal["costs", "free", "never"]
Phase = Literal["gathering", "starting", "training"]
_PHASE_WORDS: dict[Phase, tuple[str, str]] = {
    "gathering": ("there", "missing"),
    "starting": ("ready", "starting"),
}

STARTING_TIMES = 6
"""So many times as long as its process may take to be there, a worker may read data and build the
model, though it speaks all the while."""
_LIMIT_WORDS: dict[Phase, str] = {
    "gathering": "All must be there by then.",
    "starting": f"All must be ready to train within {STARTING_TIMES} times of it.",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """A process was lost: `cause` in a clause, and what the others said of it, by their titles.

    `who` is its title; empty if nobody knows. To start `again` costs one of the restarts; it is
    free where Slurm has put the whole job back into its queue, and never done where somebody has
    ended it.
    """

    who: str
    cause: str
    others: dict[str, str] = field(default_factory=dict)
    again: Again = "costs"

    @property
    def words(self) -> str:
        """What happened, in a sentence."""
        return f"{capital(self.who)} {self.cause}." if self.who else self.cause


class Attempt:
    """All workers of a run from their start on."""

    def __init__(
        self,
        run: RunDirectory,
        cluster: Cluster,
        count: int,
        number: int,
        checkpoint: SavedCheckpoint | None,
        writer: TakesEvents,
        relay: Callable[[Event], None],
        stopping: Callable[[], bool],
        lost: int = 0,
    ) -> None:
        """`lost` is how often a process was lost before, which costs restarts."""
        self._run, self._cluster, self._count, self._number = run, cluster, count, number
        self._checkpoint, self._writer = checkpoint, writer
        self._relay, self._stopping = relay, stopping
        self._workers: list[Worker] = []
        self._parts, self._at = self._parts_of(), list[str]()
        self.lost = lost
        self._phase: Phase = "gathering"
        self._since, self._first = time.monotonic(), 0.0
        self._reported, self._said, self._asked = 0.0, "", False
        self._follows: float | None = None
        self._job, self._ports, self._held = "", list[int](), ExitStack()

    def run(self) -> Finished | Loss | None:
        """Start all, and return how the first finished, or who was lost.

        None if a stop was asked for before they trained. Raises WorkerFailed, ClusterError and
        OSError.
        """
        try:
            self._start_all()
            return self._watched()
        finally:
            self._end_all()
            self._tell_workers()

    def _start_all(self) -> None:
        if self._cluster.port:
            self._ports = held_ports(self._held, len(self._parts), self._cluster.port)
        for part in self._parts:
            self._workers.append(Worker(self._run, part, self._count, self._number))

    def _parts_of(self) -> list[Part]:
        return equal_parts(self._count)

    def _end_all(self) -> None:
        for worker in self._workers:
            worker.end()
        self._held.close()

    def _addresses(self) -> list[str]:
        """What the workers reach each other by."""
        ports = self._ports or held_ports(self._held, len(self._parts))
        return [f"{LOCAL}:{port}" for port in ports]

    def _watched(self) -> Finished | Loss | None:
        while True:
            self._hear()
            first = self._workers[0].ended
            if first is not None and isinstance(first.event, Finished):
                self._part()
                return first.event
            self._raise_failure()
            if loss := self._lost():
                return loss
            if self._stopping() and not self._ask_to_stop():
                return None
            self._go_on()
            self._tell()

    def _hear(self) -> None:
        open_ones = [worker for worker in self._workers if not worker.channel.closed]
        for worker in self._speaking(open_ones):
            for heard in worker.hear():
                self._relay(heard.event)
        if not open_ones:
            time.sleep(POLL_SECONDS)

    def _speaking(self, open_ones: list[Worker]) -> list[Worker]:
        """Those of whom there may be something new; waits a moment for that."""
        ends = {each.channel: each for each in open_ones if isinstance(each.channel, Channel)}
        heard, _, _ = select.select([*ends], [], [], POLL_SECONDS)
        return [ends[channel] for channel in heard]

    @property
    def why_stopped(self) -> str:
        """What made the workers stop, in a sentence, if nobody here did; empty if it is unknown."""
        return ""

    # From the start to the first step.

    def _go_on(self) -> None:
        if self._phase == "gathering" and all(worker.here for worker in self._workers):
            self._refuse_other_versions()
            self._begin_tensorflow(self._addresses())
        elif self._phase == "starting" and all(worker.ready for worker in self._workers):
            self._refuse_unlike()
            self._enter("training")
            for worker in self._workers:
                worker.begin()
        elif self._phase != "training" and self._waited > self._limit:
            raise ClusterError(
                f"{self._rolled(self._missing(), self._waited)}.",
                [
                    "Look at the end of its log for the reason.",
                    f"Or give it longer: cluster.start_within. {_LIMIT_WORDS[self._phase]}",
                ],
            )

    @property
    def _limit(self) -> float:
        """So long all may take for the phase before they train."""
        times = 1 if self._phase == "gathering" else STARTING_TIMES
        return self._cluster.start_within * times

    def _begin_tensorflow(self, addresses: list[str]) -> None:
        self._at = addresses
        self._tell_places()
        if not self._number and not self._cluster.trusted_network:
            self._writer.write(Log(message=_open_to(addresses)))
        self._enter("starting")
        for worker in self._workers:
            self._tell_go(worker)

    def _tell_go(self, worker: Worker) -> None:
        path = str(self._checkpoint.path) if self._checkpoint else ""
        worker.go(config_of(worker.part, self._parts, self._at), path, self._together(worker))

    def _together(self, worker: Worker) -> int:
        """How many processes hold the data on the worker's machine: all but those that serve."""
        keeping = [each.here for each in self._workers if not each.part.serves]
        mine = worker.here.host if worker.here else ""
        return sum(here is not None and here.host == mine for here in keeping)

    def _tell_places(self) -> None:
        """Write down who takes part, and where."""
        for worker, address in zip(self._workers, self._at, strict=True):
            worker.address = address
        members = [worker.member() for worker in self._workers]
        start = self._cluster.start
        known = ClusterFile(start=start, attempt=self._number, members=members, job=self._job)
        cluster_file.write(self._run, known)
        places = [
            WorkerPlace(**{name: getattr(each, name) for name in WorkerPlace.__struct_fields__})
            for each in members
        ]
        step = self._checkpoint.step if self._checkpoint else 0
        self._writer.write(
            ClusterStarted(
                attempt=self._number, start=start, workers=places, from_step=step, job=self._job
            )
        )

    def _refuse_other_versions(self) -> None:
        """Raises ClusterError for workers of other versions, which may wait for ever."""
        first = self._workers[0].here
        for worker in self._workers[1:]:
            if first is None or worker.here is None:
                continue
            theirs = worker.here.versions
            for name in sorted(first.versions.keys() | theirs.keys()):
                one, other = first.versions.get(name, "no"), theirs.get(name, "no")
                if one != other:
                    raise ClusterError(
                        f"Worker 0 has {name} {one} and {worker.title} {other}, on "
                        f"{worker.here.node or worker.here.host}: they would not train the same.",
                        [f"Install one version of {name} for all workers."],
                    )

    def _refuse_unlike(self) -> None:
        """Raises ClusterError for workers that would not train the same."""
        first = self._workers[0].ready
        for worker in self._workers[1:]:
            if worker.part.serves:
                continue  # it has nothing of its own
            mine = worker.ready
            assert first is not None
            assert mine is not None
            digests = mine.digests
            unlike = [name for name, one in first.digests.items() if digests.get(name) != one]
            unlike += ["step"] if mine.step != first.step else []
            if unlike:
                raise ClusterError(
                    f"{capital(worker.title)} has other {listed(unlike)} than worker 0: together "
                    "they would train neither the one nor the other.",
                    [
                        "Let functions of your own return the same in each process.",
                        "Look whether a file has changed while they began.",
                    ],
                )

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since, self._first = phase, time.monotonic(), 0.0

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._since

    # What goes wrong.

    def _raise_failure(self) -> None:
        """Raises WorkerFailed if one has failed by itself, in the words of the first to."""
        failed = [
            (worker, worker.ended.event)
            for worker in self._workers
            if worker.ended and not worker.ended.follows and isinstance(worker.ended.event, Failed)
        ]
        if failed:
            worker, failure = failed[0]
            alone = len(failed) == 1 and not worker.part.is_first
            raise WorkerFailed(_of_worker(failure, worker.title, alone=alone))

    def _lost(self) -> Loss | None:
        for worker in self._workers:
            if why := worker.why_gone():
                return self._loss(worker, why)
        for worker in sorted(self._workers, key=lambda each: -each.silent):
            if why := self._why_silent(worker):
                return self._loss(worker, why)
        if errors := self._errors():
            # Others say that one is gone, and nobody is yet: who was it?
            self._follows = self._follows or time.monotonic()
            if time.monotonic() - self._follows > GRACE_SECONDS + self._cluster.lost_after:
                return Loss("", "The workers lost each other.", errors)
        return None

    def _why_silent(self, worker: Worker) -> str:
        if self._phase == "gathering" or worker.ended is not None:
            return ""
        if worker.silent <= self._cluster.lost_after:
            return ""
        stopped = worker.is_stopped
        # While Python and TensorFlow begin, also of one that comes for another, it may be silent.
        patience = 0 if worker.begun else self._cluster.start_within
        if not stopped and worker.silent <= patience:
            return ""
        how = "was stopped by a signal, and" if stopped else ""
        return f"{how} has said nothing for {duration(worker.silent)}".strip()

    def _loss(self, worker: Worker, why: str) -> Loss | None:
        """What the loss of a worker means for all; None where the others go on without it."""
        worker.lost = True
        end = time.monotonic() + GRACE_SECONDS
        others = [each for each in self._workers if each is not worker]
        while time.monotonic() < end and not all(each.ended for each in others):
            self._hear()
        if self._phase == "gathering" and (said := last_words(worker.own.log_file)):
            why = f"{why} before it was there: {said}"
        return Loss(worker.part.called, why, self._errors())

    def _errors(self) -> dict[str, str]:
        """What workers said of another's end."""
        return {
            worker.part.called: worker.ended.event.message
            for worker in self._workers
            if worker.ended is not None and isinstance(worker.ended.event, Failed)
        }

    # The end.

    def _ask_to_stop(self) -> bool:
        """Pass a stop on; return whether there is somebody who can save."""
        if self._phase != "training":
            return False
        if not self._asked:
            self._asked = self._workers[0].terminate()
        return True

    def _part(self) -> None:
        """Wait for the others, and let all go; who does not, is ended."""
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end and any(
            not worker.ended and not worker.channel.closed and worker.silent < LEAVE_SECONDS
            for worker in self._workers
            if not worker.part.serves
        ):
            self._hear()
        self._tell_workers()
        for worker in self._workers:
            worker.dismiss()
        for worker in self._workers:
            worker.wait(LEAVE_SECONDS if worker.ended or worker.part.serves else 0)

    # What is reported.

    def _tell(self) -> None:
        said = self._roll()
        if said and said != self._said:
            self._said = said
            self._writer.write(StateChanged(state="starting", reason=said))
        if time.monotonic() - self._reported >= TELL_SECONDS:
            self._tell_workers()

    def _tell_workers(self) -> None:
        self._reported = time.monotonic()
        for worker in self._workers:
            self._tell_refusal(worker)
        self._writer.write(Workers(workers=[worker.state() for worker in self._workers]))

    def _tell_refusal(self, worker: Worker) -> None:
        """Say once that the disk of a worker takes no more, and once that it does again."""
        refusal, worker.reported_refusal = worker.reported_refusal, worker.beat.refusal
        if worker.reported_refusal and not refusal:
            why = worker.reported_refusal
            self._writer.write(
                Warned(
                    message=f"The disk of {worker.title} takes no more ({why}). It trains on, and "
                    f"keeps what it cannot write to {worker.own.path} in its memory.",
                    suggestion=advice_for(why),
                )
            )
        elif refusal and not worker.reported_refusal:
            self._writer.write(Log(message=f"The disk of {worker.title} takes writes again."))

    def _roll(self) -> str:
        """Who is missing, once others are: `2 of 3 are there, worker 2 has been missing for 20 s`.

        Empty while nobody waits for long.
        """
        missing = self._missing()
        if not missing or self._phase == "training":
            return ""
        if len(missing) < len(self._workers):
            self._first = self._first or time.monotonic()
        waited = time.monotonic() - self._first if self._first else 0.0
        return "" if waited < SAY_MISSING_AFTER else self._rolled(missing, 5 * int(waited / 5))

    def _missing(self) -> list[Worker]:
        """Who has not come as far as all must before the next phase."""
        gathering = self._phase == "gathering"
        return [each for each in self._workers if not (each.here if gathering else each.ready)]

    def _rolled(self, missing: list[Worker], seconds: float) -> str:
        there = len(self._workers) - len(missing)
        come, not_yet = _PHASE_WORDS[self._phase]
        titles = listed(each.part.called for each in missing)
        verb = "has been" if len(missing) == 1 else "have been"
        return (
            f"{there} of {len(self._workers)} are {come}, {titles} {verb} {not_yet} for "
            f"{duration(seconds)}"
        )


def _open_to(addresses: list[str]) -> str:
    ports = list(dict.fromkeys(each.rpartition(":")[2] for each in addresses))
    many = f"port {ports[0]}" if len(ports) == 1 else f"ports {listed(ports)}"
    return (
        f"TensorFlow's workers listen on {many}, to which programs of other users and of this "
        "network may connect: it asks for no password."
    )


def _of_worker(failure: Failed, title: str, *, alone: bool) -> Failed:
    """The failure of a worker, with its name where it `alone` failed."""
    if not alone:
        return failure
    fields = {name: getattr(failure, name) for name in failure.__struct_fields__}
    return Failed(**{**fields, "message": f"In {title}: {failure.message}"})


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return f"{text[:1].upper()}{text[1:]}"
