"""One member as its supervisor sees it: its process, what it said last, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from gpu_studio.common.processes import module_command
from gpu_studio.common.safe_files import open_regular
from gpu_studio.contract import (
    RunDirectory,
    WorkerShare,
    WorkerStage,
    WorkerState,
    kernel,
    last_lines,
    make_own_directory,
)
from gpu_studio.contract.cluster_file import ClusterMember
from gpu_studio.hosts.slurm_run import MEMBER
from gpu_studio.trainer.cluster.channel import (
    Begin,
    Channel,
    Go,
    Heartbeat,
    Here,
    Leave,
    MemberEnded,
    Ready,
    Relayed,
    Said,
    Shared,
    pair,
)
from gpu_studio.trainer.cluster.mail import Mail
from gpu_studio.trainer.cluster.ports import LOCAL
from gpu_studio.trainer.cluster.roles import Part
from gpu_studio.trainer.cluster.whereabouts import NO_PROXY

LOG_BYTES = 1 << 16


class Worker:
    """A process of a cluster, started by this one."""

    def __init__(self, run: RunDirectory, part: Part, count: int, attempt: int) -> None:
        """Start it, one of `count` workers. Raises OSError."""
        self.part, self._run = part, run
        self.own = run if part.is_first else run.of_worker(attempt, part.role, part.index)
        self.address, self.lost, self._ended_here = "", False, False
        self.reported_refusal = ""
        """Why its disk takes no more, if that is known."""
        self.here: Here | None = None
        self.ready: Ready | None = None
        self.ended: MemberEnded | None = None
        self.going, self.begun, self._dismissed = False, False, False
        self.shared: Shared | None = None
        """What it has reported as the chief."""
        self.share: WorkerShare | None = None
        self.held: int | None = None
        self.beat = Heartbeat("absent", 0, 0.0, 0.0, None)
        self.began = self.heard = time.monotonic()
        self.channel: Channel | Mail = self._begun(count, attempt)

    def _begun(self, count: int, attempt: int) -> Channel | Mail:
        """Start its process; return the channel to it."""
        mine, other = pair()
        with other:
            part = self.part
            numbers: dict[str, int | str] = {"role": part.role, "index": part.index}
            numbers |= {"serves": int(part.serves), "count": count, "attempt": attempt}
            numbers |= {"channel": other.fileno(), "parent": os.getpid()}
            self.process = self._start(numbers, other.fileno())
        return mine

    def _start(self, numbers: dict[str, int | str], descriptor: int) -> subprocess.Popen[bytes]:
        options = [f"--{name}={number}" for name, number in numbers.items()]
        command = [*module_command(MEMBER), *options, str(self._run.path)]
        if not self.part.is_first:
            make_own_directory(self.own.path.parent)
            make_own_directory(self.own.path)
        # What the first prints is the run's: this process has the run's log as its own output.
        log = (
            None
            if self.part.is_first
            else open_regular(self.own.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        )
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(descriptor,),
                env={**os.environ, NO_PROXY: spared(os.environ.get(NO_PROXY, ""))},
            )
        finally:
            if log is not None:
                os.close(log)

    @property
    def title(self) -> str:
        """Its name for a person."""
        return self.part.title

    @property
    def silent(self) -> float:
        """Seconds since it was last heard."""
        return time.monotonic() - self.heard

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has stopped the process, so that it does nothing."""
        with suppress(psutil.Error):
            return psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED
        return False

    @property
    def status(self) -> int | None:
        """How its process ended, negative for a signal; None while it lives."""
        return self.process.poll()

    def hear(self) -> list[Relayed]:
        """Take note of what it says; return the events among that."""
        return self._noted(self.channel.hear())

    def _noted(self, what: Iterable[Said]) -> list[Relayed]:
        relayed = []
        for said in what:
            self.heard = time.monotonic()
            match said:
                case Here():
                    self.here = said
                case Ready():
                    self.ready = said
                case Heartbeat():
                    self.beat = said
                case MemberEnded():
                    self.ended = said
                case Shared():
                    self.shared = said
                case Relayed():
                    relayed.append(said)
        return relayed

    def go(self, config: str, checkpoint: str, together: int) -> None:
        """All are there: let it begin TensorFlow, with this TF_CONFIG; see `Go`."""
        self.going = True
        self.channel.say(Go(config, checkpoint, together))

    def begin(self) -> None:
        """All are ready: let it train."""
        self.begun = True
        self.channel.say(Begin())

    def dismiss(self) -> None:
        """All have ended: let it go."""
        self._dismissed = True
        self.channel.say(Leave())

    def why_gone(self) -> str:
        """How the process ended without a word, in a clause; empty while it lives or after one."""
        status = self.status
        if status is None or self.ended is not None:
            return ""
        if status >= 0:
            return f"ended with exit status {status}"
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"was ended by {name}"

    def terminate(self) -> bool:
        """Ask it to stop; return whether it, or whoever passes it on, has been told."""
        with suppress(OSError):
            self.process.send_signal(signal.SIGTERM)
        return True

    def wait(self, seconds: float) -> None:
        """Wait for its end, no longer than this."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=seconds)

    def end(self) -> None:
        """End it now, and wait until it is gone."""
        self._ended_here = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        self.channel.close()

    def state(self) -> WorkerState:
        """What it does now."""
        return WorkerState(
            role=self.part.role,
            index=self.part.index,
            state=self._stage(),
            step=self.beat.step,
            compute=self.beat.compute,
            wait=self.beat.wait,
            memory=self.beat.memory if self.held is None else self.held,
            seen=round(self.silent, 1),
            refusal=self.beat.refusal,
            share=self.share,
        )

    def _stage(self) -> WorkerStage:
        if self.ended is not None:
            return "ended"
        if self.lost:
            return "lost"
        if self.status is not None:
            return "ended" if self._ended_here or self._dismissed else "lost"
        return self.beat.state if self.here is not None else "absent"

    def member(self) -> ClusterMember:
        """Who it is."""
        pid = self.process.pid
        folder = "" if self.part.is_first else str(self.own.path.relative_to(self._run.path))
        return ClusterMember(
            role=self.part.role,
            index=self.part.index,
            host=os.uname().nodename,
            pid=pid,
            address=self.address,
            folder=folder,
            started=kernel.started(pid),
            boot=kernel.boot_id(),
        )


def spared(already: str) -> str:
    """What gRPC reaches without a proxy: `already`, and the workers of this machine.

    It obeys `http_proxy` even for them, and waits in silence for what no proxy can reach.
    """
    return ",".join(filter(None, (already, LOCAL)))


def last_words(path: Path, most: int = 3) -> str:
    """The last lines of a worker's log that say something."""
    with suppress(OSError):
        lines = [line.decode("utf-8", "replace") for line in last_lines(path, LOG_BYTES)]
        return "\n".join([line for line in lines if line.strip()][-most:])
    return ""
