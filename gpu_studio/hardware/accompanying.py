"""Record the machine into a file for as long as a lock is held.

`python -m gpu_studio.hardware.accompanying LOCK FILE`
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gpu_studio.common.safe_files import open_regular
from gpu_studio.hardware.recorder import BeingRecordedError, Recorder
from gpu_studio.hardware.supervision import Supervisor, sampler_command, sampler_environment

LOCK, RECORD = "trainer.lock", "hardware.jsonl"
LOOK_EVERY = 0.2
"""Seconds between two looks at the lock: a run's folder is no longer written to soon after it."""


def accompany(run: Path) -> subprocess.Popen[bytes] | None:
    """Start recording the machine beside the run in the directory `run`, until its trainer is gone.

    Returns at once; the recording process outlives this one. Call `poll` on it from time to time
    while this process lives, so that the system can reap it. None if it could not be started: the
    run continues without. None, too, where the run's workers are on other machines than this.
    """
    if _is_elsewhere(run):
        return None
    command = [
        sys.executable,
        "-P",
        "-m",
        "gpu_studio.hardware.accompanying",
        str(run / LOCK),
        str(run / RECORD),
    ]
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


def _is_elsewhere(run: Path) -> bool:
    # Imported here: what records needs no plan, and would start for twice as long.
    from gpu_studio.contract import RunDirectory
    from gpu_studio.plan import PlanError, cluster_of, load

    with suppress(PlanError):
        cluster = cluster_of(load(RunDirectory(run).plan_file))
        return cluster is not None and cluster.start != "local"
    return False


def main(words: Sequence[str] | None = None) -> int:
    """Record until the lock is free. Exit code 0 also if another process already records.

    2 on failure.
    """
    lock, record = (Path(word) for word in (sys.argv[1:] if words is None else words))
    try:
        with (
            Recorder(record) as recorder,
            Supervisor(sampler_command(folder=record.parent)) as sampler,
        ):
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
    """Whether a process holds this lock, as a run's trainer does; false if there is no file.

    Never waits.
    """
    try:
        descriptor = open_regular(lock)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # without locks nobody holds one
        return False
    finally:
        os.close(descriptor)
    return False


if __name__ == "__main__":
    sys.exit(main())
