"""The trainer process of a run of several processes: it starts the workers, and all again.

It holds the run's lock and writes its events, so that everybody who looks at a run sees one that
lives. If it ends, its workers do; if one of them is lost, all start again from the newest
checkpoint, because workers that are joined cannot be joined by another.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from gpu_studio.contract import (
    Failed,
    Finished,
    RunDirectory,
    SavedCheckpoint,
    StateChanged,
    Warned,
    checkpoints,
    resumed_from,
    to_go_on_from,
)
from gpu_studio.contract.consent import is_shell_allowed
from gpu_studio.hosts.examination import examined
from gpu_studio.hosts.slurm_run import RunJob, run_script, shell_of
from gpu_studio.plan import Cluster, Plan, cluster_of, strategy_of, with_absolute_files
from gpu_studio.trainer.cluster.attempt import Attempt, Loss
from gpu_studio.trainer.cluster.relay import Relay
from gpu_studio.trainer.cluster.served_attempt import ServedAttempt
from gpu_studio.trainer.cluster.slurm_attempt import SlurmAttempt
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.environment import at_last
from gpu_studio.trainer.errors import ClusterError, WorkerFailed
from gpu_studio.trainer.progress import Reached
from gpu_studio.trainer.telemetry import TakesEvents

WORKER_LOST = "worker_lost"


def supervise(
    run: RunDirectory, plan: Plan, writer: TakesEvents, control: Control, reached: Reached
) -> Finished:
    """Train the plan by several processes, and return how it ended.

    Raises WorkerFailed, ClusterError, OSError.
    """
    cluster = cluster_of(plan) or Cluster()
    if cluster.start == "slurm":
        _refuse_shell(plan)
        script = run_script(plan, run.path)
        _refuse_by_slurm(run, plan, script)
        job, status = RunJob(run, script), 1
        attempt = partial(SlurmAttempt, job)
        with at_last(job.cancel):
            try:
                end = _supervised(run, cluster, writer, control, reached, attempt)
                status = 0
            finally:
                job.close(status)
        return end
    _refuse_other_starts(cluster)
    attempt_of = ServedAttempt if strategy_of(plan).serves else Attempt
    return _supervised(run, cluster, writer, control, reached, attempt_of)


def _supervised(
    run: RunDirectory,
    cluster: Cluster,
    writer: TakesEvents,
    control: Control,
    reached: Reached,
    attempt_of: Callable[..., Attempt],
) -> Finished:
    began, relay = time.perf_counter(), Relay(writer, reached)
    count, number, lost, first = cluster.workers, 0, 0, _resumed(run)
    while True:
        saved = _newest(run) if number else first
        attempt = attempt_of(
            run, cluster, count, number, saved, writer, relay.tell, lambda: control.stopping, lost
        )
        end = attempt.run()
        if isinstance(end, Finished):
            because = attempt.why_stopped if end.reason == "stopped" else ""
            because = "" if control.stopping else because
            return replace(end, seconds=time.perf_counter() - began, because=because)
        if end is None or control.stopping:
            at, seconds = reached.progress, time.perf_counter() - began
            return Finished(reason="stopped_now", seconds=seconds, epoch=at.epoch, step=at.step)
        number, lost = number + 1, attempt.lost + (end.again != "free")
        if lost > cluster.restarts or end.again == "never":
            raise WorkerFailed(_failure(end, cluster, _newest(run)))
        fewer = cluster.with_fewer and end.again == "costs"
        count = max(1, count - 1) if fewer else count
        _tell_restart(writer, end, count, lost, cluster, _newest(run))


def _refuse_shell(plan: Plan) -> None:
    """Raises ClusterError for lines of shell that the user has not allowed, whoever starts this."""
    if not is_shell_allowed(shell_of(plan)):
        raise ClusterError(
            "The plan gives Slurm lines of shell, which run as you, and they are not allowed.",
            ["If you have read and trust them: gpu-studio train PLAN --allow-shell."],
        )


def _refuse_by_slurm(run: RunDirectory, plan: Plan, script: str) -> None:
    """Raises ClusterError for a job that can never run."""
    found = examined(with_absolute_files(plan, run.path), run.path.parent, script)
    if bad := [each for each in found if each.state == "bad"]:
        raise ClusterError(bad[0].shown, [*bad[0].mend])


def _refuse_other_starts(cluster: Cluster) -> None:
    if cluster.start != "local":
        raise ClusterError(
            f"The plan's workers are started by {cluster.start}, which no run asks for them.",
            [
                'Set cluster.start = "local" to train on this machine.',
                "Or, for Kubernetes: gpu-studio export PLAN --to kubernetes.",
            ],
        )


def _resumed(run: RunDirectory) -> SavedCheckpoint | None:
    note = resumed_from(run)
    return next((each for each in checkpoints(run) if note and each.name == note.checkpoint), None)


def _newest(run: RunDirectory) -> SavedCheckpoint | None:
    return to_go_on_from(checkpoints(run))


def _tell_restart(
    writer: TakesEvents,
    loss: Loss,
    count: int,
    lost: int,
    cluster: Cluster,
    saved: SavedCheckpoint | None,
) -> None:
    where = f"from {saved.name}" if saved else "from the beginning"
    who = f"all {count} workers start" if count > 1 else "worker 0 starts"
    if cluster.servers:
        who = "the chief, all workers and all servers start"
    advice = _folded(loss)
    which = f"restart {lost} of {cluster.restarts}" if loss.again == "costs" else "once it is due"
    writer.write(
        Warned(message=f"{loss.words} Now {who} again {where}: {which}.", suggestion=advice)
    )
    writer.write(StateChanged(state="starting", reason=which))


def _folded(loss: Loss) -> str:
    """What the others said, in one line: it follows from the loss, and their logs have it whole."""
    if not loss.others:
        return ""
    return f"It ended {', '.join(loss.others)} too: the errors in their logs follow from that."


def _failure(loss: Loss, cluster: Cluster, saved: SavedCheckpoint | None) -> Failed:
    spent = cluster.restarts and loss.again == "costs"
    again = f", after {cluster.restarts} restarts" if spent else ""
    kept = f"Resume from {saved.name}." if saved else "Train again."
    suggestions = [kept]
    if cluster.restarts == 0 and loss.again == "costs":
        suggestions.append("Let all start again by themselves: cluster.restarts = 3.")
    said = "\n\n".join(f"{title}: {words}" for title, words in loss.others.items())
    return Failed(
        message=f"{loss.words.rstrip('.')}{again}.",
        suggestions=suggestions,
        traceback=said and f"What followed from it:\n\n{said}",
        kind=WORKER_LOST,
    )
