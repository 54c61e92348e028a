"""Tests that orphaned processes are found, even while they change from one program to the next."""

from __future__ import annotations

import os
import subprocess

import left_processes
import psutil
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def restless(tmp_path):
    """A process that starts itself over and over, and so is often in the middle of `execve`."""
    script = tmp_path / "restless.sh"
    script.write_text('#!/bin/sh\nexec "$0"\n')
    script.chmod(0o700)
    with subprocess.Popen([script], env={"HOME": str(tmp_path)}) as child:
        yield psutil.Process(child.pid)
        child.kill()


def test_that_a_process_in_the_middle_of_execve_is_found_by_its_home(restless, tmp_path):
    before = frozenset({os.getpid()})
    missed = [
        look for look in range(200) if restless not in left_processes.at_home(tmp_path, before)
    ]
    assert not missed
