"""A cluster plan is examined on this machine before its workers start."""

from __future__ import annotations

import os
import random
import shlex
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from free_ports import free_ports
from training_runs import small_plan

from gpu_studio.contract.consent import allow_shell
from gpu_studio.hardware.doctor.findings import Finding
from gpu_studio.hosts import agent
from gpu_studio.hosts.examination import _command, examined, filesystem_of, named_files
from gpu_studio.hosts.slurm_run import shell_of
from gpu_studio.plan import AbsolutePlan, with_absolute_files
from gpu_studio.plan.cluster_values import Cluster, Slurm
from gpu_studio.runs.launch import machine_problems
from gpu_studio.trainer.errors import ClusterError

WORKERS = "distribution.strategy=multi_worker"


def plan_of(folder: Path, *settings: str) -> AbsolutePlan:
    return with_absolute_files(small_plan(WORKERS, *settings), folder)


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {each.check: each for each in findings}


def test_that_workers_on_this_machine_are_examined_here(tmp_path: Path) -> None:
    found = by_check(examined(plan_of(tmp_path, "cluster.workers=3"), tmp_path / "runs"))
    assert found["hosts"].found.startswith("All 3 answered")
    for check in ("port", "reach", "versions", "memory"):
        assert check in found
    assert {found[each].state for each in ("hosts", "port", "reach", "versions")} == {"good"}


def test_that_a_plan_of_one_process_has_nothing_to_examine(tmp_path: Path) -> None:
    plan = with_absolute_files(small_plan(), tmp_path)
    assert examined(plan, tmp_path) == []


def test_that_a_port_that_another_program_has_is_found(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        found = by_check(examined(plan_of(tmp_path, f"cluster.port={port}"), tmp_path))
    assert found["port"].state == "bad"
    assert found["port"].found.startswith(f"Worker 0 cannot listen on port {port} of ")


def test_that_a_run_is_refused_in_words_where_its_workers_could_not_start(tmp_path: Path) -> None:
    trusted = "cluster.trusted_network=true"
    assert machine_problems(plan_of(tmp_path, trusted), tmp_path) == []
    assert machine_problems(with_absolute_files(small_plan(), tmp_path), tmp_path) == []
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        in_use = plan_of(tmp_path, trusted, f"cluster.port={port}")
        (problem,) = machine_problems(in_use, tmp_path)
    assert "address already in use. End the program that listens there" in str(problem)


def test_that_a_folder_of_the_plans_is_advised_as_one_word_of_the_shell(tmp_path: Path) -> None:
    folder = str(tmp_path / "a b; touch c")
    plan = plan_of(tmp_path, "cluster.start=slurm", f"cluster.slurm.folder={folder}")
    (found,) = (each for each in examined(plan, tmp_path) if each.check == "folder")
    assert [shlex.split(each) for each in found.mend] == [["mkdir", "-p", folder]]


def first_of_two_free() -> int:
    """A free port that another follows, below those that the kernel gives to whoever asks."""
    draw = random.Random()
    while True:
        with suppress(ClusterError):
            return free_ports(2, draw.randrange(20_000, 32_000))[0]


def test_that_the_ports_of_the_plan_can_be_used_once_they_were_examined(tmp_path: Path) -> None:
    port = first_of_two_free()
    plan = plan_of(tmp_path, "cluster.trusted_network=true", f"cluster.port={port}")
    assert machine_problems(plan, tmp_path) == []
    assert free_ports(2, port) == [port, port + 1]


def test_that_a_remark_in_a_line_of_setup_does_not_keep_the_nodes_from_their_examination() -> None:
    setup = ("X=1  # what the cards need", "export PYTHON=echo")
    command = _command(Cluster(slurm=Slurm(setup=setup)), "{}")
    told = subprocess.run(command[command.index("bash") :], capture_output=True, text=True)
    assert told.stdout == f"{agent.__file__} {{}}\n"


def test_that_workers_that_kubernetes_is_to_start_are_refused_with_the_way(tmp_path: Path) -> None:
    (problem,) = machine_problems(plan_of(tmp_path, "cluster.start=kubernetes"), tmp_path)
    assert "--to kubernetes" in str(problem)
    assert 'cluster.start = "local"' in str(problem)


@pytest.fixture
def with_sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "bin" / "sbatch"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")


def test_that_a_run_in_slurm_needs_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (problem,) = machine_problems(plan_of(tmp_path, "cluster.start=slurm"), tmp_path)
    assert "there is no sbatch on this machine" in str(problem)


@pytest.mark.usefixtures("with_sbatch")
def test_that_a_run_in_slurm_lies_where_its_nodes_see_it(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    plan = plan_of(tmp_path, "cluster.start=slurm", f"cluster.slurm.folder='{shared}'")
    (problem,) = machine_problems(plan, tmp_path / "runs")
    assert f"--runs-dir {shared}/runs" in str(problem)
    assert machine_problems(plan, shared / "runs") == []


@pytest.mark.usefixtures("with_sbatch")
def test_that_a_folder_whose_name_would_be_shell_in_a_script_for_slurm_is_refused(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "runs\ntouch unasked"
    (problem,) = machine_problems(plan_of(tmp_path, "cluster.start=slurm"), folder)
    assert "cannot name the folder of runs" in str(problem)


@pytest.mark.usefixtures("with_sbatch")
def test_that_lines_of_shell_that_a_plan_gives_slurm_run_once_they_are_allowed(
    tmp_path: Path,
) -> None:
    settings = ("cluster.start=slurm", "cluster.slurm.setup=['module load cuda']")
    plan = plan_of(tmp_path, *settings)
    (problem,) = machine_problems(plan, tmp_path)
    assert "module load cuda" in str(problem)
    assert "--allow-shell" in str(problem)
    allow_shell(shell_of(plan))
    assert machine_problems(plan, tmp_path) == []
    changed = plan_of(tmp_path, "cluster.start=slurm", "cluster.slurm.setup=['rm -r ~']")
    assert machine_problems(changed, tmp_path) != []


def test_that_missing_data_and_code_are_found(tmp_path: Path) -> None:
    own = ("data.name=", "data.options={}", "data.python=mine.py:load")
    found = by_check(examined(plan_of(tmp_path, *own), tmp_path))
    assert (found["code"].state, str(tmp_path / "mine.py") in found["code"].found) == ("bad", True)
    table = ("data.name=", "data.options={}", "data.file=numbers.npz")
    (tmp_path / "numbers.npz").write_bytes(b"1")
    found = by_check(examined(plan_of(tmp_path, *table), tmp_path))
    assert (found["data"].state, "numbers.npz" in found["data"].found) == ("good", True)


def test_that_files_are_named_once_each(tmp_path: Path) -> None:
    own = ("model.name=", "model.options={}", "model.python=m.py:net", "data.name=")
    more = ("data.options={}", "data.python=m.py:load", "model.weights=w.weights.h5")
    data, code = named_files(plan_of(tmp_path, *own, *more))
    assert (data, code) == ([str(tmp_path / "w.weights.h5")], [str(tmp_path / "m.py")])


def test_that_the_kernel_names_the_disk_of_a_folder() -> None:
    assert filesystem_of(Path("/proc/self")) == "proc"


@pytest.mark.processes
def test_that_nothing_heavy_is_imported_for_it() -> None:
    program = (
        "import sys; import gpu_studio.hosts.examination; "
        "sys.exit(bool({'tensorflow', 'keras', 'PySide6', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
