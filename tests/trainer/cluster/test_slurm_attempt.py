"""A start of workers by Slurm, with a Slurm that answers late or not at all. Nothing is started."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from supervised import Supervised

from gpu_studio.contract import cluster_file
from gpu_studio.contract.events import Log
from gpu_studio.hosts import slurm_run
from gpu_studio.hosts.slurm import SlurmError, SlurmJob, SlurmSilentError
from gpu_studio.hosts.slurm_run import MAIL, RunJob
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.trainer.cluster import slurm_attempt
from gpu_studio.trainer.cluster.channel import Gone, Heartbeat, line_of
from gpu_studio.trainer.cluster.slurm_attempt import SlurmAttempt
from gpu_studio.trainer.errors import ClusterError


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supervised:
    return Supervised(tmp_path, monkeypatch)


class Watched(SlurmAttempt):
    """One whose steps a test takes by itself."""

    def begin(self) -> None:
        """Order the workers, and take them to be training."""
        self._start_all()
        self._enter("training")
        for worker in self._workers:
            worker.begun = True

    def ask_to_stop(self) -> bool:
        """Pass a stop on."""
        return self._ask_to_stop()

    def is_put_back(self) -> bool:
        """Whether Slurm has stopped the workers to start them again."""
        return self._is_put_back()

    def look(self) -> str:
        """Hear the workers once; why one of them is lost, empty if none is."""
        self._hear()
        loss = self._lost()
        return loss.words if loss else ""


def watched(run: Supervised, job: RunJob, number: int = 0, *, stopping: bool = True) -> Watched:
    begun = Watched(
        job, run.run, Cluster(lost_after=5), 1, number, None, run, run.write, lambda: stopping
    )
    begun.begin()
    return begun


def submits(monkeypatch: pytest.MonkeyPatch, *numbers: str) -> None:
    left = list(numbers)
    monkeypatch.setattr(slurm_run, "submit", lambda *_words, **_more: left.pop(0))


def test_that_a_stop_is_passed_on_until_slurm_has_taken_it(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    submits(monkeypatch, "7")
    answers: list[Callable[[], str]] = []
    asked: list[list[str]] = []

    def busy() -> str:
        raise SlurmError("scancel did not answer in 20 s")

    def command(words: list[str]) -> str:
        asked.append(words)
        return answers.pop(0)()

    monkeypatch.setattr(slurm_run, "run", command)
    begun = watched(run, RunJob(run.run, ""))
    answers += [busy, str]
    assert [begun.ask_to_stop() for _ in range(3)] == [True] * 3, "somebody can save all the while"
    assert asked == [["scancel", "--signal=TERM", "7"]] * 2


def test_that_workers_are_not_silent_while_slurm_takes_its_time(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0

    def late(_number: str) -> SlurmJob:
        nonlocal now
        now += 20
        said = line_of(Heartbeat("training", 1, 0.1, 0.1, None))
        with (run.run.of_worker(0, "worker", 0).path / MAIL).open("ab") as mail:
            mail.write(said)
        return SlurmJob("7", "", "RUNNING", "None", "", "")

    submits(monkeypatch, "7")
    monkeypatch.setattr(slurm_run, "job_of", late)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    begun = watched(run, RunJob(run.run, ""))
    assert [begun.look() for _ in range(3)] == ["", "", ""]
    monkeypatch.setattr(slurm_run, "ASK_S", 60.0)
    now += 6
    assert "has said nothing for" in begun.look()


@pytest.mark.parametrize(
    ("error", "said", "advice"),
    [
        (
            SlurmSilentError("sbatch gave no answer in 20 s"),
            "Slurm does not answer: sbatch gave no answer in 20 s.",
            "A job that it has taken all the same ends as soon as it begins.",
        ),
        (
            SlurmError("Invalid qos"),
            "Slurm refuses the job: Invalid qos.",
            "See what would keep it from training: gpu-studio cluster examine PLAN.",
        ),
    ],
)
def test_that_why_there_is_no_job_is_told(
    run: Supervised, monkeypatch: pytest.MonkeyPatch, error: SlurmError, said: str, advice: str
) -> None:
    def submit(*_words: object, **_more: object) -> str:
        raise error

    monkeypatch.setattr(slurm_run, "submit", submit)
    with pytest.raises(ClusterError) as raised:
        watched(run, RunJob(run.run, ""))
    assert (str(raised.value), raised.value.suggestions[-1]) == (said, advice)


def test_that_each_job_of_a_run_is_told_by_its_number(
    run: Supervised, monkeypatch: pytest.MonkeyPatch
) -> None:
    submits(monkeypatch, "7", "8")
    job = RunJob(run.run, "")
    watched(run, job)
    job.job = SlurmJob("7", "", "NODE_FAIL", "None", "", "")
    watched(run, job, 1)
    assert [each.message.split()[1] for each in run.of(Log)] == ["7", "8"]
    known = cluster_file.read(run.run)
    assert known is not None
    assert (known.job, known.attempt) == ("8", 1)
    watched(run, job, 2)
    assert len(run.of(Log)) == 2, "its nodes are its own still"


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (("COMPLETING", "COMPLETING", "CANCELLED"), "Slurm's job 7 was cancelled."),
        (("COMPLETING", "TIMEOUT"), "Slurm's job 7 was ended by its time limit of 00:05:00."),
        (("COMPLETING", "PENDING"), "Slurm has put the job back into its queue."),
        (("NODE_FAIL", "PENDING"), "Slurm has put the job back into its queue."),
        (("RUNNING",), "Worker 0 was ended by SIGTERM."),
    ],
)
def test_that_what_lost_a_worker_is_asked_of_slurm(
    run: Supervised, monkeypatch: pytest.MonkeyPatch, states: tuple[str, ...], words: str
) -> None:
    submits(monkeypatch, "7")
    told = iter(("RUNNING", *states))
    known = SlurmJob("7", "", "RUNNING", "None", "", "00:05:00")
    monkeypatch.setattr(slurm_run, "job_of", lambda _number: replace(known, state=next(told)))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    begun = watched(run, RunJob(run.run, ""), stopping=False)
    monkeypatch.setattr(slurm_run, "ASK_S", 3600.0)
    assert begun.look() == ""
    with (run.run.of_worker(0, "worker", 0).path / MAIL).open("ab") as mail:
        mail.write(line_of(Gone(128 + signal.SIGTERM)))
    assert begun.look() == words
    assert list(told) == []


@pytest.mark.parametrize(
    ("states", "back"),
    [
        (("RUNNING", "PENDING"), True),
        ((*["COMPLETING"] * 5, "PENDING"), True),
        (("PREEMPTED", "PENDING"), True),
        ((*["COMPLETING"] * 5, "CANCELLED"), False),
        (("RUNNING", "RUNNING", "RUNNING"), False),
    ],
)
def test_that_a_job_that_takes_long_to_end_is_awaited_to_see_whether_it_begins_again(
    run: Supervised, monkeypatch: pytest.MonkeyPatch, states: tuple[str, ...], back: bool
) -> None:
    now, told = 100.0, iter(states)
    known = SlurmJob("7", "", "RUNNING", "None", "", "00:05:00")

    def sleep(_seconds: float) -> None:
        nonlocal now
        now += slurm_attempt.ENDED_S / 2

    submits(monkeypatch, "7")
    monkeypatch.setattr(slurm_run, "job_of", lambda _number: replace(known, state=next(told)))
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert watched(run, RunJob(run.run, ""), stopping=False).is_put_back() is back
    assert list(told) == []
