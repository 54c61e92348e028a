"""`python -m gpu_studio.trainer RUN`: train the plan in the run directory RUN.

It is the frame of the trainer process: lock, events, environment, and an end that is always
reported.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import platform
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gpu_studio import __version__, plan
from gpu_studio.common.practice import PRACTICE
from gpu_studio.contract import (
    Failed,
    Finished,
    LockHeldError,
    RunDirectory,
    Started,
    StateChanged,
    resumed_from,
)
from gpu_studio.contract.lock import Lock, take
from gpu_studio.trainer import environment, user_code
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.environment import forgive_full_disk, leave, remove_own
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.failures import FailureContext, explain
from gpu_studio.trainer.progress import Reached
from gpu_studio.trainer.telemetry import EventWriter


class Ending:
    """Writes the terminal event of a run, and closes its events."""

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._reported = False

    def tell(self, event: Finished | Failed) -> bool:
        """Write `event` and the state it leads to.

        Return False if another end was reported already.
        """
        with self._lock:
            if self._reported:
                return False
            self._reported = True
            self._writer.write(StateChanged(state=event.state))
            self._writer.write(event)
            return True


FINISHED, FAILED = 0, 1
SPACE_SECONDS, HURRIED_SECONDS = 600.0, 5.0
"""Seconds for which a trainer at its end waits for space to save its events; fewer once stopped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trainer and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_studio.trainer", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory with a plan.toml")
    run = RunDirectory(parser.parse_args(arguments).run.resolve())
    faulthandler.enable()
    os.umask(0o077)
    forgive_full_disk()
    try:
        return train(run)
    except (LockHeldError, OSError) as error:
        print(f"The run {run.id} cannot be trained: {error}", file=sys.stderr)  # noqa: T201
        return FAILED


def _is_gone(run: RunDirectory, lock: Lock) -> bool:
    """Whether the run's folder is gone; where only the lock's file is, it is made again."""
    if not lock.deleted:
        return False
    # The folder may be there again: a checkpoint was written while it was deleted.
    if not run.plan_file.exists():
        return True
    if run.events_file.exists():  # and nobody is about to delete it
        lock.renew(run.lock_file)
    return False


def train(run: RunDirectory) -> int:
    """Train the plan of `run` to its end and return the exit status.

    Every end except a crash is reported in the events.
    """
    lock = take(run.lock_file)
    writer = EventWriter(run.events_file)
    ending, reached = Ending(writer), Reached()
    began = time.perf_counter()
    control = Control(
        run,
        stop_now=lambda: _stop_now(writer, ending, reached, time.perf_counter() - began),
        is_gone=lambda: _is_gone(run, lock),
        abandon=_abandon,
        is_out_of_hand=user_code.under_way,
        find=lambda: lock.place,
    )
    context = FailureContext.of(run, writer.write, lambda: control.stopping)
    try:
        control.start()
        ending.tell(_train(run, writer, control, reached, context))
        return FINISHED
    except Exception as error:  # noqa: BLE001  (whatever it was, it must be reported)
        ending.tell(explain(error, context))
        return FAILED
    finally:
        _close(writer, control, lock)
        control.close()
        lock.release()


def _close(writer: EventWriter, control: Control, lock: Lock) -> None:
    """Close the events once they are all written.

    While this waits for space on a full disk, the run can still be stopped.
    """
    ended = time.monotonic()

    def hurried() -> bool:
        return control.stopping and time.monotonic() - ended > HURRIED_SECONDS

    if not writer.close(SPACE_SECONDS, hurried):
        lock.leave_word(f"The last events of this run could not be written: {writer.refusal}.")


def _train(
    run: RunDirectory,
    writer: EventWriter,
    control: Control,
    reached: Reached,
    context: FailureContext,
) -> Finished:
    context.plan = todo = _plan_of(run)
    writer.write(_started(run, todo))
    writer.write(StateChanged(state="starting"))
    for code in user_code.codes_of(todo, context.base):
        writer.write(code)
    if plan.cluster_of(todo) is not None:
        from gpu_studio.trainer.cluster.supervisor import supervise

        return supervise(run, todo, writer, control, reached)
    environment.settle(todo)
    # Imported here: TensorFlow reads the environment once, while it is imported. Garbage
    # collections meanwhile would take a fifth of the time and free nothing; later ones skip what
    # was imported.
    gc.disable()
    try:
        from gpu_studio.trainer.training import train_plan
    finally:
        gc.freeze()
        gc.enable()
    return train_plan(run, todo, writer, control, reached, context)


def _plan_of(run: RunDirectory) -> plan.Plan:
    try:
        return plan.load(run.plan_file)
    except plan.PlanError as error:
        raise TrainerError(str(error), ["Mend plan.toml and train it as a new run."]) from error


def _started(run: RunDirectory, todo: plan.Plan) -> Started:
    origin = resumed_from(run)
    return Started(
        run=run.id,
        plan=todo.name,
        pid=os.getpid(),
        host=socket.gethostname(),
        gpu_studio=__version__,
        python=platform.python_version(),
        resumed_from=origin.run if origin else None,
        from_epoch=origin.epoch if origin else 0,
        from_step=origin.step if origin else 0,
        practice=os.environ.get(PRACTICE, ""),
    )


def _stop_now(writer: EventWriter, ending: Ending, reached: Reached, seconds: float) -> None:
    # Not by an exception: the main thread may be inside TensorFlow for a while.
    at = reached.progress
    ending.tell(Finished(reason="stopped_now", seconds=seconds, epoch=at.epoch, step=at.step))
    writer.close(timeout=1.0)
    _leave_with("", FINISHED)


def _abandon() -> None:
    # Nothing that it trains from now on could be kept, and nobody could stop it.
    _leave_with("The run's folder was deleted: the trainer ends.\n", FAILED)


def _leave_with(words: str, status: int) -> None:
    """End the process at once, even if a full disk accepts no last words."""
    with suppress(OSError):
        sys.stderr.write(words)
        sys.stderr.flush()
        sys.stdout.flush()
    remove_own()
    os._exit(status)


if __name__ == "__main__":
    leave(main())
