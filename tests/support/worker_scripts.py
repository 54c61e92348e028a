"""Scripts of several workers, started for real by the files that are exported with them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest
import warm_python
from exported_scripts import write_script

from gpu_studio.cli.entry import run_command
from gpu_studio.contract.slugs import plain_slug
from gpu_studio.export import files_beside
from gpu_studio.export.jobs import SCRIPT, job_text
from gpu_studio.plan import Plan


def write_job(kind: str, plan: Plan, folder: Path, file: str) -> Path:
    """What starts the workers of a plan, with its script and data beside it."""
    script = write_script(plan, folder)
    assert script.name == SCRIPT
    beside = {name: path.read_bytes() for name, path in files_beside(plan).items()}
    path = folder / file
    path.write_text(job_text(kind, plan, plain_slug(plan.name), script.read_text(), beside, file))
    return path


def warm_interpreter(folder: Path) -> Path:
    """A program to be called as Python is: TensorFlow is there at once, and GPU Studio is not."""
    path = folder / "warm-python"
    *words, script = warm_python.command(SCRIPT)
    assert script == SCRIPT
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path.chmod(0o700)
    return path


def environment(folder: Path) -> Mapping[str, str]:
    """What the processes get; a killed one leaves temporary files of TensorFlow behind."""
    python = str(warm_interpreter(folder))
    (folder / "tmp").mkdir()
    own = {"PYTHON": python, "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": str(folder / "tmp")}
    return {**os.environ, **own}


def cluster(runs: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of `gpu-studio cluster`, and what it wrote as its output and as errors."""
    code = run_command(["--runs-dir", str(runs), "cluster", *words])
    said = capsys.readouterr()
    return code, said.out.strip(), said.err


def read(path: Path) -> str:
    """What a file holds so far; nothing if it is not there yet."""
    return path.read_text() if path.exists() else ""


def workers_of(folder: Path, number: int) -> list[psutil.Process]:
    """The processes in a folder that are the worker of this number.

    Tasks of Slurm are nobody's children, so that all processes are looked through.
    """
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and f'"index": {number}' in _config(process):
                found.append(process)
        except psutil.Error:
            continue
    return found


def _config(process: psutil.Process) -> str:
    return process.environ().get("TF_CONFIG", "")


def losses_by_epoch(output: str) -> dict[int, dict[str, float]]:
    """The measures that were printed last for each epoch, by its number from 1 on."""
    found = {}
    for line in output.splitlines():
        if line.startswith("epoch "):
            number = int(line.split()[1].partition("/")[0])
            pairs = (word.split("=") for word in line.split()[2:])
            found[number] = {name: float(value) for name, value in pairs}
    return found
