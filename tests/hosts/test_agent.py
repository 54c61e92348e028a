"""Agents on one machine, as real processes: they meet by a folder, and reach each other."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

from gpu_studio.hosts import agent
from gpu_studio.hosts.views import HostView, views_in

pytestmark = pytest.mark.processes


def met(
    folder: Path, *ports: int, count: int = 0, within: float = PATIENCE_S, **more: Any
) -> list[HostView]:
    """The answers of an agent for each port."""
    (folder / "shared").mkdir()
    started = []
    for index, port in enumerate(ports):
        wanted = {
            "index": index,
            "count": count or len(ports),
            "address": "127.0.0.1",
            "port": port,
            "folder": str(folder),
            "shared": str(folder / "shared"),
            "within": within,
            "data": [],
            "code": [],
        }
        command = [sys.executable, "-I", agent.__file__, json.dumps(wanted | more)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    answers = [each.communicate(timeout=PATIENCE_S)[0] for each in started]
    assert [each.returncode for each in started] == [0] * len(ports)
    return views_in("".join(answers).splitlines(), count or len(ports))


def test_that_three_agents_find_and_reach_each_other(tmp_path: Path) -> None:
    views = met(tmp_path, 0, 0, 0)
    assert [view.index for view in views] == [0, 1, 2]
    for view in views:
        assert view.missing == []
        assert sorted(view.reached) == [n for n in range(3) if n != view.index]
        assert [link.error for link in view.reached.values()] == ["", ""]
        assert all(abs(link.clock) < 60 for link in view.reached.values())
        assert view.versions["tensorflow"]
        assert view.free_bytes > 0
        assert view.cores == len(os.sched_getaffinity(0))


def test_that_one_that_is_not_there_is_missed(tmp_path: Path) -> None:
    (view,) = met(tmp_path, 0, count=2, within=0.2)
    assert (view.missing, view.reached) == ([1], {})


def test_that_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        view, other = met(tmp_path, held.getsockname()[1], 0)
    assert (view.port, "in use" in view.port_error) == (0, True)
    assert list(other.reached) == []


def test_that_no_file_is_read_beyond_what_a_program_may_have(tmp_path: Path) -> None:
    endless, code = tmp_path / "endless.py", tmp_path / "code.py"
    with endless.open("wb") as file:
        file.truncate(1 << 40)
    code.write_text("x = 1\n")
    assert len(agent.digest_of_file(str(endless))) == 64
    assert agent.digest_of_file(str(code)) == hashlib.sha256(b"x = 1\n").hexdigest()


def test_that_data_are_told_by_their_size_and_their_ends(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    first.write_bytes(b"x" * 100)
    second.write_bytes(b"x" * 100)
    third.write_bytes(b"x" * 99 + b"y")
    digests = [agent.digest_of_data(str(path)) for path in (first, second, third)]
    assert digests[0] == digests[1] != digests[2]
    folder = tmp_path / "images"
    folder.mkdir()
    before = agent.digest_of_data(str(folder))
    (folder / "one.png").write_bytes(b"1")
    assert agent.digest_of_data(str(folder)) != before


def test_that_what_cannot_be_read_is_said_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "nothing"):
        assert agent.digest_of_file(str(tmp_path / name)).startswith("!")
        assert agent.digest_of_data(str(tmp_path / name)).startswith("!")


def test_that_nobody_there_is_told_in_words() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    assert agent.reached("127.0.0.1", port) == {"error": "connection refused"}
