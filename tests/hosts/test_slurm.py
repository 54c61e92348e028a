"""Slurm's words, and a real Slurm of three nodes that is asked before anything is submitted."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from patience import PATIENCE_S
from slurm_practice import practice_slurm
from training_runs import small_plan, until

from gpu_studio.cli.entry import run_command
from gpu_studio.hosts import slurm
from gpu_studio.hosts.slurm import (
    SlurmError,
    SlurmJob,
    SlurmMissingError,
    SlurmSilentError,
    answer_of,
    job_of,
    most_minutes,
    no_job_words,
    run,
    submit,
    words_of,
    would_start,
)
from gpu_studio.plan import save
from gpu_studio.plan.cluster_values import minutes


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("30", 30),
        ("30:30", 30.5),
        ("04:00:00", 240),
        ("1-12", 2160),
        ("1-12:30", 2190),
        ("2-00:00:30", 2880.5),
    ],
)
def test_that_slurm_s_times_are_read(time: str, expected: float) -> None:
    assert minutes(time) == expected


def test_that_slurm_s_words_are_told_without_the_names_of_its_programs() -> None:
    refused = "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
    assert words_of(refused) == "Invalid partition name specified"
    assert words_of("allocation failure: Requested node configuration is not available\n") == (
        "Requested node configuration is not available"
    )
    assert words_of("") == ""


def job(state: str, reason: str = "None", restarts: int = 0) -> SlurmJob:
    return SlurmJob("7", "digits", state, reason, "n[0-1]", "01:00:00", restarts, "137:0")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (job("PENDING", "Resources"), "waits: it waits until enough nodes are free (Resources)."),
        (
            job("PENDING", "ReqNodeNotAvail,_UnavailableNodes:n1"),
            (
                "waits: a node that it asks for is not available now "
                "(ReqNodeNotAvail,_UnavailableNodes:n1)."
            ),
        ),
        (job("PENDING", "NewReason"), "waits: NewReason."),
        (
            job("PENDING", "BeginTime", 1),
            (
                "waits again, after Slurm has put it back into the queue: it may not begin yet "
                "(BeginTime)."
            ),
        ),
        (job("RUNNING"), "runs on n[0-1], with a time limit of 01:00:00."),
        (
            job("RUNNING", restarts=1),
            (
                "runs again, after Slurm had put it back into the queue, on n[0-1], with a time "
                "limit of 01:00:00."
            ),
        ),
        (job("TIMEOUT"), "was ended by its time limit of 01:00:00."),
        (job("FAILED"), "has failed, with exit status 137."),
        (job("BOOT_FAIL"), "boot fail."),
    ],
)
def test_that_the_state_of_a_job_is_told_in_words(told: SlurmJob, words: str) -> None:
    assert told.words == words


def test_that_a_machine_without_slurm_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SlurmMissingError, match="no command squeue") as raised:
        run(["squeue"])
    assert no_job_words(raised.value)[0].startswith("There is no job: there is no command squeue")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "Batch job submission failed: Unable to contact slurm controller (connect failure)",
            "Slurm does not answer: Unable to contact slurm controller (connect failure).",
        ),
        (
            "Batch job submission failed: Socket timed out on send/recv operation",
            "Slurm does not answer: Socket timed out on send/recv operation.",
        ),
        ("Invalid partition", "Slurm refuses the job: Invalid partition."),
    ],
)
def test_that_no_answer_of_slurm_is_not_called_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    command = tmp_path / "sbatch"
    command.write_text(f"#!/bin/sh\necho 'sbatch: error: {said}' >&2\nexit 1\n")
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SlurmError) as raised:
        run(["sbatch"])
    assert no_job_words(raised.value)[0] == words


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a shell script into the place of a command of Slurm's."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def put(name: str, lines: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\ncd {tmp_path}\n{lines}\n")
        (tmp_path / name).chmod(0o700)

    return put


NEVER = "sleep 600 & echo $! > child; echo $$ > parent; wait"
DEAF = "trap '' TERM"
PARENT_HEARS = f"({DEAF}; {NEVER}) & trap 'exit 1' TERM; wait"
TELLS = "echo $! > child; echo $! > parent"
NOISY = f"trap '' PIPE; while :; do echo more; sleep 0.01; done & {TELLS}"


def runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets time pass at once when the command has told which processes it is."""
    told, looks = tmp_path / "parent", count()

    def now() -> float:
        over = next(looks) and told.exists() and told.read_text()
        return time.monotonic() + (600 if over else 0)

    monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=now, sleep=time.sleep))


@pytest.mark.slow
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    "lines",
    [NEVER, f"{DEAF}; {NEVER}", PARENT_HEARS, f"exec >&- 2>&-; {NEVER}", NOISY],
)
def test_that_a_command_that_never_ends_is_ended_with_all_that_it_has_started(
    site: Callable[[str, str], None], tmp_path: Path, lines: str
) -> None:
    site("squeue", lines)
    with pytest.raises(SlurmSilentError, match="gave no answer in"):
        answer_of(["squeue"])
    for name in ("child", "parent"):
        pid = int((tmp_path / name).read_text())
        until(lambda pid=pid: not runs(pid), PATIENCE_S)
        assert not runs(pid)


@pytest.mark.parametrize("lines", ["exec yes", "exec yes >&2", "exec cat /dev/zero"])
def test_that_a_command_that_writes_without_an_end_is_ended(
    site: Callable[[str, str], None], lines: str
) -> None:
    site("squeue", lines)
    with pytest.raises(SlurmSilentError, match="writes without an end"):
        answer_of(["squeue"], seconds=PATIENCE_S)


def test_that_a_command_is_heard_in_a_process_with_many_open_files(
    site: Callable[[str, str], None],
) -> None:
    site("squeue", "echo 4711")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2048), before[1]))
    with ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        while held.enter_context(Path(os.devnull).open()).fileno() < 1024:
            pass
        assert run(["squeue"]) == "4711"


def test_that_an_answer_counts_whose_command_left_something_running(
    site: Callable[[str, str], None], tmp_path: Path
) -> None:
    site("squeue", "sleep 600 & echo $! > child; echo 4711")
    try:
        assert run(["squeue"]) == "4711"
    finally:
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_that_a_script_longer_than_a_pipe_is_given_whole(
    site: Callable[[str, str], None],
) -> None:
    site("sbatch", "wc -c")
    assert run(["sbatch"], text="x" * 300_000) == "300000"
    site("sbatch", "echo 7")
    assert run(["sbatch"], text="x" * 300_000) == "7"


def told_job(site: Callable[[str, str], None], tmp_path: Path, line: str) -> SlurmJob:
    (tmp_path / "said").write_text(line)
    site("scontrol", "cat said")
    return job_of("7")


def test_that_a_job_is_read_however_odd_its_values_are(
    site: Callable[[str, str], None], tmp_path: Path
) -> None:
    many = "9" * 5_000
    odd = told_job(
        site,
        tmp_path,
        f"JobId=7 JobName=a b JobState=RUNNING Restarts={many} Reason={'x' * 100_000} "
        f"NodeList={{job}} ExitCode=² StdOut=/a folder/x = y.log",
    )
    assert (odd.name, odd.restarts, odd.output) == ("a b", 0, "/a folder/x = y.log")
    assert len(odd.reason) == 1_000
    assert odd.words.startswith("runs on {job}, with")
    assert told_job(site, tmp_path, "JobState=PENDING Restarts=²").restarts == 0


@pytest.mark.parametrize("line", ["9" * 300_000, "a " * 300_000, "JobState= JobId=7"])
def test_that_an_answer_that_tells_no_state_is_refused_however_long_it_is(
    site: Callable[[str, str], None], tmp_path: Path, line: str
) -> None:
    with pytest.raises(SlurmError, match="gave no state of job 7"):
        told_job(site, tmp_path, line)


def test_that_a_long_refusal_has_an_end_and_silence_is_not_called_a_start(
    site: Callable[[str, str], None],
) -> None:
    site("sbatch", "printf '%2000000d' 7 | tr ' ' x >&2; exit 1")
    with pytest.raises(SlurmError) as raised:
        would_start("")
    assert len(str(raised.value)) == 1_000
    site("sbatch", "")
    assert would_start("") == "It does not say when the job could start"


@pytest.mark.parametrize("said", ["٤٧١١", "9" * 100_000, "--me", "4711 and more"])
def test_that_what_is_no_number_of_a_job_is_not_followed(
    site: Callable[[str, str], None], said: str
) -> None:
    site("sbatch", f"echo '{said}'")
    with pytest.raises(SlurmError, match="gave no number of a job"):
        submit([])


@pytest.mark.parametrize(
    ("partition", "expected"), [(None, 60), ("short,long", 1440), ("short,free", None)]
)
def test_that_of_several_partitions_the_longest_limit_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partition: str | None,
    expected: float | None,
) -> None:
    command = tmp_path / "sinfo"
    rows = "debug* 1:00:00\nshort 30:00\nlong 1-00:00:00\nfree infinite"
    chosen = "*" if partition is None else partition.replace(",", "|")
    command.write_text(
        f"#!/bin/bash\nwhile read -r n t; do case $n in {chosen}) echo $n $t;; esac; done <<X\n"
        f"{rows}\nX\n"
    )
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert most_minutes(partition) == expected


@pytest.mark.slow
@pytest.mark.processes
def test_that_a_real_slurm_is_asked_before_the_start_and_each_node_examines_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan_file, runs = tmp_path / "workers.plan.toml", tmp_path / "runs"
    runs.mkdir()
    plan = small_plan(
        "distribution.strategy=multi_worker", "cluster.workers=3", "cluster.trusted_network=true"
    )
    save(plan, plan_file)
    monkeypatch.setenv("PYTHON", sys.executable)
    with practice_slurm(tmp_path / "slurm") as slurm:
        monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])

        def examined(*settings: str) -> tuple[int, str]:
            words = ["--runs-dir", str(runs), "cluster", "examine", str(plan_file), "--on-nodes"]
            code = run_command([*words, "--set", "cluster.start=slurm", *settings])
            return code, " ".join(capsys.readouterr().out.split())

        code, told = examined()
        assert (code, "All 3 answered" in told) == (0, True), told
        assert "Each worker reaches each, both ways" in told
        assert list(runs.iterdir()) == []
        code, told = examined("cluster.workers=30")
        assert (code, "Requested node configuration is not available" in told) == (1, True)
        code, told = examined("cluster.slurm={ time = '02:00:00' }")
        assert (code, "gives 60 minutes at most" in told) == (1, True)
        assert "on n" in would_start("#!/bin/bash\n#SBATCH --ntasks=2\ntrue\n")

        first = slurm.run(
            "sbatch", "--parsable", "--output=/dev/null", "--ntasks=6", "--wrap", "sleep 600"
        )
        until(lambda: job_of(first).state == "RUNNING", PATIENCE_S)
        second = slurm.run(
            "sbatch", "--parsable", "--output=/dev/null", "--ntasks=6", "--wrap", "true"
        )
        until(lambda: job_of(second).reason in ("Resources", "Priority"), PATIENCE_S)
        assert "waits:" in job_of(second).words
        slurm.run("scancel", first)
        assert slurm.ended(second) == "COMPLETED"
        assert (job_of(first).words, job_of(second).words) == ("was cancelled.", "has ended well.")
