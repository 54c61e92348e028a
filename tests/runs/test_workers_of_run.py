"""What is known of the workers of a run, and whom the others wait for."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

import pytest
from msgspec.structs import replace

from gpu_studio.contract.event_parts import WorkerPlace, WorkerShare, WorkerState
from gpu_studio.contract.events import ClusterStarted, Started, Workers
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.workers import (
    WorkersOfRun,
    cells,
    cluster_words,
    disk_words,
    hosts_of,
    is_bad,
    part_of,
    seen_words,
    share_words,
    straggler,
    straggler_words,
    where_words,
)


def state(index: int, compute: float, wait: float, **more: Any) -> WorkerState:
    values = {"state": "training", "step": 12, "memory": 2048, "compute": compute, "wait": wait}
    return WorkerState(role="worker", index=index, **(values | more))


def cluster(attempt: int = 0, *hosts: str) -> ClusterStarted:
    named = hosts or ("gpu1", "gpu1")
    places = [WorkerPlace(role="worker", index=i, host=h, pid=i) for i, h in enumerate(named)]
    return ClusterStarted(attempt=attempt, start="local", workers=places)


def test_that_the_worker_that_waits_least_is_the_one_that_the_others_wait_for():
    states = [state(0, 0.02, 0.012), state(1, 0.03, 0.002), state(2, 0.021, 0.011)]
    slow = straggler(states)
    assert slow is not None
    assert slow.index == 1
    assert (
        straggler_words(states) == "The others wait for worker 1: 9.50 ms of each step of 32.0 ms."
    )
    assert straggler_words(states[:2]).startswith("The other waits for worker 1:")


@pytest.mark.parametrize(
    "states",
    [
        [],
        [state(0, 0.02, 0.0)],
        [state(0, 0.02, 0.010), state(1, 0.021, 0.009)],
        [state(0, 0.02, 0.012), state(1, 0.03, 0.0, state="lost")],
        [state(0, 0.0, 0.0), state(1, 0.0, 0.0)],
    ],
)
def test_that_nobody_is_blamed_while_all_are_alike_or_not_at_work(states):
    assert straggler(states) is None
    assert straggler_words(states) == ""


def test_that_who_takes_part_is_told_with_how_often_it_began():
    assert cluster_words(cluster()) == "2 workers on gpu1"
    assert cluster_words(cluster(1)) == "2 workers on gpu1, started again once"
    assert cluster_words(cluster(2, "a", "b", "c")) == "3 workers on 3 hosts, started again 2 times"


def test_that_a_row_tells_figures_and_silence():
    assert cells(state(1, 0.03, 0.002)) == (
        "worker 1",
        "training",
        "step 12",
        "computes 30.0 ms, waits 2.00 ms",
        "2 KiB",
        "",
    )
    late = state(1, 0.03, 0.002, seen=12.0)
    assert (seen_words(late), is_bad(late)) == ("silent for 12 s", True)
    to_come = replace(late, state="absent")
    assert (seen_words(to_come), is_bad(to_come)) == ("awaited for 12 s", False)
    assert is_bad(replace(late, state="lost", seen=0.0))
    assert seen_words(state(1, 0.03, 0.002, seen=12.0, state="ended")) == ""


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "disk full"),
        (errno.EDQUOT, "disk full"),
        (errno.EROFS, "disk refuses: read-only file system"),
    ],
)
def test_that_a_row_tells_a_disk_that_takes_no_more(number, words):
    full = state(1, 0.03, 0.002, refusal=os.strerror(number))
    assert disk_words(full) == cells(full)[-1] == words
    assert cells(replace(full, seen=12.0))[-1] == f"silent for 12 s, {words}"
    assert disk_words(replace(full, state="ended")) == ""
    assert disk_words(replace(full, refusal="")) == ""


def test_that_a_history_has_the_newest_of_the_workers():
    history = History()
    assert history.workers.words == ""
    history.apply_all([cluster(), Workers(workers=[state(0, 0.02, 0.01)]), cluster(1)])
    assert history.workers.words == "2 workers on gpu1, started again once"
    assert history.workers.states == []


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ((), ""),
        (("n0",), "n0"),
        (("n0", "n1", "n2"), "n0, n1 and n2"),
        (("n0", "n1", "n2", "n3", "n4"), "n0, n1 and 3 others"),
        ((socket.gethostname(),), "this machine"),
    ],
)
def test_that_where_a_run_trains_is_told_by_names(hosts, words):
    assert where_words(hosts) == words


def test_that_slurms_nodes_are_where_a_run_trains_and_else_the_trainers_machine():
    started = Started(run="r", plan="p", pid=1, host="login", gpu_studio="1", python="3")
    assert hosts_of(WorkersOfRun(), None) == ()
    assert hosts_of(WorkersOfRun(), started) == ("login",)
    assert hosts_of(WorkersOfRun(cluster(0, "login", "login")), started) == ("login",)
    to_come = WorkersOfRun(None, [state(0, 0.0, 0.0, state="absent")])
    assert hosts_of(to_come, started) == (), "they wait for a machine"
    places = cluster(0, "n0", "n1", "n0")
    in_slurm = ClusterStarted(attempt=0, start="slurm", workers=places.workers, job="7")
    assert hosts_of(WorkersOfRun(in_slurm), started) == ("n0", "n1")
    assert cluster_words(in_slurm) == "3 workers on 2 hosts, job 7 of Slurm"


def served() -> list[WorkerState]:
    """A chief that gave worker 0 three quarters of the samples, and a server."""
    one = WorkerShare(index=0, steps=30, samples=1500, pace=276.0, lag=0.5, lag_most=3)
    two = WorkerShare(index=1, steps=10, samples=500, pace=90.0, lag=2.5, lag_most=4)
    return [
        WorkerState(role="chief", index=0, state="training", step=40),
        WorkerState(role="worker", index=0, state="training", share=one),
        WorkerState(role="worker", index=1, state="training", share=two),
        WorkerState(role="server", index=0, state="training", memory=2048),
    ]


def test_that_of_a_chiefs_workers_each_has_its_part_its_pace_and_its_lag():
    states = served()
    assert [part_of(each, states) for each in states] == [None, 0.75, 0.25, None]
    assert [cells(each, states)[:4] for each in states] == [
        ("chief", "training", "step 40", ""),
        (
            "worker 0",
            "training",
            "30 steps",
            "75 % of the samples, 276 samples/s, lag 0.50, at most 3",
        ),
        (
            "worker 1",
            "training",
            "10 steps",
            "25 % of the samples, 90 samples/s, lag 2.50, at most 4",
        ),
        ("server 0", "training", "", ""),
    ]
    assert share_words(states[0], states) == ""
    together = replace(states[1], share=WorkerShare(index=0, steps=30, samples=1500, pace=276.0))
    assert share_words(together, [together]) == "100 % of the samples, 276 samples/s"
    assert straggler(states) is None, "nobody waits for another"


def test_that_the_lag_of_a_run_is_that_of_all_its_steps():
    history = History()
    assert history.workers.lag is None
    history.apply_all([Workers(workers=served())])
    assert history.workers.lag == pytest.approx((30 * 0.5 + 10 * 2.5) / 40)


def test_that_servers_are_counted_apart_from_workers():
    roles = (("chief", 0), ("worker", 0), ("worker", 1), ("server", 0))
    places = [WorkerPlace(role=role, index=index, host="gpu1", pid=1) for role, index in roles]
    told = ClusterStarted(attempt=0, start="local", workers=places)
    assert cluster_words(told) == "2 workers and 1 server on gpu1"
    assert [place.title for place in places] == ["chief", "worker 0", "worker 1", "server 0"]
