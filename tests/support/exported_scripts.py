"""Run exported scripts as a user without GPU Studio would, and read the results."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import warm_python
from patience import PATIENCE_S

from gpu_studio.export import files_beside, python_script
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import Plan

RUFF = (sys.executable, "-m", "ruff")
WATCHER = Path(__file__).with_name("watched_script.py")
_VALUE = re.compile(r"([^\s=]+)=(\S+)")


def check_scripts(folder: Path, long: str = "") -> None:
    """Refuse scripts in `folder` that are not formatted, or not free of mistakes.

    Lines of at most 88 columns, but for those with a path that is `long`, and all has a docstring.
    """
    for command in (("format", "--isolated", "--diff"), ("check", "--isolated", "--no-cache")):
        ended = subprocess.run(
            [*RUFF, *command, "."], cwd=folder, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout
    sources = [path.read_text() for path in folder.glob("*.py")]
    assert sources
    lines = (line for source in sources for line in source.splitlines())
    assert [each for each in lines if len(each) > 88 and (not long or long not in each)] == []
    functions = [
        each
        for source in sources
        for each in ast.parse(source).body
        if isinstance(each, ast.FunctionDef | ast.ClassDef)
    ]
    assert all(map(ast.get_docstring, functions))


@dataclass(frozen=True)
class Printed:
    """What a script printed: the measures of each epoch, and of the test at its end.

    Of a watched one also the device of each variable, by its path, and of each executed operation,
    by its name."""

    code: int
    epochs: list[dict[str, float]]
    test: dict[str, float]
    output: str
    variables: dict[str, str]
    operations: dict[str, set[str]]


def write_script(plan: Plan, folder: Path, seen: DataFacts | None = None) -> Path:
    """The script of a plan, with what it reads beside it.

    `seen` are the data that a function returns.
    """
    path = folder / "train.py"
    path.write_text(python_script(plan, None, folder, seen), encoding="utf-8")
    for name, source in files_beside(plan).items():
        shutil.copyfile(source, folder / name)
    return path


def watching(script: Path) -> Path:
    """A program that runs the script, and prints where its variables and operations were."""
    shutil.copyfile(WATCHER, script.with_name(WATCHER.name))
    return script.with_name(WATCHER.name)


def stranger(
    *arguments: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run Python with TensorFlow and Keras, but without GPU Studio.

    No checkout on its path, and no `.pth` is read.
    """
    return _run([sys.executable, "-S", "-P", *arguments], folder, environment)


def _run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    packages = sysconfig.get_path("purelib")
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment, "PYTHONPATH": packages, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def run_script(path: Path, environment: Mapping[str, str], *arguments: str) -> Printed:
    """Run a script to its end in its own folder, with TensorFlow warm and no GPU Studio."""
    ended = _run([*warm_python.command(path.name), *arguments], path.parent, environment)
    lines = ended.stdout.splitlines()
    output = ended.stdout + ended.stderr
    variables = dict(_places(lines, "lies"))
    operations: dict[str, set[str]] = {}
    for name, device in _places(lines, "ran"):
        operations.setdefault(name, set()).add(device)
    return Printed(
        ended.returncode,
        epochs_in(ended.stdout),
        end_measures_in(ended.stdout),
        output,
        variables,
        operations,
    )


def _places(lines: list[str], kind: str) -> list[tuple[str, str]]:
    words = [line.split() for line in lines if line.startswith(f"{kind} ")]
    return [(name, device) for _, name, device in words]


def epochs_in(output: str) -> list[dict[str, float]]:
    """The measures of each epoch that a script has printed."""
    return [_values(line) for line in output.splitlines() if line.startswith("epoch ")]


def end_measures_in(output: str) -> dict[str, float]:
    """The measures of the test split that a script has printed; empty if it tested none."""
    found = [_values(line) for line in output.splitlines() if line.startswith("test ")]
    return found[0] if found else {}


def _values(line: str) -> dict[str, float]:
    return {name: float(value) for name, value in _VALUE.findall(line)}
