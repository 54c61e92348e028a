"""Stands for a member of a cluster, without TensorFlow: it says what a test wants of its worker.

`FAKE_MEMBERS` holds JSON: for each worker's index what it does, as `attempt.index` or `index`:

    heeds           trains two steps, and stops when SIGTERM asks it to
    silent          never says that it is there
    leaves          ends with status 3 before it is there
    dawdles         speaks, and is never ready
    older           has another version than all others
    other           is ready with other digests than all others
    fails           trains two steps, and then fails by itself
    follows         fails as TensorFlow does where another worker is gone
    stops           trains two steps, and then stops itself, as SIGSTOP does
    dies            trains two steps, and then kills itself
    full            has a full disk at the end, until there is a file `told` in the run's folder
    awaits          trains to the end only once somebody's disk is no longer full
    trains          (otherwise) trains to the end of `FAKE_STEPS` steps

With servers the keys are titles, `attempt.worker 1` or `worker 1`. Those that serve do so, unless:

    dies            kills itself when all begin, the first time; the next one serves
    awaits          (the chief) trains to the end only once somebody has died, and is back
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import WorkerShare
from gpu_studio.contract.events import Failed, Finished, Steps
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
    Shared,
)

STEPS = 6
FULL = os.strerror(errno.ENOSPC)


def _channel(chosen: argparse.Namespace) -> Any:
    """That of a process of the supervisor's own, or of a task of Slurm."""
    if chosen.channel is not None:
        return Channel(socket.socket(fileno=chosen.channel))
    from gpu_studio.trainer.cluster import mail
    from gpu_studio.trainer.cluster.member import mail_of

    vars(mail)["POLL_S"] = 0.1
    return mail_of(RunDirectory(chosen.run), chosen.attempt, chosen.index)


class FakeMember:
    """One of them."""

    def __init__(self) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("run", type=Path)
        parser.add_argument("--role")
        parser.add_argument("--serves", type=int)
        for name in ("index", "count", "attempt", "channel", "parent"):
            parser.add_argument(f"--{name}", type=int)
        self.chosen = parser.parse_args()
        self.channel = _channel(self.chosen)
        self.unheard: list[object] = []
        """What came along with what it waited for: all may have ended before it hears that they
        begin."""
        wanted = json.loads(os.environ["FAKE_MEMBERS"])
        index, attempt = self.chosen.index, self.chosen.attempt
        doing = [
            wanted.get(f"{attempt}.{each}", wanted.get(str(each), "trains"))
            for each in range(self.chosen.count)
        ]
        self.does, self.all_train = doing[index], set(doing) <= {"trains", "full", "awaits"}
        self.died, self.back, self.told = (self.chosen.run / n for n in ("died", "back", "told"))
        if self.chosen.role == "chief" or self.chosen.serves:
            title = "chief" if self.chosen.role == "chief" else f"{self.chosen.role} {index}"
            self.does = wanted.get(f"{attempt}.{title}", wanted.get(title, "trains"))
            self.all_train = self.does in ("trains", "awaits")

    def wait(self, kind: type) -> object:
        """Until the supervisor says something of this kind; end if it is gone."""
        while self.unheard or not self.channel.closed:
            while self.unheard:
                if isinstance(said := self.unheard.pop(0), kind):
                    return said
            self.unheard += self.channel.hear()
        sys.exit(9)

    def here(self) -> Here:
        """Where it is, with what."""
        self.asked = threading.Event()
        if self.does == "heeds":
            signal.signal(signal.SIGTERM, lambda _number, _frame: self.asked.set())
        node, version = os.environ.get("SLURMD_NODENAME", ""), "1" if self.does != "older" else "0"
        return Here(os.getpid(), socket.gethostname(), node, versions={"TensorFlow": version})

    def run(self) -> int:
        """Do what is wanted."""
        if self.does == "silent":
            self.wait(Leave)
        if self.does == "leaves":
            sys.stderr.write("no such library\n")
            return 3
        self.channel.say(self.here())
        go = self.wait(Go)
        assert isinstance(go, Go)
        alone = self.chosen.role == "chief" or self.chosen.serves
        assert go.together == (1 if alone else self.chosen.count), "who holds the data here"
        if self.does == "dawdles":
            threading.Thread(target=self.beat, daemon=True).start()
            self.wait(Leave)
        step = int(Path(go.checkpoint).name.partition("-")[2]) if go.checkpoint else 0
        data = "unlike" if self.does == "other" else "alike"
        self.channel.say(Ready(step, {"data": data}))
        self.wait(Begin)
        return self.serve() if self.chosen.serves else self.train(step)

    def serve(self) -> int:
        """Do what a chief says, which is nothing here."""
        if self.does == "dies" and not self.died.exists():
            self.died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does == "dies":
            self.back.touch()
        threading.Thread(target=self.beat, daemon=True).start()
        self.wait(Leave)
        return 0

    def train(self, step: int) -> int:
        """Train from a step on."""
        for number in range(step, STEPS):
            self.channel.say(
                Heartbeat("training", number + 1, 0.01, 0.01 * self.chosen.index, 1000)
            )
            if self.chosen.index == 0:
                losses: list[float | None] = [1.0 / (number + 1)]
                told = Steps(epoch=1, first_step=number, losses=losses, samples=8, seconds=0.02)
                self.channel.say(Relayed(told))
            if number == step + 1 and not self.all_train:
                self.break_off()
        while self.does == "awaits" and not self.back.exists():
            self.channel.say(Heartbeat("training", STEPS, 0.0, 0.0, None))
            time.sleep(0.05)
        if self.chosen.role == "chief":
            shares = [WorkerShare(index=each, steps=3 + each) for each in range(self.chosen.count)]
            self.channel.say(Shared(shares, [512]))
        if self.does == "full":
            while not self.told.exists():
                self.channel.say(Heartbeat("training", STEPS, 0.01, 0.01, None, refusal=FULL))
                time.sleep(0.05)
            self.channel.say(Heartbeat("training", STEPS, 0.01, 0.01, None))
            self.back.touch()
        end = Finished(reason="completed", seconds=1.0, epoch=1, step=STEPS)
        self.channel.say(MemberEnded(end))
        self.wait(Leave)
        return 0

    def be_stopped(self) -> None:
        """Speak until somebody asks for a stop, and end by that."""
        while not self.asked.wait(0.2):
            self.channel.say(Heartbeat("training", 2, 0.01, 0.01, 1000))
        end = Finished(reason="stopped", seconds=1.0, epoch=0, step=2)
        self.channel.say(MemberEnded(end))
        self.wait(Leave)
        sys.exit(0)

    def beat(self) -> None:
        """Say twice a second that it lives."""
        while self.channel.say(Heartbeat("training", 2, 0.01, 0.01, 1000)):
            time.sleep(0.5)

    def break_off(self) -> None:
        """End the training as is wanted; others wait for who does, as in a sum of gradients."""
        if self.does == "trains":
            threading.Thread(target=self.beat, daemon=True).start()
            self.wait(Leave)
        if self.does == "heeds":
            self.be_stopped()
        if self.does == "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.does == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        words = "The loss is nan." if self.does == "fails" else "Connection reset by peer"
        failed = Failed(message=words, suggestions=["Think."], kind="not_finite")
        self.channel.say(MemberEnded(failed, follows=self.does == "follows"))
        self.wait(Leave)


if __name__ == "__main__":
    sys.exit(FakeMember().run())
