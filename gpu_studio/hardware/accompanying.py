"""`python -m gpu_studio.hardware.accompanying LOCK FILE`: record the machine into FILE for as long as LOCK is held."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_studio.hardware.recorder import BeingRecordedError, Recorder
from gpu_studio.hardware.supervision import sampler_command, sampler_environment
from gpu_studio.hardware.supervisor import Supervisor
from gpu_studio.regular_files import open_regular

LOCK, RECORD = "trainer.lock", "hardware.jsonl"
LOOK_EVERY = 1.0
"""Seconds between two looks at the lock."""


def accompany(run: Path) -> subprocess.Popen[bytes] | None:
    """Record the machine beside the run in the directory `run`, until its trainer is gone; returns at once.

    The recording process lives on when this one ends. Ask it now and then for its end (`poll`), as long as this
    process lives: only then does the system forget it. None if it could not be started: the run goes on without.
    """
    command = [sys.executable, "-P", "-m", "gpu_studio.hardware.accompanying", str(run / LOCK), str(run / RECORD)]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=sampler_environment(),
            start_new_session=True,
        )
    except OSError:
        return None


def main(words: Sequence[str] | None = None) -> int:
    """Record until the lock is free. 0 also if another process records into the file already; 2 if it cannot be."""
    lock, record = (Path(word) for word in (sys.argv[1:] if words is None else words))
    try:
        with Recorder(record) as recorder, Supervisor(sampler_command(folder=record.parent)) as sampler:
            while is_held(lock):
                for line in sampler.lines(LOOK_EVERY):
                    recorder.write(line)
    except BeingRecordedError:
        return 0
    except OSError as error:
        sys.stderr.write(f"{record}: {error.strerror}\n")
        return 2
    return 0


def is_held(lock: Path) -> bool:
    """Whether some process holds this lock, as a run's trainer does; false if there is no such file. Never waits."""
    try:
        descriptor = open_regular(lock)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


if __name__ == "__main__":
    sys.exit(main())
