"""`python -m gpu_studio.trainer.cluster.member`: one of the processes that train a run together.

The supervisor starts it, with a channel to itself. If that closes, this process ends at once:
nobody could see or stop it any more, and it would train on for nobody.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import os
import platform
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, cast

from gpu_studio import __version__, plan
from gpu_studio.contract import (
    AnyEvent,
    Failed,
    Finished,
    RunDirectory,
    Started,
    StateChanged,
)
from gpu_studio.contract.events import Event
from gpu_studio.hosts.slurm_run import ALONE, MAIL
from gpu_studio.trainer import environment, user_code
from gpu_studio.trainer.cluster.channel import Begin, Channel, Go, Leave, MemberEnded, Over, Relayed
from gpu_studio.trainer.cluster.commanded import Chief, serve
from gpu_studio.trainer.cluster.mail import ASKED, FIRST_PATIENCE_S, PATIENCE_S, Mail
from gpu_studio.trainer.cluster.roles import JOBS, Part
from gpu_studio.trainer.cluster.status import Status, Telling
from gpu_studio.trainer.cluster.whereabouts import (
    FIND_NAMES,
    Whereabouts,
    spare_proxies,
    unresolved,
)
from gpu_studio.trainer.control import Control
from gpu_studio.trainer.data import free_memory
from gpu_studio.trainer.environment import forgive_full_disk, leave, remove_own
from gpu_studio.trainer.errors import ClusterError
from gpu_studio.trainer.failures import FailureContext, explain
from gpu_studio.trainer.progress import Reached
from gpu_studio.trainer.telemetry import EventWriter, TakesEvents

LEAVE_SECONDS = 30.0
"""A member waits so long for the others at its end."""
CLOSE_SECONDS = 5.0
SAVE_SECONDS = 300.0
"""So long a worker may take to save what it has trained once its supervisor is gone."""
WAKE_SECONDS = 1.0
_DIE_WITH_PARENT = 1
_FOLLOWING = ("UnavailableError", "AbortedError", "CancelledError", "DeadlineExceededError")
"""What TensorFlow raises in a process that has lost another."""
_FOLLOWING_WORDS = ("Collective ops", "coordination service", "CoordinationService")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a member, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_studio.trainer.cluster.member")
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--role", choices=JOBS, default="worker")
    parser.add_argument("--serves", type=int, default=0)
    for name in ("index", "count", "attempt"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("channel", "parent"):
        parser.add_argument(f"--{name}", type=int, help="none for a task of Slurm")
    chosen = parser.parse_args(arguments)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR2, all_threads=True)  # SIGUSR1 is Slurm's
    os.umask(0o077)
    forgive_full_disk()
    part = Part(chosen.role, chosen.index, serves=bool(chosen.serves))
    who = part, chosen.count, chosen.attempt
    run = RunDirectory(chosen.run)
    if chosen.channel is None:
        return MemberProcess(run, *who, mail_of(run, chosen.attempt, chosen.index)).run()
    _die_with(chosen.parent)
    return MemberProcess(run, *who, Channel(socket.socket(fileno=chosen.channel))).run()


def mail_of(run: RunDirectory, attempt: int, index: int) -> Mail:
    """The end of a worker that Slurm has started, for what it and its supervisor say."""
    folder = run.of_worker(attempt, "worker", index).path
    return Mail(folder / MAIL, folder / ASKED, FIRST_PATIENCE_S)


def _die_with(parent: int) -> None:
    """End this process with its parent, even if it is stopped then; where the kernel does that."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        _end()


def _end(status: int = 1) -> NoReturn:
    remove_own()
    os._exit(status)


class MemberProcess:
    """One process of a cluster, from its start to its end."""

    def __init__(
        self, run: RunDirectory, part: Part, count: int, attempt: int, channel: Channel | Mail
    ) -> None:
        self._run, self._part, self._count = run, part, count
        self._own = run if part.is_first else run.of_worker(attempt, part.role, part.index)
        self._channel = channel
        self._going, self._begun, self._leaving = (threading.Event() for _ in range(3))
        self._go = Go("")
        self._status = Status(channel, self._begun)
        self._place = Whereabouts()
        self._control: Control | None = None
        threading.Thread(target=self._listen, name="supervisor", daemon=True).start()

    def run(self) -> int:
        """Train with the others, and return the exit status."""
        self._status.start()
        if isinstance(self._channel, Mail):
            self._place = Whereabouts.of_task()
            signal.signal(signal.SIGUSR1, lambda _number, _frame: self._be_limited())
        before = free_memory.Look.now()
        self._channel.say(self._place.here())
        while not self._going.wait(WAKE_SECONDS):
            pass  # so that signals are heeded meanwhile
        free_memory.share(before, self._go.together)
        self._status.go()
        if self._part.serves:
            return self._served()
        file = None if self._part.is_first else EventWriter(self._own.events_file)
        if file is not None:
            self._status.refusal = lambda: file.refusal
        writer = Telling(self._status, self._tell if file is None else file.write)
        end, follows = self._trained(writer)
        if file is not None:
            writer.write(StateChanged(state=end.state))
            writer.write(end)
            file.close(CLOSE_SECONDS)
        self._status.close()
        self._channel.say(MemberEnded(end, follows))
        if not self._channel.closed:
            self._leaving.wait(LEAVE_SECONDS)
        elif isinstance(self._channel, Mail):
            return ALONE
        return 1 if isinstance(end, Failed) else 0

    def _served(self) -> int:
        """Do what the chief says until all have ended."""
        server = serve(plan.load(self._run.plan_file), self._go.config)
        self._status.wait_for_all({}, 0)
        self._status.serve()
        self._leaving.wait()
        self._status.close()
        del server
        return 0

    def _trained(self, writer: TakesEvents) -> tuple[Finished | Failed, bool]:
        """Return the end, and whether it only follows from another's."""
        control = Control(self._own, stop_now=_end, is_out_of_hand=user_code.under_way)
        context = FailureContext(tell=writer.write, hurried=lambda: True)
        self._control = control
        control.start()
        if self._status.limited:
            control.stop()
        try:
            return self._train(writer, control, context), False
        except Exception as error:  # noqa: BLE001  (whatever it was, it must be reported)
            return explain(error, context), _follows(error)
        finally:
            control.close()

    def _train(self, writer: TakesEvents, control: Control, context: FailureContext) -> Finished:
        context.plan = todo = plan.load(self._run.plan_file)
        writer.write(self._started(todo))
        for code in user_code.codes_of(todo, context.base):
            writer.write(code)
        if lost := unresolved(self._go.config):
            raise ClusterError(lost, [FIND_NAMES])
        os.environ["TF_CONFIG"] = self._go.config
        spare_proxies(self._go.config)
        environment.settle(todo)
        train_plan, team_of = _imported()
        checkpoint = Path(self._go.checkpoint) if self._go.checkpoint else None
        if self._part.role == "chief":
            chief = Chief(checkpoint, self._status, control.catch_signals)
            return train_plan(self._own, todo, writer, control, Reached(), context, chief)
        cluster = plan.cluster_of(todo)
        team = team_of(
            self._part.index,
            self._count,
            checkpoint,
            self._status,
            control.catch_signals,
            cluster.workers if cluster else None,
            shares=isinstance(self._channel, Channel),
        )
        return train_plan(self._own, todo, writer, control, Reached(), context, team)

    def _started(self, todo: plan.Plan) -> Started:
        return Started(
            run=self._run.id,
            plan=todo.name,
            pid=os.getpid(),
            host=socket.gethostname(),
            gpu_studio=__version__,
            python=platform.python_version(),
        )

    def _tell(self, event: Event) -> Event:
        self._channel.say(Relayed(cast("AnyEvent", event)))
        return event

    def _be_limited(self) -> None:
        """Slurm's time limit is near: all keep their state after the same step, and end."""
        self._status.limited = True
        if self._control is not None:
            self._control.stop()

    def _listen(self) -> None:
        while not self._channel.closed:
            for said in self._channel.hear():
                match said:
                    case Go():
                        if isinstance(self._channel, Mail):
                            self._channel.be_patient(PATIENCE_S)
                        self._go = said
                        self._going.set()
                    case Begin():
                        self._begun.set()
                    case Leave():
                        self._leaving.set()
                    case Over():
                        _end()
        if not self._leaving.is_set():
            with suppress(OSError):
                sys.stderr.write("The run's supervisor has ended, and so does this worker.\n")
            if isinstance(self._channel, Mail) and self._control is not None:
                # On another machine nothing ends it with its supervisor: it can save before.
                self._control.stop()
                self._leaving.wait(SAVE_SECONDS)
            _end(ALONE if isinstance(self._channel, Mail) else 1)


def _imported() -> tuple[Callable[..., Finished], Callable[..., object]]:
    """Import TensorFlow, and return what trains and what makes the team.

    Garbage collections meanwhile would take a fifth of the time and free nothing.
    """
    gc.disable()
    try:
        from gpu_studio.trainer.cluster.clustered import Clustered
        from gpu_studio.trainer.training import train_plan
    finally:
        gc.freeze()
        gc.enable()
    return train_plan, Clustered


def _follows(error: BaseException | None) -> bool:
    """Whether the error is TensorFlow's about another process that is gone."""
    while error is not None:
        words = str(error)
        if type(error).__name__ in _FOLLOWING or any(each in words for each in _FOLLOWING_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    leave(main())
