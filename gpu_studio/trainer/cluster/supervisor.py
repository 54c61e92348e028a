"""The trainer process of a run of several processes: it starts the workers, and all again.

It holds the run's lock and writes its events, so that everybody who looks at a run sees one that
lives. If it ends, its workers do; if one of them is lost, all start again from the newest
checkpoint, because workers that are joined cannot be joined by another.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from gpu_studio.contract.directory import (
    RunDirectory,
    SavedCheckpoint,
    checkpoints,
    resumed_from,
)
from gpu_studio.contract.event_writer import TakesEvents
from gpu_studio.contract.events import Failed, Finished, StateChanged, Warned
from gpu_studio.plan import Plan, cluster_of
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.trainer.cluster.attempt import Attempt, Loss
from gpu_studio.trainer.cluster.relay import Relay
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.errors import ClusterError, WorkerFailed
from gpu_studio.trainer.progress import Reached

WORKER_LOST = "worker_lost"


def supervise(
    run: RunDirectory, plan: Plan, writer: TakesEvents, control: Control, reached: Reached
) -> Finished:
    """Train the plan by several processes, and return how it ended.

    Raises WorkerFailed, ClusterError, OSError.
    """
    cluster = cluster_of(plan) or Cluster()
    _refuse_other_starts(cluster)
    began, relay = time.perf_counter(), Relay(writer, reached)
    count, number, first = cluster.workers, 0, _resumed(run)
    while True:
        saved = _newest(run) if number else first
        attempt = Attempt(
            run, cluster, count, number, saved, writer, relay.tell, lambda: control.stopping
        )
        end = attempt.run()
        if isinstance(end, Finished):
            return replace(end, seconds=time.perf_counter() - began)
        if end is None or control.stopping:
            at, seconds = reached.progress, time.perf_counter() - began
            return Finished(reason="stopped_now", seconds=seconds, epoch=at.epoch, step=at.step)
        number += 1
        if number > cluster.restarts:
            raise WorkerFailed(_failure(end, cluster, _newest(run)))
        count = max(1, count - 1) if cluster.with_fewer else count
        _tell_restart(writer, end, count, number, cluster, _newest(run))


def _refuse_other_starts(cluster: Cluster) -> None:
    if cluster.start != "local":
        raise ClusterError(
            f"The plan's workers are started by {cluster.start}, and a run starts them on this "
            "machine only.",
            [
                'Set cluster.start = "local" to train on this machine.',
                "Or, for Slurm: gpu-studio cluster submit PLAN; for Kubernetes: gpu-studio export.",
            ],
        )


def _resumed(run: RunDirectory) -> SavedCheckpoint | None:
    note = resumed_from(run)
    return next((each for each in checkpoints(run) if note and each.name == note.checkpoint), None)


def _newest(run: RunDirectory) -> SavedCheckpoint | None:
    return next(reversed(checkpoints(run)), None)


def _tell_restart(
    writer: TakesEvents,
    loss: Loss,
    count: int,
    number: int,
    cluster: Cluster,
    saved: SavedCheckpoint | None,
) -> None:
    where = f"from {saved.name}" if saved else "from the beginning"
    who = f"all {count} workers start" if count > 1 else "worker 0 starts"
    advice = _folded(loss)
    writer.write(
        Warned(
            message=f"{loss.words} Now {who} again {where}: restart {number} of "
            f"{cluster.restarts}.",
            suggestion=advice,
        )
    )
    writer.write(StateChanged(state="starting", reason=f"restart {number} of {cluster.restarts}"))


def _folded(loss: Loss) -> str:
    """What the others said, in one line: it follows from the loss, and their logs have it whole."""
    if not loss.others:
        return ""
    return f"It ended {', '.join(loss.others)} too: the errors in their logs follow from that."


def _failure(loss: Loss, cluster: Cluster, saved: SavedCheckpoint | None) -> Failed:
    again = f", after {cluster.restarts} restarts" if cluster.restarts else ""
    kept = f"Resume from {saved.name}." if saved else "Train again."
    suggestions = [kept]
    if cluster.restarts == 0:
        suggestions.append("Let all start again by themselves: cluster.restarts = 3.")
    said = "\n\n".join(f"{title}: {words}" for title, words in loss.others.items())
    return Failed(
        message=f"{loss.words.rstrip('.')}{again}.",
        suggestions=suggestions,
        traceback=said and f"What followed from it:\n\n{said}",
        kind=WORKER_LOST,
    )
