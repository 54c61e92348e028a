"""A start of all workers of a run as tasks of a job of Slurm, which may have to wait for its nodes.

Tasks and supervisor speak by `Mail` in the run's directory. Whether a task lives is reported by the
shell that started it, and whether the job does by Slurm.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from gpu_studio.contract import (
    Finished,
    Log,
    RunDirectory,
    StateChanged,
    cluster_file,
    make_own_directory,
)
from gpu_studio.contract.cluster_file import ClusterFile, ClusterMember
from gpu_studio.hosts.judging import is_public
from gpu_studio.hosts.slurm import SlurmError, SlurmJob, SlurmSilentError, no_job_words
from gpu_studio.hosts.slurm_run import MAIL, RunJob, addresses_of, down_among
from gpu_studio.plan import listed
from gpu_studio.trainer.cluster.attempt import Again, Attempt, Loss
from gpu_studio.trainer.cluster.channel import Gone, Over, Relayed
from gpu_studio.trainer.cluster.mail import ASKED, POLL_S, Mail
from gpu_studio.trainer.cluster.roles import Part
from gpu_studio.trainer.cluster.workers import Worker
from gpu_studio.trainer.errors import ClusterError

ENDED_S = 10.0
"""So long after its end Slurm may still put a job back into its queue."""
COMPLETING_S = 300.0
"""So long a job may take to end: Slurm gives its processes 30 s by default, its nodes longer."""
_FOR_NO_FAULT = ("NODE_FAIL", "BOOT_FAIL", "PREEMPTED")
_SHELL_SIGNAL = 128
"""A shell adds this to the number of the signal that ended a process."""


def _may_change(job: SlurmJob) -> float:
    """So many seconds a job that ends, or has ended, may take to be what it will stay."""
    if job.state == "COMPLETING":
        return COMPLETING_S
    return ENDED_S if job.state in _FOR_NO_FAULT else 0.0


class SlurmTask(Worker):
    """Worker `index`, which a job of Slurm starts."""

    channel: Mail

    def __init__(
        self, run: RunDirectory, index: int, count: int, attempt: int, job: RunJob
    ) -> None:
        self._job = job
        self._status: int | None = None
        super().__init__(run, Part("worker", index), count, attempt)

    def _begun(self, count: int, attempt: int) -> Mail:
        """Make its folder, where it finds what it is asked: the job itself is ordered for all."""
        del count
        folder = self._run.of_worker(attempt, self.part.role, self.part.index).path
        make_own_directory(folder.parent)
        make_own_directory(folder)
        mail = Mail(folder / ASKED, folder / MAIL)
        mail.say_present()
        return mail

    @property
    def status(self) -> int | None:
        """How it ended, as its shell reports."""
        return self._status

    @property
    def is_stopped(self) -> bool:
        """Slurm does not tell of its tasks."""
        return False

    def hear(self) -> list[Relayed]:
        """Take note of what it says, and say that there is somebody to hear it."""
        self.channel.say_present()
        said = self.channel.new()
        for each in said:
            if isinstance(each, Gone):
                signals = each.status > _SHELL_SIGNAL
                self._status = _SHELL_SIGNAL - each.status if signals else each.status
                self.channel.closed = True
        return self._noted(said)

    def terminate(self) -> bool:
        """Ask it, and with it all others, to stop."""
        return self._job.ask_to_stop()

    def wait(self, seconds: float) -> None:
        """Wait until its shell tells its end."""
        end = time.monotonic() + seconds
        while self._status is None and time.monotonic() < end:
            time.sleep(POLL_S)
            self.hear()

    def end(self) -> None:
        """Hear it no more: the job ends the tasks of all workers together.

        One on a node that Slurm has lost finds here that it is to end.
        """
        self._ended_here = self._status is None
        self.channel.say(Over())
        self.channel.close()
        if not self._ended_here:
            for path in (self.channel.outgoing, self.channel.incoming):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def member(self) -> ClusterMember:
        """Who it is."""
        folder = "" if self.part.is_first else str(self.own.path.relative_to(self._run.path))
        return ClusterMember(
            role=self.part.role,
            index=self.part.index,
            host=(self.here.node or self.here.host) if self.here else "",
            pid=self.here.pid if self.here else 0,
            address=self.address,
            folder=folder,
        )


class SlurmAttempt(Attempt):
    """All workers of a run from an order to its job on."""

    def __init__(self, job: RunJob, *arguments: Any) -> None:
        """Have the workers started by this job; the rest is what an `Attempt` takes."""
        super().__init__(*arguments)
        self._by = job
        self._queued = ""
        self._ended: float | None = None

    def run(self) -> Finished | Loss | None:
        """As of all attempts; workers that Slurm has stopped to start them again are no end."""
        end = super().run()
        stopped = isinstance(end, Finished) and end.reason == "stopped"
        if stopped and not self._is_limited and self._is_put_back():
            return self._put_back()
        return end

    def _put_back(self) -> Loss:
        """Slurm will start the job again: without fault of a worker."""
        nodes = [worker.here.node for worker in self._workers if worker.here is not None]
        down = down_among([node for node in nodes if node])
        verb = "is" if len(down) == 1 else "are"
        why = f": {listed(down)} {verb} down" if down else ""
        return Loss("", f"Slurm has put the job back into its queue{why}.", again="free")

    @property
    def _is_limited(self) -> bool:
        return any(worker.beat.limited for worker in self._workers)

    def _is_put_back(self) -> bool:
        """Whether the job goes back into the queue, which Slurm shows once its tasks are gone."""
        began = time.monotonic()
        while not self._stopping():
            job = self._by.look()
            if job.waits or job.restarts > self._by.ordered:
                return True
            longest = _may_change(job) if job.ended else max(ENDED_S, _may_change(job))
            if time.monotonic() - began >= longest:
                return False
            time.sleep(POLL_S)
        return False

    def _start_all(self) -> None:
        for index in range(self._count):
            task = SlurmTask(self._run, index, self._count, self._number, self._by)
            self._workers.append(task)
        before = self._by.number
        try:
            self._by.order(self._number, self._count)
        except SlurmError as error:
            said, look = no_job_words(error)
            kept = ["A job that it has taken all the same ends as soon as it begins."]
            examine = ["See what would keep it from training: gpu-studio cluster examine PLAN."]
            silent = isinstance(error, SlurmSilentError)
            raise ClusterError(said, [look, *(kept if silent else examine)]) from error
        self._job = self._by.number
        if self._job != before:
            self._writer.write(Log(message=f"Job {self._job} of Slurm is to train this run."))
            waiting = ClusterFile(start="slurm", attempt=self._number, members=[], job=self._job)
            cluster_file.write(self._run, waiting)

    def _end_all(self) -> None:
        if any(worker.status is None for worker in self._workers):
            self._by.end_workers()
        super()._end_all()

    def _speaking(self, open_ones: list[Worker]) -> list[Worker]:
        time.sleep(POLL_S)
        # Slurm may take its time to answer: before they are heard, or they would seem silent.
        self._by.look()
        return open_ones

    def _addresses(self) -> list[str]:
        """What the tasks reach each other by, as Slurm reaches their nodes."""
        there = [worker.here for worker in self._workers if worker.here is not None]
        self._refuse_public([each for here in there for each in here.addresses])
        try:
            nodes = addresses_of([here.node for here in there])
        except SlurmError as error:
            raise ClusterError(f"Slurm does not tell where its nodes are: {error}.") from error
        first = self._cluster.port
        return [
            f"{nodes.get(here.node, here.host)}:{first + index if first else here.port}"
            for index, here in enumerate(there)
        ]

    def _refuse_public(self, addresses: list[str]) -> None:
        public = sorted({each for each in addresses if is_public(each)})
        if public and not self._cluster.trusted_network:
            raise ClusterError(
                f"{listed(public)} can be reached from the internet, and TensorFlow's workers ask "
                "for no password: whoever reaches a port can run what they like as you.",
                ["Close the ports by a firewall, then set cluster.trusted_network = true."],
            )

    def _go_on(self) -> None:
        job = self._by.look()
        if job.waits and not any(worker.here for worker in self._workers):
            self._wait_in_queue(job)
        else:
            super()._go_on()

    def _wait_in_queue(self, job: SlurmJob) -> None:
        """Tell why the job waits. The workers' own time begins once it does not."""
        self._since = time.monotonic()
        if (words := job.words) != self._queued:
            self._queued = words
            again = ", to which Slurm has put it back" if job.restarts else ""
            said = f"waiting in Slurm's queue{again}: {job.why_waiting}"
            self._writer.write(StateChanged(state="starting", reason=said))

    def _lost(self) -> Loss | None:
        job = self._by.look()
        if job.restarts > self._by.ordered:
            return self._put_back()
        if not job.ended:
            self._ended = None
        elif not any(worker.ended for worker in self._workers):
            # Slurm may be about to put it back into the queue.
            self._ended = self._ended or time.monotonic()
            if time.monotonic() - self._ended > ENDED_S:
                return self._loss_of_job(job)
        loss = super()._lost()
        return loss and self._loss_by_job(loss)

    def _loss_by_job(self, loss: Loss) -> Loss:
        """What lost a worker: its job, if that ends or goes back into the queue, or it alone.

        Slurm ends the workers of a job that somebody cancels, and says first that it does so.
        """
        began, job = time.monotonic(), self._by.look_anew()
        while not self._stopping() and time.monotonic() - began < _may_change(job):
            time.sleep(POLL_S)
            job = self._by.look_anew()
        if job.waits or job.restarts > self._by.ordered:
            return self._put_back()
        return self._loss_of_job(job) if job.ended else loss

    def _loss_of_job(self, job: SlurmJob) -> Loss:
        again: Again = "costs" if job.state in _FOR_NO_FAULT else "never"
        return Loss("", f"Slurm's job {job.id} {job.words}", self._errors(), again)

    @property
    def why_stopped(self) -> str:
        """What made the workers stop, in a sentence."""
        job = self._by.look()
        if self._is_limited:
            return f"The time limit of Slurm's job {job.id}, {job.limit}, was near."
        return f"Slurm's job {job.id} was told to stop."
