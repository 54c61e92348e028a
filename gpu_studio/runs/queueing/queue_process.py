"""The process that works the queue off: started by whoever adds to it, and by whoever finds it gone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gpu_studio.own_processes import module_command, module_environment
from gpu_studio.regular_files import open_regular
from gpu_studio.runs.files import make_private_directory
from gpu_studio.runs.queueing.queue import Queue

LOG = "runner.log"


def ensure_runner(runs: Path) -> subprocess.Popen[bytes] | None:
    """Start the runner of the queue of `runs` if it has something to start and none is there; returns at once.

    It lives on when this process ends. Ask it now and then for its end (`poll`), as long as this process lives. None
    if there is nothing for it to do. Raises OSError if it cannot be started.
    """
    queue = Queue(runs)
    if queue.has_runner or not queue.startable():
        return None
    make_private_directory(queue.folder)
    log = open_regular(queue.folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        return subprocess.Popen(
            [*module_command("gpu_studio"), "--runs-dir", str(runs), "queue", "run"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=module_environment(),
            start_new_session=True,
        )
    finally:
        os.close(log)
