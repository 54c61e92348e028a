"""Workers of servers, each on its own against all together, where one of two is ten times slower.

It is really slower: its process is stopped, and goes on for a tenth of the time only.
"""

from __future__ import annotations

import signal
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import psutil
from measuring import Budget, Row
from training import Case, plan_of
from workplace import PATIENCE_S, BenchmarkError, Workplace

from gpu_studio.contract import cluster_file, events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import WorkerShare
from gpu_studio.plan import AbsolutePlan, Distribution, Plan
from gpu_studio.plan.cluster_values import Cluster, Updates
from gpu_studio.plan.devices import CPU
from gpu_studio.runs.launch import launch
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.reading.workers import WorkersOfRun

SAMPLES, BATCH, EPOCHS = 2_560, 64, 3
SLOW, SLOWER = "worker 1", 10
TURN_S = 0.1
"""The slow worker works so long, and then stands still for nine times that."""
FOUR_TIMES = Budget("at least", 4.0)
TOLD = Budget("at least", 0.0)
"""Only told: what it costs to go by older weights is the model's and the data's."""


@dataclass(frozen=True)
class Figures:
    """What a run came to."""

    pace: float
    loss: float
    lag: float
    slow: WorkerShare
    other: WorkerShare


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Samples a second, lag and loss of both ways; each is measured in turn with the other."""
    alone, together = list[Figures](), list[Figures]()
    for _ in range(times):
        alone.append(_figures(place, "async"))
        together.append(_figures(place, "sync"))
    what = f"servers, one worker {SLOWER} × slower: each on its own"
    paces = tuple(each.pace for each in alone), tuple(each.pace for each in together)
    yield Row(f"{what}, pace", "all together", "samples/s", FOUR_TIMES, *paces)
    losses = tuple(each.loss for each in alone), tuple(each.loss for each in together)
    yield Row(f"{what}, last loss", "all together", "loss", TOLD, *losses)
    lags = tuple(each.slow.lag for each in alone), tuple(each.lag for each in alone)
    yield Row(f"{what}, lag of the slow one", "of all steps", "updates", TOLD, *lags)
    spans = tuple(each.slow.seconds for each in alone), tuple(each.other.seconds for each in alone)
    yield Row(f"{what}, a step of the slow one", "of the other", "s", TOLD, *spans)


def _plan(updates: Updates) -> Plan:
    plan = plan_of(Case("mlp", "none", SAMPLES), EPOCHS)
    return replace(
        plan,
        name=f"bench servers {updates}",
        devices=replace(plan.devices, visible=(CPU,)),
        training=replace(plan.training, batch_size=BATCH, optimizer="sgd", learning_rate=0.05),
        distribution=Distribution("parameter_server"),
        cluster=Cluster(workers=2, servers=1, updates=updates, trusted_network=True),
    )


def _figures(place: Workplace, updates: Updates) -> Figures:
    launched = launch(AbsolutePlan(_plan(updates)), place.runs, environment=place.environment)
    with _slowed(launched.directory):
        launched.process.wait(PATIENCE_S)
    told, workers = list(events_of(launched.directory)), WorkersOfRun()
    ended = [each for each in told if isinstance(each, events.Epoch)]
    if not isinstance(told[-1], events.Finished) or len(ended) < EPOCHS:
        raise BenchmarkError(f"servers, {updates}: {told[-1]}")
    for each in told:
        if isinstance(each, events.Workers | events.ClusterStarted):
            workers.take(each)
    pace = statistics.median(each.samples_per_second for each in ended[1:])
    other, slow = [each.share for each in workers.states if each.share is not None]
    loss = ended[-1].metrics["loss"] or float("nan")
    return Figures(pace, loss, workers.lag or 0.0, slow, other)


@contextmanager
def _slowed(run: RunDirectory) -> Iterator[None]:
    """While entered, the slow worker works for a tenth of the time, once the run has trained."""
    over = threading.Event()
    thread = threading.Thread(target=_slow_down, args=(run, over))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _slow_down(run: RunDirectory, over: threading.Event) -> None:
    while not over.wait(0.1):
        if any(isinstance(each, events.Steps) for each in events_of(run)):
            break
    known = cluster_file.read(run)
    if known is None or over.is_set():
        return
    process = psutil.Process(next(each.pid for each in known.members if each.title == SLOW))
    with suppress(psutil.Error):
        while not over.wait(TURN_S):
            process.send_signal(signal.SIGSTOP)
            over.wait(TURN_S * (SLOWER - 1))
            process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGCONT)
