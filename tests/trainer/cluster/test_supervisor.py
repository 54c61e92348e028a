"""The supervisor of a cluster with real processes that stand for workers: who is missing, who was
lost, what is told of it, and that nothing is left. No TensorFlow runs."""

from __future__ import annotations

import math
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fake_member
import psutil
import pytest
from patience import PATIENCE_S
from supervised import Supervised

from gpu_studio.contract import cluster_file
from gpu_studio.contract.events import (
    ClusterStarted,
    Log,
    StateChanged,
    Steps,
    Warned,
    Workers,
)
from gpu_studio.hosts import slurm_run
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.trainer.cluster import attempt, supervisor, workers
from gpu_studio.trainer.errors import ClusterError, WorkerFailed

pytestmark = pytest.mark.processes


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervised]:
    monkeypatch.setattr(
        workers, "module_command", lambda _module: [sys.executable, fake_member.__file__]
    )
    paths = [str(Path(workers.__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    yield Supervised(tmp_path, monkeypatch)
    left = [each for each in psutil.Process().children() if "fake_member" in str(each.cmdline())]
    assert left == []


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of a lost worker say nothing of it: nobody waits for their words."""
    monkeypatch.setattr(attempt, "GRACE_SECONDS", 0.1)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of a lost worker say what followed from it: that is waited for as long as a busy
    machine needs."""
    monkeypatch.setattr(attempt, "GRACE_SECONDS", PATIENCE_S)


def test_that_three_workers_train_to_the_end_and_it_is_told_who_took_part(run: Supervised) -> None:
    end = run.train({}, "cluster.workers=3")
    assert (end.reason, end.step) == ("completed", fake_member.STEPS)
    (part,) = run.of(ClusterStarted)
    assert [place.title for place in part.workers] == ["worker 0", "worker 1", "worker 2"]
    assert len({place.address for place in part.workers}) == 3
    assert [place.folder for place in part.workers] == [
        "",
        "workers/0-worker-1",
        "workers/0-worker-2",
    ]
    kept = cluster_file.read(run.run)
    assert kept is not None
    assert [member.pid for member in kept.members] == [place.pid for place in part.workers]
    last = run.of(Workers)[-1].workers
    assert [(each.state, each.step) for each in last] == [("ended", fake_member.STEPS)] * 3


@pytest.mark.usefixtures("words")
def test_that_after_a_loss_all_start_again_from_the_newest_checkpoint(run: Supervised) -> None:
    run.checkpoint(1)
    end = run.train({"0.1": "dies", "0.0": "follows"})
    assert end.reason == "completed"
    (warned,) = run.of(Warned)
    assert warned.message == (
        "Worker 1 was ended by SIGKILL. Now all 2 workers start again from step-00000001: "
        "restart 1 of 3."
    )
    assert [(part.attempt, part.from_step) for part in run.of(ClusterStarted)] == [(0, 0), (1, 1)]
    steps = [step.first_step for step in run.of(Steps)]
    assert steps == list(range(fake_member.STEPS)), "each step is told once"


@pytest.mark.usefixtures("words")
def test_that_without_restarts_the_first_cause_ends_the_run_and_the_rest_is_folded(
    run: Supervised,
) -> None:
    failed = run.failure({"1": "dies", "0": "follows"}, "cluster.restarts=0")
    assert isinstance(failed, WorkerFailed)
    assert failed.failure.message == "Worker 1 was ended by SIGKILL."
    assert failed.failure.kind == supervisor.WORKER_LOST
    assert "worker 0: Connection reset by peer" in failed.failure.traceback
    assert any("restarts = 3" in each for each in failed.failure.suggestions)


def test_that_workers_reach_each_other_without_the_proxy_of_this_machine(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    state = workers.Worker.state

    def looked_at(worker: workers.Worker) -> Any:
        with suppress(psutil.Error):
            if environment := psutil.Process(worker.process.pid).environ():
                given.append(environment.get("no_grpc_proxy", ""))
        return state(worker)

    monkeypatch.setattr(workers.Worker, "state", looked_at)
    monkeypatch.setenv("no_grpc_proxy", "gpu2")
    run.train({})
    assert set(given) == {"gpu2,127.0.0.1"}


@pytest.mark.usefixtures("silence")
def test_that_a_run_goes_on_with_fewer_where_the_plan_lets_it(run: Supervised) -> None:
    end = run.train({"0.2": "dies"}, "cluster.workers=3", "cluster.with_fewer=true")
    assert end.reason == "completed"
    assert [len(part.workers) for part in run.of(ClusterStarted)] == [3, 2]


@pytest.mark.usefixtures("silence")
def test_that_a_worker_that_is_stopped_is_noticed_and_said_to_be(run: Supervised) -> None:
    failed = run.failure({"1": "stops"}, "cluster.restarts=0", "cluster.lost_after=5")
    assert "Worker 1 was stopped by a signal, and has said nothing for" in str(failed)
    assert [each.state for each in run.of(Workers)[-1].workers] == ["ended", "lost"]


def test_that_a_full_disk_of_a_worker_is_told_by_its_name_and_once(run: Supervised) -> None:
    def write(event: Any) -> Any:
        if isinstance(event, Warned):
            (run.run.path / "told").touch()
        return Supervised.write(run, event)

    run.write = write  # type: ignore[method-assign]
    assert run.train({"0": "awaits", "1": "full"}).reason == "completed"
    (warned,) = run.of(Warned)
    folder = run.run.of_worker(0, "worker", 1).path
    assert warned.message == (
        f"The disk of worker 1 takes no more (No space left on device). It trains on, and keeps "
        f"what it cannot write to {folder} in its memory."
    )
    assert warned.suggestion.startswith("Free space on the disk")
    assert run.of(Log)[-1].message == "The disk of worker 1 takes writes again."
    told = [each.workers[1].refusal for each in run.of(Workers) if len(each.workers) == 2]
    assert fake_member.FULL in told
    assert told[-1] == ""


def test_that_a_worker_that_is_not_there_in_time_is_named(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "SAY_MISSING_AFTER", 0.0)

    def reasons() -> list[str]:
        return [state.reason for state in run.of(StateChanged)]

    def limit(_one: attempt.Attempt) -> float:
        return 0.0 if any(each.startswith("2 of 3") for each in reasons()) else math.inf

    monkeypatch.setattr(attempt.Attempt, "_limit", property(limit))
    failed = run.failure({"1": "silent"}, "cluster.workers=3")
    assert isinstance(failed, ClusterError)
    assert str(failed).startswith("2 of 3 are there, worker 1 has been missing for ")
    assert any(each.startswith("2 of 3 are there, worker 1 has been missing") for each in reasons())


def test_that_a_worker_that_never_gets_ready_is_named_though_it_speaks(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "STARTING_TIMES", 0)
    failed = run.failure({"1": "dawdles"})
    assert isinstance(failed, ClusterError)
    assert re.match(r"[01] of 2 are ready, .*worker 1 (has|have) been starting for ", str(failed))
    assert "All must be ready to train within" in failed.suggestions[1]


def test_that_workers_of_other_versions_never_begin(run: Supervised) -> None:
    failed = run.failure({"1": "older"})
    assert str(failed).startswith("Worker 0 has TensorFlow 1 and worker 1 0, on ")
    assert "Install one version of TensorFlow" in failed.suggestions[0]
    assert run.of(ClusterStarted) == []


@pytest.mark.usefixtures("silence")
def test_that_a_worker_that_ends_before_it_is_there_is_told_with_its_last_words(
    run: Supervised,
) -> None:
    failed = run.failure({"1": "leaves"}, "cluster.restarts=0")
    assert "Worker 1 ended with exit status 3 before it was there: no such library" in str(failed)


def test_that_workers_that_are_not_alike_never_begin(run: Supervised) -> None:
    failed = run.failure({"1": "other"})
    assert "Worker 1 has other data than worker 0" in str(failed)
    assert run.of(Steps) == []


def test_that_worker_0_may_be_at_its_last_checkpoint_long_after_the_others_have_ended(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "GRACE_SECONDS", -math.inf)

    def write(event: Any) -> Any:
        if isinstance(event, Workers) and event.workers[1].state == "ended":
            (run.run.path / "back").touch()
        return Supervised.write(run, event)

    run.write = write  # type: ignore[method-assign]
    assert run.train({"0": "awaits"}).reason == "completed"
    assert run.of(Warned) == []


def test_that_a_failure_of_its_own_is_told_as_the_workers(run: Supervised) -> None:
    failed = run.failure({"1": "fails", "0": "follows"})
    assert isinstance(failed, WorkerFailed)
    assert failed.failure.message == "In worker 1: The loss is nan."
    assert run.of(Warned) == []


def test_that_a_port_in_use_is_told_before_anything_starts(run: Supervised) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        failed = run.failure({}, f"cluster.port={port}")
    assert f"Port {port} cannot be listened on (address already in use)" in str(failed)
    assert f"process {os.getpid()}" in str(failed)
    assert run.of(ClusterStarted) == []


def test_that_a_stop_before_the_first_step_ends_all(run: Supervised) -> None:
    run.stopping = True
    assert run.train({}).reason == "stopped_now"


def test_that_no_shell_of_a_plan_runs_that_is_not_allowed_whoever_starts_the_trainer(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_run, "submit", lambda *_words, **_more: pytest.fail("submitted"))
    setup = "cluster.slurm={ setup = ['curl example.org | sh'] }"
    failed = run.failure({}, "cluster.start=slurm", setup)
    assert "they are not allowed" in str(failed)
    assert "--allow-shell" in failed.suggestions[0]


def test_that_what_another_engine_starts_is_not_started_here(run: Supervised) -> None:
    failed = run.failure({}, "cluster.start=kubernetes")
    assert 'Set cluster.start = "local"' in failed.suggestions[0]


SERVED = "distribution.strategy=parameter_server"


def test_that_with_servers_a_chief_trains_and_tells_what_each_has_done(run: Supervised) -> None:
    assert run.train({}, SERVED).reason == "completed"
    (part,) = run.of(ClusterStarted)
    assert [place.title for place in part.workers] == ["chief", "worker 0", "worker 1", "server 0"]
    assert [place.folder for place in part.workers][:2] == ["", "workers/0-worker-0"]
    chief, *two, server = run.of(Workers)[-1].workers
    assert {each.state for each in (chief, *two, server)} == {"ended"}
    assert [each.share.steps for each in two] == [3, 4]
    assert (chief.share, server.memory) == (None, 512)


def test_that_a_lost_worker_of_servers_comes_back_while_the_others_go_on(run: Supervised) -> None:
    assert run.train({"chief": "awaits", "worker 1": "dies"}, SERVED).reason == "completed"
    (warned,) = run.of(Warned)
    assert warned.message == (
        "Worker 1 was ended by SIGKILL. The others go on with its work, and it starts again: "
        "restart 1 of 3."
    )
    first, second = (each.workers for each in run.of(ClusterStarted))
    differing = [one.title for one, two in zip(first, second, strict=True) if one.pid != two.pid]
    assert differing == ["worker 1"]
    assert [place.address for place in first] == [place.address for place in second]


def test_that_a_worker_comes_back_at_whatever_moment_it_is_lost(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[int, int] = {}
    why_gone = workers.Worker.why_gone

    def late(worker: workers.Worker) -> str:
        """Its end is there to be seen only at the second look at it."""
        why = why_gone(worker)
        asked[worker.process.pid] = asked.get(worker.process.pid, 0) + bool(why)
        return why if asked[worker.process.pid] != 1 else ""

    monkeypatch.setattr(workers.Worker, "why_gone", late)
    assert run.train({"chief": "awaits", "worker 1": "dies"}, SERVED).reason == "completed"
    (warned,) = run.of(Warned)
    assert "The others go on with its work" in warned.message


def test_that_a_worker_that_comes_back_may_take_as_long_to_begin_as_at_the_start(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = workers.Worker.silent.fget  # type: ignore[attr-defined]
    late = Cluster().lost_after + 1.0

    def slow(worker: workers.Worker) -> float:
        return float(silent(worker)) if worker.begun else late

    monkeypatch.setattr(workers.Worker, "silent", property(slow))
    assert run.train({"chief": "awaits", "worker 1": "dies"}, SERVED).reason == "completed"
    assert len(run.of(Warned)) == 1


@pytest.mark.usefixtures("silence")
def test_that_after_the_loss_of_the_chief_all_start_again(run: Supervised) -> None:
    run.checkpoint(1)
    end = run.train({"0.chief": "dies"}, SERVED)
    assert end.reason == "completed"
    assert [(part.attempt, part.from_step) for part in run.of(ClusterStarted)] == [(0, 0), (1, 1)]
    assert run.of(Warned)[0].message.startswith(
        "The chief was ended by SIGKILL. Now the chief, all workers and all servers start again "
        "from step-00000001: restart 1 of 3."
    )


@pytest.mark.usefixtures("silence")
def test_that_a_worker_is_not_replaced_for_a_chief_that_has_ended_by_its_loss(
    run: Supervised,
) -> None:
    def write(event: Any) -> Any:
        if isinstance(event, Workers) and event.workers[0].state == "ended":
            with suppress(ProcessLookupError):  # it is told again when all have gone
                os.kill(run.of(ClusterStarted)[0].workers[2].pid, signal.SIGKILL)
        return Supervised.write(run, event)

    run.write = write  # type: ignore[method-assign]
    assert run.train({"0.chief": "follows"}, SERVED).reason == "completed"
    (warned,) = run.of(Warned)
    assert warned.message == (
        "Worker 1 was ended by SIGKILL. Now the chief, all workers and all servers start again "
        "from the beginning: restart 1 of 3."
    )


@pytest.mark.usefixtures("silence")
def test_that_without_restarts_a_lost_worker_of_servers_ends_the_run(run: Supervised) -> None:
    failed = run.failure({"chief": "awaits", "worker 1": "dies"}, SERVED, "cluster.restarts=0")
    assert "Worker 1 was ended by SIGKILL" in str(failed)


@pytest.mark.usefixtures("silence")
def test_that_after_the_loss_of_a_server_all_start_again(run: Supervised) -> None:
    run.checkpoint(1)
    end = run.train({"0.chief": "follows", "server 0": "dies"}, SERVED)
    assert end.reason == "completed"
    assert [(part.attempt, part.from_step) for part in run.of(ClusterStarted)] == [(0, 0), (1, 1)]
    assert run.of(Warned)[0].message.startswith(
        "Server 0 was ended by SIGKILL. Now the chief, all workers and all servers start again"
    )
