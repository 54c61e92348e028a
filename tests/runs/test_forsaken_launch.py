from __future__ import annotations

import os
import subprocess
import sys

from patience import PATIENCE_S

from gpu_studio.contract.directory import HIDDEN, RunDirectory
from gpu_studio.runs import catalogue

KILLED = """
import os, signal, sys
from pathlib import Path
from gpu_studio.contract.directory import RunDirectory
print(RunDirectory.prepare(Path(sys.argv[1]), "x").path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_that_what_a_killed_launcher_had_prepared_is_no_run_and_is_removed_in_time(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    (left,) = tmp_path.iterdir()
    assert ended.stdout.strip() == str(left)
    assert left.name.startswith(HIDDEN)
    assert catalogue.directories(tmp_path) == []
    catalogue.purge(tmp_path)
    assert left.exists()
    os.utime(left, (1e9, 1e9))
    run = RunDirectory.create(tmp_path, "y")
    assert catalogue.purge(tmp_path) == []
    assert list(tmp_path.iterdir()) == [run.path]
