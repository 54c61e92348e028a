"""A start of a chief, its workers and the servers that hold the variables.

A worker keeps nothing: while one is lost the others do its work, and another process takes its
place, at the same address. Without the chief or a server nobody can go on, and all start again.
"""

from __future__ import annotations

from gpu_studio.contract import Warned
from gpu_studio.trainer.cluster.attempt import Attempt, Loss, capital
from gpu_studio.trainer.cluster.roles import Part, served_parts
from gpu_studio.trainer.cluster.workers import Worker


class ServedAttempt(Attempt):
    """All processes of a run with servers from their start on."""

    def _parts_of(self) -> list[Part]:
        return served_parts(self._count, self._cluster.servers)

    def _hear(self) -> None:
        super()._hear()
        shared = self._workers[0].shared
        if shared is None:
            return
        for worker in self._workers:
            index = worker.part.index
            if worker.part.role == "worker" and index < len(shared.shares):
                worker.share = shared.shares[index]
            elif worker.part.role == "server" and index < len(shared.held):
                worker.held = shared.held[index]

    def _go_on(self) -> None:
        super()._go_on()
        if self._phase == "training":
            for worker in self._workers:
                self._begin_new(worker)

    def _begin_new(self, worker: Worker) -> None:
        """Have one begin that has come for another that was lost."""
        if worker.here and not worker.going:
            self._tell_go(worker)
        elif worker.ready and not worker.begun:
            worker.begin()

    def _loss(self, worker: Worker, why: str) -> Loss | None:
        if worker.part.can_be_replaced and self._can_replace:
            self._replace(worker, why)
            return None
        return super()._loss(worker, why)

    @property
    def _can_replace(self) -> bool:
        """Whether there is a chief for whom another worker would work, and a restart left."""
        led = self._phase == "training" and self._workers[0].ended is None
        return led and self.lost < self._cluster.restarts

    def _replace(self, worker: Worker, why: str) -> None:
        """Start another process in the place of a worker."""
        self.lost += 1
        worker.end()
        new = Worker(self._run, worker.part, self._count, self._number)
        new.share = worker.share
        self._workers[self._workers.index(worker)] = new
        self._tell_places()
        self._writer.write(
            Warned(
                message=f"{capital(worker.title)} {why}. The others go on with its work, and it "
                f"starts again: restart {self.lost} of {self._cluster.restarts}."
            )
        )
