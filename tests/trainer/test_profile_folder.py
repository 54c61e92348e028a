"""A profile's folder is gone even if the process ends while the profile is written."""

from __future__ import annotations

import subprocess
import sys

from patience import PATIENCE_S

from gpu_studio.trainer.environment import at_last, remove_own

WRITES_ON = """
import os, sys, threading
from pathlib import Path
from gpu_studio.trainer import environment
from gpu_studio.trainer.environment import profile_folder, remove_own

environment._PATIENCE_S = float(sys.argv[1])

def leave():
    remove_own()
    os._exit(7)

with profile_folder() as folder:
    threading.Thread(target=leave).start()
    for number in range(300):
        (folder / "plugins" / str(number)).mkdir(parents=True, exist_ok=True)
        (folder / "plugins" / str(number) / "host.xplane.pb").touch()
threading.Event().wait()
"""


def test_that_a_profile_that_is_still_written_is_waited_for_and_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ended = subprocess.run(
        [sys.executable, "-c", WRITES_ON, str(PATIENCE_S)], timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 7
    assert not list(tmp_path.iterdir())


def test_that_what_is_to_be_done_at_last_is_done_only_while_it_matters() -> None:
    done: list[str] = []
    with at_last(lambda: done.append("cancelled")):
        remove_own()
    remove_own()
    assert done == ["cancelled"]
