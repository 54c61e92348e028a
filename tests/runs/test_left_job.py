"""A lost run whose job of Slurm is still queued says so, in Slurm's own reason put into words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fake_slurm
import pytest
from fake_slurm import QUEUED, WAITS, FakeSlurm, lost_run, of

from gpu_studio.cli.entry import run_command
from gpu_studio.contract import RunDirectory
from gpu_studio.hosts.slurm import SlurmMissingError, SlurmSilentError
from gpu_studio.runs import left_job as left_jobs
from gpu_studio.runs.catalogue import Catalogue
from gpu_studio.runs.left_job import LeftJobs, explained, left_job
from gpu_studio.runs.results.run_facts import run_document, run_lines

IN_LIST = QUEUED.removeprefix("Slurm's ")
RUNS = "JobState=RUNNING Reason=None NodeList=n[0-1] TimeLimit=04:00:00"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    return fake_slurm.fake_slurm(monkeypatch)


@pytest.fixture
def lost(tmp_path: Path) -> Callable[..., RunDirectory]:
    return lambda job="4711": lost_run(tmp_path / "runs", job)


def test_that_a_lost_run_says_that_its_job_waits_why_and_what_to_do(
    known: FakeSlurm, lost: Callable[..., RunDirectory]
) -> None:
    run = lost()
    known.jobs["4711"] = of(run, WAITS)
    why = explained(run)
    assert QUEUED in why.message
    assert "ends soon after it has begun" in why.message
    assert why.suggestions[0] == "Take it out of the queue: scancel 4711"
    (summary,) = Catalogue(run.path.parent).summaries()
    assert (summary.state_words, summary.left) == (f"lost · {IN_LIST}", True)
    assert QUEUED in run_document(run)["message"]
    assert QUEUED in " ".join(" ".join(run_lines(run)).split())


def test_that_a_job_that_works_on_without_its_supervisor_is_told_too(
    known: FakeSlurm, lost: Callable[..., RunDirectory]
) -> None:
    run = lost()
    known.jobs["4711"] = of(run, RUNS)
    told = left_job(run)
    assert told is not None
    assert told.clause == "Slurm's job 4711 still runs on n[0-1], with a time limit of 04:00:00"
    assert "scancel --signal=TERM 4711" in told.advice


@pytest.mark.parametrize(
    "job",
    [
        "JobState=CANCELLED Reason=None StdOut={log}",
        "JobState=PENDING Reason=Resources StdOut=/home/me/another/trainer.log",
        "JobState=PENDING Reason=Resources",
    ],
)
def test_that_a_job_that_has_ended_and_one_of_another_run_are_not_told(
    known: FakeSlurm, lost: Callable[..., RunDirectory], job: str
) -> None:
    run = lost()
    known.jobs["4711"] = job.format(log=run.log_file)
    assert left_job(run) is None
    assert "Slurm" not in explained(run).message
    known.jobs.clear()
    assert left_job(run) is None


def test_that_the_list_asks_once_for_all_and_never_again_for_those_that_have_ended(
    known: FakeSlurm,
    lost: Callable[..., RunDirectory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(left_jobs, "ASK_AGAIN_S", 0.0)
    first, _second, _other = lost("4711"), lost("12"), lost("")
    known.jobs["4711"] = of(first, WAITS)
    catalogue = Catalogue(first.path.parent)
    reasons = sorted(each.reason for each in catalogue.summaries())
    assert reasons == [IN_LIST, *["the trainer ended without a word"] * 2]
    assert known.asked == ["squeue", "scontrol"]
    known.jobs.clear()
    assert {each.reason for each in catalogue.summaries()} == {"the trainer ended without a word"}
    known.asked.clear()
    catalogue.summaries()
    assert known.asked == [], "both are known to have ended"


def test_that_slurm_is_not_asked_about_every_time_the_list_is_read(
    known: FakeSlurm, lost: Callable[..., RunDirectory]
) -> None:
    run = lost()
    known.jobs["4711"] = of(run, WAITS)
    catalogue = Catalogue(run.path.parent)
    for _ in range(3):
        assert catalogue.summaries()[0].reason == IN_LIST
    assert known.asked == ["squeue", "scontrol"]


def test_that_a_slurm_that_does_not_answer_and_one_that_is_not_here_are_told_apart(
    known: FakeSlurm, lost: Callable[..., RunDirectory]
) -> None:
    run = lost()
    known.fails = SlurmSilentError("Unable to contact slurm controller")
    unknown = "Slurm does not say whether its job 4711 still waits (Unable to contact slurm con"
    assert unknown in explained(run).message
    assert Catalogue(run.path.parent).summaries()[0].reason.startswith(unknown)
    known.fails = SlurmMissingError("there is no command scontrol on this machine")
    why = explained(run)
    assert "Whether its job 4711 of Slurm still waits cannot be asked here." in why.message
    assert "squeue --jobs=4711" in why.suggestions[0]
    summaries = Catalogue(run.path.parent).summaries()
    assert summaries[0].reason == "the trainer ended without a word"


def test_that_what_others_wrote_for_a_number_is_given_to_no_command(
    known: FakeSlurm, lost: Callable[..., RunDirectory]
) -> None:
    run = lost("--all; rm")
    assert left_job(run) is None
    assert LeftJobs().added_to(Catalogue(run.path.parent).summaries())
    assert known.asked == []


def test_that_the_terminal_tells_it_below_the_list_and_where_a_stop_is_asked_for(
    known: FakeSlurm, lost: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    run = lost()
    known.jobs["4711"] = of(run, WAITS)
    folder = ["--runs-dir", str(run.path.parent)]
    assert run_command(["runs", *folder, "list"]) == 0
    assert f"{run.id} is lost, and {IN_LIST}." in capsys.readouterr().err
    assert run_command(["runs", *folder, "stop", "1"]) != 0
    assert f"{QUEUED}. Take it out of the queue: scancel 4711. Go on" in capsys.readouterr().err
