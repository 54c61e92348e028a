"""The workers of a run: who takes part, what each does, and whom the others wait for."""

from __future__ import annotations

import os
import socket
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_studio.common.figures import (
    UNKNOWN,
    duration,
    grouped,
    plural,
    share,
    size,
    span,
    throughput,
)
from gpu_studio.contract import (
    ClusterStarted,
    Started,
    WorkerPlace,
    Workers,
    WorkerState,
    process_title,
)
from gpu_studio.contract.failure_texts import FULL
from gpu_studio.plan import listed

NOTABLE_SHARE = 0.15
"""Of a step: if the others wait so much longer for each other than one worker, they wait for it."""
SILENT_SECONDS = 3.0
"""A worker speaks twice a second."""
_AT_WORK = ("training", "paused")


@dataclass(slots=True)
class WorkersOfRun:
    """What a run tells of its workers; empty of a run of one process."""

    cluster: ClusterStarted | None = None
    states: list[WorkerState] = field(default_factory=list)

    def take(self, event: ClusterStarted | Workers) -> None:
        """Process the next of their events."""
        if isinstance(event, ClusterStarted):
            self.cluster, self.states = event, []
        else:
            self.states = event.workers

    @property
    def places(self) -> list[WorkerPlace]:
        """Who takes part."""
        return self.cluster.workers if self.cluster else []

    @property
    def words(self) -> str:
        """Who takes part, in words: `3 workers on this machine, started again twice`."""
        return cluster_words(self.cluster) if self.cluster else ""

    @property
    def lag(self) -> float | None:
        """How many updates others made while a step was computed, on average over all steps.

        None where no chief hands out the work.
        """
        shares = [each.share for each in self.states if each.share is not None]
        steps = sum(each.steps for each in shares)
        return sum(each.lag * each.steps for each in shares) / steps if steps else None


MOST_HOSTS = 3
"""So many machines are named in a line."""
HERE = "this machine"


def hosts_of(workers: WorkersOfRun, started: Started | None) -> tuple[str, ...]:
    """The machines that a run trains on, or did; none until they are known.

    Workers that are awaited may wait for machines: where their supervisor is says nothing.
    """
    cluster = workers.cluster
    if cluster is not None and cluster.start != "local":
        return tuple(dict.fromkeys(place.host for place in cluster.workers))
    awaited = cluster is None and bool(workers.states)
    return (started.host,) if started is not None and not awaited else ()


def where_words(hosts: Sequence[str]) -> str:
    """Machines in words: `this machine`, `n0 and n1`, `n0, n1 and 3 others`."""
    if list(hosts) == [socket.gethostname()]:
        return HERE
    more = [plural(len(hosts) - MOST_HOSTS + 1, "other")] if len(hosts) > MOST_HOSTS else []
    return listed([*hosts[: MOST_HOSTS - len(more)], *more])


def cluster_words(cluster: ClusterStarted) -> str:
    """Who takes part, in words: `3 workers on gpu1, started again twice`."""
    hosts = list(dict.fromkeys(place.host for place in cluster.workers))
    where = f"on {hosts[0]}" if len(hosts) == 1 else f"on {plural(len(hosts), 'host')}"
    again = cluster.attempt
    restarts = {0: "", 1: ", started again once"}.get(again, f", started again {again} times")
    roles = Counter(place.role for place in cluster.workers)
    served = f" and {plural(roles['server'], 'server')}" if roles["server"] else ""
    job = f", job {cluster.job} of Slurm" if cluster.job else ""
    return f"{plural(roles['worker'], 'worker')}{served} {where}{job}{restarts}"


def title_of(state: WorkerState) -> str:
    """A worker's name for a person."""
    return process_title(state.role, state.index)


def straggler(states: Sequence[WorkerState]) -> WorkerState | None:
    """The worker that the others wait for: the one that itself waits least, if by much.

    Each step ends for all at once, so that whoever computes longest waits shortest. None while they
    are alike, or not yet at work.
    """
    at_work = [each for each in states if each.state == "training" and each.compute + each.wait > 0]
    if len(at_work) < 2:
        return None
    least, *others = sorted(at_work, key=lambda each: each.wait)
    behind = statistics.median(each.wait for each in others) - least.wait
    return least if behind > NOTABLE_SHARE * (least.compute + least.wait) else None


def straggler_words(states: Sequence[WorkerState]) -> str:
    """Whom the others wait for, in a sentence; empty if nobody."""
    slow = straggler(states)
    if slow is None:
        return ""
    others = [each.wait for each in states if each is not slow and each.state == "training"]
    waited = statistics.median(others) - slow.wait
    step = slow.compute + slow.wait
    who = "The other waits" if len(others) == 1 else "The others wait"
    return f"{who} for {title_of(slow)}: {span(waited)} of each step of {span(step)}."


def seen_words(state: WorkerState) -> str:
    """When a worker was last heard; empty while it speaks as it should, and once it has ended.

    One that has not come yet was never heard: it is awaited, as long as its start takes.
    """
    if state.state == "ended" or state.seen < SILENT_SECONDS:
        return ""
    return f"{'awaited' if state.state == 'absent' else 'silent'} for {duration(state.seen)}"


def is_bad(state: WorkerState) -> bool:
    """Whether a worker is lost, or says nothing any more."""
    return state.state == "lost" or bool(state.state != "absent" and seen_words(state))


def disk_words(state: WorkerState) -> str:
    """What is wrong with a worker's disk: `disk full`; empty while it takes what is written."""
    if not state.refusal or state.state == "ended":
        return ""
    full = state.refusal in map(os.strerror, FULL)
    return "disk full" if full else f"disk refuses: {state.refusal.lower()}"


def part_of(state: WorkerState, states: Sequence[WorkerState]) -> float | None:
    """The part of all samples that a worker has trained on, where a chief hands them out."""
    whole = sum(each.share.samples for each in states if each.share is not None)
    return state.share.samples / whole if state.share is not None and whole else None


def lag_words(state: WorkerState) -> str:
    """How old a worker's weights were: `lag 1.2, at most 4`; empty where they never were."""
    found = state.share
    if found is None or not found.lag_most:
        return ""
    return f"lag {grouped(found.lag, 2)}, at most {grouped(found.lag_most)}"


def step_words(state: WorkerState) -> str:
    """How far it is: the run's step, or how many of the steps it has done itself."""
    if state.share is not None:
        return plural(state.share.steps, "step")
    return "" if state.role == "server" else f"step {grouped(state.step)}"


def share_words(state: WorkerState, states: Sequence[WorkerState]) -> str:
    """What a worker does of a chief's work: its part, how fast, and with how old weights."""
    part = part_of(state, states)
    if part is None or state.share is None:
        return ""
    pace = throughput(state.share.pace)
    return ", ".join(filter(None, [f"{share(part)} of the samples", pace, lag_words(state)]))


def cells(state: WorkerState, states: Sequence[WorkerState] = ()) -> tuple[str, ...]:
    """A worker as a row of a table: name, state, step, time of a step, memory, and what is wrong.

    `states` are those of all, of which one that a chief gives work to does a part.
    """
    at_work = state.state in _AT_WORK and state.compute + state.wait > 0
    times = f"computes {span(state.compute)}, waits {span(state.wait)}" if at_work else ""
    times = times or share_words(state, states)
    unknown = UNKNOWN if state.share is None else ""
    memory = unknown if state.memory is None else size(state.memory)
    wrong = ", ".join(filter(None, (seen_words(state), disk_words(state))))
    return title_of(state), state.state, step_words(state), times, memory, wrong
