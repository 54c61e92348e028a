"""Real trainers on a real disk that fills up at fifty random moments.

Each goes on, or ends with words about the disk.

Half of them get room again and are to go on and finish with every event; the others are stopped
while the disk is full. The disk is a file system in memory, which only root can mount: for others
this needs `unshare --map-root-user --mount make bench ARGS=full-disk`."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measuring import Budget, Row
from workplace import PATIENCE_S, BenchmarkError, Workplace

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import warm_python
from small_disks import SmallDisk, mounted

from gpu_studio.cli.command import OK, REFUSED
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Failed, Finished, Steps, decode
from gpu_studio.contract.files import Tail
from gpu_studio.plan import AbsolutePlan, loads
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.runs.state import is_live, terminal_event

MOMENTS, DISK_KIB, SEED = 50, 4096, 4
STOP_S = 30.0 + 10.0 + 10.0
"""What a stop may take: its patience before SIGTERM, before SIGKILL, and after it."""
KEPT = Budget("at most", 1.0)
PLAN = """
version = 1
name = "on a small disk"
[model]
name = "mlp"
options = { hidden = [32] }
[data]
name = "digits"
[training]
epochs = 150
batch_size = 256
"""
START_SHARE = 0.3
"""Of the moments: so many are of the start."""
FULL_FOR_S, POLL_S = 2.0, 0.02
START_S, LATEST_STEP = 8.0, 600
"""So long a trainer takes until it trains, more or less.

And the latest step at which the disk is full.
"""


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """How long the stops took on a full disk, against their patience."""
    del times  # fifty moments once are enough
    dice, stops = random.Random(SEED), list[float]()
    for number in range(MOMENTS):
        # From before TensorFlow is imported to deep in the training.
        moment = dice.uniform(0.0, 1.0)
        try:
            with mounted(place.folder / f"disk-{number}", DISK_KIB) as disk:
                stops += _one(place, disk, moment, stopped=number % 2 == 1)
        except (OSError, BenchmarkError) as error:
            raise BenchmarkError(f"at moment {number} ({moment:.3f}): {error}") from error
    yield Row(
        f"stops on a full disk, {len(stops)}, slowest",
        "its patience",
        "s",
        KEPT,
        (max(stops),),
        (STOP_S,),
    )


def _one(place: Workplace, disk: SmallDisk, moment: float, *, stopped: bool) -> list[float]:
    # What happens at the start is seen in a trainer that really starts.
    warm = warm_python.command("gpu_studio.trainer") if moment >= START_SHARE else None
    launched = launch(
        AbsolutePlan(loads(PLAN)),
        disk.path / "runs",
        environment=dict(place.environment),
        trainer=warm,
    )
    try:
        _until(launched, moment)
        disk.fill()
        if stopped:
            return [_stopped(launched, disk)]
        _rest(FULL_FOR_S)
        disk.clear()
        _goes_on(launched)
        return []
    finally:
        launched.process.kill()
        launched.process.wait()


def _until(launched: Launched, moment: float) -> None:
    """Wait for that moment, of the start or of the training."""
    if moment < START_SHARE:
        _rest(moment / START_SHARE * START_S)
        return
    tail, wanted = (
        Tail(launched.directory.events_file, decode),
        1 + int((moment - START_SHARE) * LATEST_STEP),
    )
    _wait(
        launched,
        lambda: any(
            isinstance(event, Steps) and event.first_step >= wanted for event in tail.read()
        ),
    )


def _goes_on(launched: Launched) -> None:
    """With room again it trains to its end with every event.

    Or it had ended before, with words about the disk.
    """
    _wait(launched, lambda: False)
    events = Tail(launched.directory.events_file, decode).read_all()
    if [event.seq for event in events] != list(range(len(events))):
        raise BenchmarkError(f"events of {launched.directory.id} are missing")
    end = terminal_event(launched.directory)
    if not (isinstance(end, Finished) and end.reason == "completed"):
        _check_words(launched.directory)


def _stopped(launched: Launched, disk: SmallDisk) -> float:
    """Stop it on the full disk with the command; the seconds that took."""
    run, began = launched.directory, time.monotonic()
    command = [
        sys.executable,
        "-P",
        "-m",
        "gpu_studio",
        "--runs-dir",
        str(run.path.parent),
        "runs",
        "stop",
        run.id,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    seconds = time.monotonic() - began
    # Refused is the stop of one that was gone already.
    if done.returncode not in (OK, REFUSED) or is_live(run):
        raise BenchmarkError(f"the stop of {run.id} ended with {done.returncode}: {done.stderr}")
    disk.clear()
    if terminal_event(run) is None or isinstance(terminal_event(run), Failed):
        _check_words(run, done.stderr)
    return seconds


def _check_words(run: RunDirectory, said: str = "") -> None:
    """Whether the end of a run, or what was `said` when it was stopped, names the disk."""
    why = explain(run)
    if "No space left on device" not in f"{why.message} {why.details} {said}":
        raise BenchmarkError(
            f"the end of {run.id} does not name the disk: {why.message} {why.details[-1500:]}"
        )


def _wait(launched: Launched, condition: Callable[[], bool]) -> None:
    """Until the condition holds, or the trainer is gone."""
    end = time.monotonic() + PATIENCE_S
    while launched.poll() is None and not condition():
        if time.monotonic() > end:
            raise BenchmarkError(
                f"{launched.directory.id} has not come so far in {PATIENCE_S:.0f} s"
            )
        _rest(POLL_S)


def _rest(seconds: float) -> None:
    """Let time pass.

    A moment of the start is one in time, since the trainer has told nothing yet to be waited for.
    """
    time.sleep(seconds)
