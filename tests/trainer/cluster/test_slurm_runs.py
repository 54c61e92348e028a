"""Runs whose workers Slurm starts, on a real Slurm of three nodes: why they wait, where they are,
what is told of their end. Stand-ins train but in the last test."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_member
import psutil
import pytest
from patience import PATIENCE_S
from slurm_practice import PracticeSlurm, practice_slurm
from supervised import Supervised
from training_runs import UNJUDGED, running, small_plan, trained, until

from gpu_studio.contract import cluster_file, events
from gpu_studio.contract.events import (
    ClusterStarted,
    Finished,
    StateChanged,
    Steps,
    Warned,
)
from gpu_studio.hosts import slurm_run
from gpu_studio.runs.reading.summary import summarise
from gpu_studio.runs.resume import choose
from gpu_studio.trainer.cluster import attempt, slurm_attempt, supervisor
from gpu_studio.trainer.errors import TrainerError

pytestmark = [pytest.mark.slow, pytest.mark.processes]
SLURM = ("cluster.start=slurm", "cluster.slurm={ time = '5' }")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeSlurm]:
    with practice_slurm(tmp_path_factory.mktemp("slurm") / "here") as slurm:
        yield slurm


@pytest.fixture
def slurm(cluster: PracticeSlurm, monkeypatch: pytest.MonkeyPatch) -> PracticeSlurm:
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    return cluster


class InSlurm(Supervised):
    """A run whose stand-ins a job of Slurm starts, supervised by a thread."""

    def start(self, does: dict[str, str], *settings: str) -> None:
        """Begin to supervise it."""
        self.end: Finished | TrainerError | None = None
        words = (does, *SLURM, *settings)
        self.thread = threading.Thread(target=self._supervise, args=words, daemon=True)
        self.thread.start()

    def _supervise(self, does: dict[str, str], *settings: str) -> None:
        try:
            self.end = self.train(does, *settings)
        except TrainerError as error:
            self.end = error

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Until it holds, or the run has ended."""
        until(lambda: condition() or not self.thread.is_alive(), PATIENCE_S)
        assert condition(), (self.told, self.end, self.run.log_file.read_text())

    def finished(self) -> Finished | TrainerError:
        """How it ended."""
        self.thread.join(PATIENCE_S)
        assert self.end is not None
        return self.end

    @property
    def reasons(self) -> list[str]:
        """Why it was in its states, so far."""
        return [each.reason for each in self.of(StateChanged)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: PracticeSlurm) -> InSlurm:
    del slurm
    command = [sys.executable, fake_member.__file__]
    monkeypatch.setattr(slurm_run, "module_command", lambda _module: command)
    root = Path(slurm_run.__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{Path(fake_member.__file__).parent}")
    # Slurm's own answer, which a machine at its limits may give late, is tested elsewhere.
    monkeypatch.setattr(supervisor, "examined", lambda *_arguments: [])
    monkeypatch.setattr(slurm_run, "ASK_S", 0.3)
    monkeypatch.setattr(slurm_attempt, "POLL_S", 0.1)
    return InSlurm(tmp_path, monkeypatch)


def test_that_a_run_tells_why_it_waits_where_it_trains_and_starts_again_on_its_nodes(
    run: InSlurm, slurm: PracticeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "GRACE_SECONDS", PATIENCE_S)  # until worker 0 has told its steps
    other = slurm.run("sbatch", "--parsable", "--output=/dev/null", "-n6", "--wrap", "sleep 600")
    run.checkpoint(1)
    run.start({"0.1": "dies", "0.0": "follows"})
    queued = "waiting in Slurm's queue: it waits until enough nodes are free (Resources)"
    run.wait_for(lambda: queued in run.reasons)
    slurm.run("scancel", other)
    end = run.finished()
    assert isinstance(end, Finished), end
    assert (end.reason, end.because) == ("completed", "")
    first, second = run.of(ClusterStarted)
    assert (first.start, second.from_step) == ("slurm", 1)
    assert first.job == second.job, "its nodes stay its own"
    assert {place.host for place in first.workers} <= {"n0", "n1", "n2"}
    assert all(place.address.startswith("127.0.0.1:") for place in first.workers)
    (warned,) = run.of(Warned)
    assert warned.message.startswith("Worker 1 was ended by SIGKILL. Now all 2 workers start again")
    assert [step.first_step for step in run.of(Steps)] == list(range(fake_member.STEPS))
    assert slurm.ended(first.job) == "COMPLETED"
    assert sorted(each.name for each in (run.run.path / "workers").iterdir()) == [
        "0-worker-0",
        "0-worker-1",
        "1-worker-0",
        "1-worker-1",
        "orders",
    ]


@pytest.mark.whole(__file__)
def test_that_a_job_that_slurm_puts_back_also_for_a_node_is_told_and_a_stop_cancels_it(
    run: InSlurm, slurm: PracticeSlurm
) -> None:
    run.start({"0": "heeds", "1": "heeds"})
    run.wait_for(lambda: len(run.of(Steps)) == 2)
    known = cluster_file.read(run.run)
    assert known is not None
    slurm.run("scontrol", "requeue", known.job)
    back = "waiting in Slurm's queue, to which Slurm has put it back: it may not begin yet"
    run.wait_for(lambda: any(each.startswith(back) for each in run.reasons))
    slurm.run("scontrol", "update", f"jobid={known.job}", "StartTime=now")
    run.wait_for(lambda: len(run.of(ClusterStarted)) == 2)
    node = run.of(ClusterStarted)[1].workers[1].host
    slurm.run("scontrol", "update", f"nodename={node}", "state=down", "reason=practice")
    run.wait_for(lambda: len(run.of(Warned)) == 2)
    # A node whose daemon lives is up again at once, and then nobody can say which was down.
    asked, failed = [each.message.partition(" Now all 2")[0] for each in run.of(Warned)]
    assert asked == "Slurm has put the job back into its queue."
    assert failed in (asked, f"Slurm has put the job back into its queue: {node} is down.")
    run.stopping = True
    end = run.finished()
    assert isinstance(end, Finished), end
    assert (end.reason, slurm.ended(known.job)) == ("stopped_now", "CANCELLED")
    # Slurm tells the end of a job before that of its processes on a node that was down.
    until(lambda: not members_of(run.run.path), PATIENCE_S)


def members_of(run: Path) -> list[psutil.Process]:
    """The processes that stand for workers of the run."""
    commands = (
        (each, " ".join(each.info["cmdline"] or ())) for each in psutil.process_iter(["cmdline"])
    )
    return [each for each, words in commands if "fake_member.py" in words and str(run) in words]


def test_that_a_job_that_somebody_cancels_ends_the_run_in_slurm_s_words(
    run: InSlurm, slurm: PracticeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_studio.trainer.cluster.slurm_attempt.ENDED_S", 1.0)
    run.start({"0": "silent"})
    run.wait_for(lambda: cluster_file.read(run.run))
    known = cluster_file.read(run.run)
    assert known is not None
    slurm.run("scancel", known.job)
    end = run.finished()
    assert str(end) == f"Slurm's job {known.job} was cancelled."
    assert run.of(Warned) == [], "nothing starts again what somebody has ended"


def test_that_a_job_cancelled_while_its_workers_begin_is_not_ordered_again(
    run: InSlurm, slurm: PracticeSlurm
) -> None:
    run.start({"0": "silent", "1": "silent"})
    run.wait_for(lambda: len(members_of(run.run.path)) == 2)
    known = cluster_file.read(run.run)
    assert known is not None
    slurm.run("scancel", known.job)
    assert str(run.finished()) == f"Slurm's job {known.job} was cancelled."
    assert run.of(Warned) == []


def test_that_workers_of_other_versions_are_refused_with_both(run: InSlurm) -> None:
    run.start({"1": "older"})
    said = str(run.finished())
    assert said.startswith("Worker 0 has TensorFlow 1 and worker 1 0, on n")
    assert run.of(ClusterStarted) == []


@pytest.mark.whole(__file__)
def test_that_slurm_trains_a_run_saves_before_its_time_limit_and_another_goes_on(
    slurm: PracticeSlurm, tmp_path: Path
) -> None:
    settings = ("distribution.strategy=multi_worker", "cluster.trusted_network=true", *SLURM)
    training = ("training.batch_size=50", *UNJUDGED)
    plan = small_plan(*training, "training.epochs=500", *settings)
    with running(plan, tmp_path) as going:
        going.wait_for(lambda: going.of(events.Steps))
        job = going.of(ClusterStarted)[0].job
        slurm.run("scancel", "--signal=USR1", job)  # as Slurm does before the limit
        first = going.finish()
    end = first.one(Finished)
    assert (end.reason, end.because) == (
        "stopped",
        f"The time limit of Slurm's job {job}, 00:05:00, was near.",
    )
    assert slurm.ended(job) == "COMPLETED"
    assert summarise(first.directory).where.startswith("n")
    alone = small_plan(*training, f"training.epochs={end.epoch + 1}")
    rest = trained(alone, tmp_path, resume=choose(first.directory))
    assert rest.code == 0, rest.log
    steps = sorted(first.losses | rest.losses)
    assert steps == list(range(len(steps))), "each step once, and none is left out"


@pytest.mark.skipif(os.geteuid() != 0, reason="none of these tests is run by root here")
def test_that_a_run_by_slurm_needs_no_root(tmp_path: Path) -> None:
    """Root in a namespace of another user is that user, to Slurm and to GPU Studio alike."""
    as_nobody = ("unshare", "--user", "--map-user=65534", "--map-group=65534")
    if subprocess.run([*as_nobody, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs user namespaces")
    light = test_that_a_job_that_somebody_cancels_ends_the_run_in_slurm_s_words
    one = f"{__file__}::{light.__name__}"
    words = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--basetemp")
    mine = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        mine.pop(name, None)
    done = subprocess.run(
        [*as_nobody, sys.executable, *words, str(tmp_path / "nobody"), one],
        capture_output=True,
        text=True,
        env=mine,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
