"""The job of a run, with a Slurm that answers late, oddly or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from training_runs import small_plan

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.hosts import slurm, slurm_run
from gpu_studio.hosts.slurm import SlurmError, SlurmJob, job_of
from gpu_studio.hosts.slurm_run import ALONE, RunJob, can_be_named, down_among, run_script


class Answers:
    """Stands for Slurm's commands: by their first word, what they write, or how they fail."""

    def __init__(self, **answers: str | Exception) -> None:
        self.answers = answers
        self.asked: list[list[str]] = []

    def __call__(self, command: list[str], **_options: Any) -> str:
        self.asked.append(command)
        answer = self.answers.get(command[0], "")
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, "two")


def answering(monkeypatch: pytest.MonkeyPatch, **answers: str | Exception) -> Answers:
    commands = Answers(**answers)
    monkeypatch.setattr(slurm, "run", commands)
    monkeypatch.setattr(slurm_run, "run", commands)
    return commands


def orders(directory: RunDirectory) -> str:
    return (directory.path / "workers" / "orders").read_text()


@pytest.mark.parametrize(
    ("said", "number"),
    [("4711", "4711"), ("4711;gpu", "4711"), ("Welcome to rack 7.\n4711;gpu\nHave fun", "4711")],
)
def test_that_the_number_of_a_job_is_found_in_what_sbatch_says(
    monkeypatch: pytest.MonkeyPatch, directory: RunDirectory, said: str, number: str
) -> None:
    commands = answering(monkeypatch, sbatch=said)
    job = RunJob(directory, "#!/bin/bash")
    job.order(0, 2)
    assert (job.number, commands.asked) == (number, [["sbatch", "--parsable"]])
    assert orders(directory) == "0 2 0\n"


@pytest.mark.parametrize("said", ["", "sbatch: Job 7 to start at noon", "job 4711"])
def test_that_no_job_of_others_is_taken_for_the_own_where_sbatch_tells_no_number(
    monkeypatch: pytest.MonkeyPatch, directory: RunDirectory, said: str
) -> None:
    commands = answering(monkeypatch, sbatch=said)
    job = RunJob(directory, "#!/bin/bash")
    with pytest.raises(SlurmError, match="gave no number of a job"):
        job.order(0, 2)
    job.end_workers()
    job.close(1)
    assert commands.asked == [["sbatch", "--parsable"]], "nothing is asked or ended without one"
    assert orders(directory) == "over 1 0\n", "a job that was submitted all the same ends at once"


def test_that_a_job_that_is_just_being_submitted_ends_as_it_begins(
    monkeypatch: pytest.MonkeyPatch, directory: RunDirectory
) -> None:
    commands = answering(monkeypatch)
    job = RunJob(directory, "#!/bin/bash")

    def submitted(*_words: object, **_more: object) -> str:
        job.cancel()
        return "4711"

    monkeypatch.setattr(slurm_run, "submit", submitted)
    job.order(0, 2)
    assert (orders(directory), commands.asked) == ("over 1 0\n", [])


def test_that_an_answer_without_a_state_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, directory: RunDirectory
) -> None:
    commands = answering(monkeypatch, sbatch="7", scontrol="JobId=7 JobState=RUNNING Restarts=1")
    job = RunJob(directory, "#!/bin/bash")
    job.order(0, 2)
    assert (job.look().state, job.look().restarts) == ("RUNNING", 1)
    for answer in ("", "slurmctld is being updated", SlurmError("it did not answer in 20 s")):
        commands.answers["scontrol"] = answer
        monkeypatch.setattr(job, "_asked", float("-inf"))
        assert job.look().state == "RUNNING"
    commands.answers["scontrol"] = SlurmError("Invalid job id specified")
    monkeypatch.setattr(job, "_asked", float("-inf"))
    assert job.look().ended, "Slurm has forgotten it"


def test_that_an_odd_number_of_restarts_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, scontrol="JobId=7 JobState=PENDING Reason=None Restarts=N/A")
    assert job_of("7").restarts == 0


@pytest.mark.parametrize("state", ["SIGNALING", "STAGE_OUT", "RESIZING", "REQUEUE_HOLD"])
def test_that_a_job_in_a_state_that_passes_has_not_ended(state: str) -> None:
    assert not SlurmJob("7", "", state, "None", "", "").ended


def test_that_slurm_is_asked_again_only_a_while_after_it_has_answered(
    monkeypatch: pytest.MonkeyPatch, directory: RunDirectory
) -> None:
    now = 100.0
    commands = answering(monkeypatch, sbatch="7")

    def late(_number: str) -> SlurmJob:
        nonlocal now
        now += 20
        commands.asked.append(["scontrol"])
        return SlurmJob("7", "", "RUNNING", "None", "", "")

    monkeypatch.setattr(slurm_run.time, "monotonic", lambda: now)
    monkeypatch.setattr(slurm_run, "job_of", late)
    job = RunJob(directory, "#!/bin/bash")
    job.order(0, 2)
    job.look()
    job.look()
    assert commands.asked == [["sbatch", "--parsable"], ["scontrol"]]


def test_that_a_stop_that_slurm_did_not_pass_on_is_told(
    monkeypatch: pytest.MonkeyPatch, directory: RunDirectory
) -> None:
    commands = answering(monkeypatch, sbatch="7", scancel=SlurmError("it did not answer"))
    job = RunJob(directory, "#!/bin/bash")
    job.order(0, 2)
    assert not job.ask_to_stop()
    commands.answers["scancel"] = ""
    assert job.ask_to_stop()


def test_that_nodes_that_are_down_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"n0": "ALLOCATED", "n1": "DOWN*", "n2": "IDLE+DRAIN", "n3": "MIXED*", "n4": "DOWN"}
    said = "\n".join(f"NodeName={n} Arch=x86_64 State={s} Reason=x" for n, s in states.items())
    commands = answering(monkeypatch, scontrol=said)
    assert down_among(list(states)) == ["n1", "n3", "n4"]
    assert down_among([]) == []
    commands.answers["scontrol"] = SlurmError("it did not answer")
    assert down_among(["n1"]) == []


def test_that_a_script_names_odd_folders_as_one_word_and_those_it_cannot_are_known() -> None:
    odd = Path('/runs/it\'s 50% "mine" $(touch x)')
    script = run_script(small_plan("distribution.strategy=multi_worker"), odd, "/my python")
    assert f"run={_quoted(odd)}" in script.splitlines()
    (log,) = [line for line in script.splitlines() if line.startswith("#SBATCH --output=")]
    assert log == f"#SBATCH --output={_quoted(odd / 'trainer.log').replace('%', '%%')}"
    assert can_be_named(odd)
    assert not can_be_named(Path("/runs/a\nrm -rf x"))
    assert not can_be_named(Path("/runs/a\\b")), "sbatch drops it"


@pytest.mark.parametrize("ends", [ALONE, 1])
def test_that_a_job_ends_with_workers_that_have_no_supervisor_and_else_waits_for_orders(
    directory: RunDirectory, tmp_path: Path, ends: int
) -> None:
    worker = program(tmp_path / "worker", f"exit {ends}")
    program(tmp_path / "srun", 'shift 2; SLURM_PROCID=1 SLURM_NTASKS=2 exec "$@"')
    # A job that waits for orders sleeps; here it is told meanwhile that all is over.
    program(tmp_path / "sleep", f'echo "over 7 0" > "{directory.path}/workers/orders"')
    own = directory.path / "workers" / "0-worker-1"
    own.mkdir(parents=True)
    (own.parent / "orders").write_text("0 2 0\n")
    plan = small_plan("distribution.strategy=multi_worker")
    script = run_script(plan, directory.path, str(worker))
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash"], input=script, env=path, text=True, capture_output=True)
    gone = "supervisor of this run is gone" in done.stderr
    assert (done.returncode, gone) == ((1, True) if ends == ALONE else (7, False)), done.stderr
    assert f'"status":{ends}' in (own / "said.jsonl").read_text()


def program(path: Path, lines: str) -> Path:
    """A program of these lines of shell."""
    path.write_text(f"#!/bin/bash\n{lines}\n")
    path.chmod(0o700)
    return path


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\"'\"'") + "'"
