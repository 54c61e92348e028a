"""The command lines of processes, which anybody may have started with anything."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from gpu_studio.contract import samples
from gpu_studio.hardware.asking import parse_inventory
from gpu_studio.hardware.command_words import command_line, holder_words
from gpu_studio.hardware.probe import known_here


@pytest.fixture
def odd() -> Iterator[psutil.Process]:
    """A process whose arguments are no text, of two lines."""
    waits = b"import sys\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable.encode(), b"-c", waits, b"\xff\xfe"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield psutil.Process(process.pid)
        assert process.stdin is not None
        process.stdin.close()


def test_that_a_command_is_text_on_one_line(odd: psutil.Process) -> None:
    """One such process anywhere on the machine once ended the process that watches the cards."""
    words = command_line(odd)
    assert words.endswith("-c import sys print(flush=True) sys.stdin.read() ??")
    known = known_here(odd.pid)
    assert known is not None
    assert known.command == words
    process = samples.HostProcess(pid=odd.pid, command=words)
    sample = samples.HostProcesses(time=1.0, processes=[process])
    assert samples.decode(samples.encode(sample)) == sample


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "/usr/bin/python3 -P -m gpu_studio.trainer /r/20261122T080000Z-two-cpus-ab12",
            "the run two cpus",
        ),
        ("python -m gpu_studio.trainer runs/mine", "the run mine"),
        ("python -m gpu_studio.trainer", "python -m gpu_studio.trainer"),
        ("/usr/bin/python3 -u /home/ada/train.py --fast", "python3 train.py"),
    ],
)
def test_that_a_run_that_holds_memory_is_called_a_run(command: str, words: str) -> None:
    assert holder_words(command) == words


def test_that_an_inventory_holds_whatever_a_name_is() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRINTED], capture_output=True, text=True, check=True
    )
    assert parse_inventory(done.stdout).cpu_name == "a?b"
    assert json.loads(done.stdout)["cpu_name"] == "a?b"


_PRINTED = """
import gpu_studio.hardware.__main__ as program
program.probe = lambda **_: {"cpu_name": "a\\udcffb", "cpu_cores": 1}
program.main()
"""
