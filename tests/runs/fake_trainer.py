"""A real, small trainer process.

It speaks the whole protocol of a run directory, and trains nothing.

It holds the lock, writes events, obeys commands, checkpoints, resumes, and can end in every way a
trainer can end. Its loss is 1 / (step + 1), so what was trained can be told from the curve."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Literal

from gpu_studio.common.processes import take_signals
from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import CommandReader, RunDirectory
from gpu_studio.trainer.telemetry import EventWriter

BATCH = 10
FAILED_CHECK = "F0000 00:00:1763665200.000000    12 pool.cc:12] Check failed: pool != nullptr "
Reason = Literal["completed", "stopped", "stopped_now"]


class Hologram(events.Event, tag="hologram", frozen=True):
    """An event of a version that is not written yet."""

    colour: str


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5, help="steps in an epoch")
    parser.add_argument("--seconds-per-step", type=float, default=0.001)
    parser.add_argument(
        "--hold-at", type=int, default=-1, help="train no further than this step until stopped"
    )
    parser.add_argument("--until", type=Path, help="or until there is this file")
    parser.add_argument("--checkpoint-every", type=int, default=0)
    parser.add_argument("--fail-at", type=int, default=-1)
    parser.add_argument("--crash-at", type=int, default=-1, help="a segmentation fault")
    parser.add_argument(
        "--abort-at", type=int, default=-1, help="a failed check, as TensorFlow's C++ does it"
    )
    parser.add_argument("--last-words", default="", help="what it prints before it aborts")
    parser.add_argument("--print-mib", type=int, default=0, help="so much output at the start")
    parser.add_argument(
        "--long-line", type=int, default=0, help="a log event of so many characters at the start"
    )
    parser.add_argument(
        "--later-version", action="store_true", help="tell an event that this version does not know"
    )
    parser.add_argument("--vanish-at", type=int, default=-1, help="end without a word")
    parser.add_argument(
        "--raise-at-start", action="store_true", help="a traceback before the first event"
    )
    parser.add_argument("--lock-timeout", type=float, default=2.0)
    parser.add_argument("--deaf", action="store_true", help="read no commands")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--linger", action="store_true", help="stay after the last word")
    parser.add_argument("--child", action="store_true", help="leave a child that outlives it")
    parser.add_argument("--mute", action="store_true", help="hold the lock, write nothing")
    return parser.parse_args(arguments)


class FakeTrainer:
    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.run = RunDirectory(chosen.run)
        self.lock = lock.take(self.run.lock_file, chosen.lock_timeout)
        self.events = EventWriter(self.run.events_file)
        self.commands = CommandReader(self.run.commands_file)
        self.tick = threading.Event()
        self.step = 0
        self.began = time.monotonic()
        self.terminated = False

    def train(self) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN if self.chosen.ignore_term else self.terminate)
        take_signals()
        if self.chosen.child:
            child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
            print("child", child.pid, flush=True)
        self.start()
        while self.step < self.chosen.epochs * self.chosen.steps:
            if stopped := self.obey():
                return self.finish(stopped)
            if self.step == self.chosen.hold_at and not self.may_go_on:
                self.tick.wait(0.005)
            else:
                self.train_step()
        return self.finish("completed")

    @property
    def may_go_on(self) -> bool:
        return self.chosen.until is not None and self.chosen.until.exists()

    def terminate(self, number: int, frame: object) -> None:
        self.terminated = True

    def start(self) -> None:
        from_epoch, from_step, parent = self.inherited()
        self.step = from_step
        self.tell(
            events.Started(
                run=self.run.id, plan="a plan", pid=os.getpid(), host=socket.gethostname(),
                gpu_studio="0", python="3", resumed_from=parent, from_epoch=from_epoch,
                from_step=from_step,
            )
        )  # fmt: skip
        self.tell(events.Devices(logical=[events.LogicalDevice(name="CPU:0", physical="CPU:0")],
                                 replicas=["CPU:0"], strategy="none"))  # fmt: skip
        self.tell(
            events.Model(
                name="m", parameters=1, trainable=1, layers=[], data="d",
                train_samples=BATCH * self.chosen.steps, validation_samples=0, test_samples=0,
                epochs=self.chosen.epochs, steps_per_epoch=self.chosen.steps, global_batch=BATCH,
                replica_batches=[BATCH], optimizer="sgd", loss="mse", precision="float32",
            )
        )  # fmt: skip
        self.tell(events.StateChanged(state="running"))
        self.say_much()

    def say_much(self) -> None:
        """What a user's own code may print, and a later version tell."""
        line = "x" * 1023 + "\n"
        for _ in range(self.chosen.print_mib):
            sys.stdout.write(line * 1024)
        if self.chosen.print_mib:
            print("nothing more to say", flush=True)
        if self.chosen.long_line:
            self.tell(events.Log(message="y" * self.chosen.long_line))
        if self.chosen.later_version:
            self.tell(Hologram(colour="blue"))

    def inherited(self) -> tuple[int, int, str | None]:
        if not self.run.resume_file.exists():
            return 0, 0, None
        note = json.loads(self.run.resume_file.read_text())
        state = json.loads((self.run.checkpoints / note["checkpoint"] / "state.json").read_text())
        return state["epoch"], state["step"], note["run"]

    def tell(self, event: events.Event) -> None:
        if not self.chosen.mute:
            self.events.write(event)

    def obey(self) -> Reason | None:
        """Do what was asked for; returns the reason to stop, if that was."""
        if self.terminated:
            self.checkpoint()
            return "stopped"
        for command in [] if self.chosen.deaf else self.commands.read():
            if command.action == "stop_now":
                return "stopped_now"
            if command.action == "stop":
                self.tell(events.StateChanged(state="stopping"))
                self.checkpoint()
                return "stopped"
            if command.action == "checkpoint":
                self.checkpoint()
            if command.action == "pause":
                self.pause()
        return None

    def pause(self) -> None:
        self.tell(events.StateChanged(state="paused"))
        while not any(command.action == "resume" for command in self.commands.read()):
            self.tick.wait(0.005)
        self.tell(events.StateChanged(state="running"))

    def train_step(self) -> None:
        self.end_badly()
        self.tick.wait(self.chosen.seconds_per_step)
        epoch = self.step // self.chosen.steps + 1
        self.tell(
            events.Steps(epoch=epoch, first_step=self.step, losses=[1 / (self.step + 1)],
                         samples=BATCH, seconds=max(0.001, self.chosen.seconds_per_step))
        )  # fmt: skip
        self.tell(
            events.Memory(
                devices=[
                    events.DeviceMemory(
                        device="CPU:0", current=1 << 20, peak=2 << 20, source="host"
                    )
                ]
            )
        )
        self.step += 1
        if self.chosen.checkpoint_every and self.step % self.chosen.checkpoint_every == 0:
            self.checkpoint()
        if self.step % self.chosen.steps == 0:
            metrics: dict[str, float | None] = {
                "loss": 1 / self.step,
                "val_loss": 2 / self.step,
                "val_accuracy": 1 - 1 / self.step,
            }
            self.tell(
                events.Epoch(
                    epoch=epoch, step=self.step, metrics=metrics, seconds=1, samples_per_second=10
                )
            )

    def end_badly(self) -> None:
        if self.step == self.chosen.crash_at:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.step == self.chosen.abort_at:
            words = self.chosen.last_words or FAILED_CHECK
            print(words, file=sys.stderr, flush=True)
            os.abort()
        if self.step == self.chosen.vanish_at:
            os._exit(3)
        if self.step == self.chosen.fail_at:
            raise RuntimeError("the data has a hole")

    def checkpoint(self) -> None:
        name = f"step-{self.step:08}"
        hidden = self.run.checkpoints / f".tmp-{name}"
        hidden.mkdir(parents=True)
        (hidden / "weights.npz").write_bytes(b"weights of " + name.encode())
        state = {
            "epoch": self.step // self.chosen.steps,
            "step": self.step,
            "best": False,
            "value": None,
        }
        (hidden / "state.json").write_text(json.dumps(state))
        hidden.rename(self.run.checkpoints / name)
        self.tell(
            events.Checkpoint(name=name, epoch=state["epoch"], step=self.step, bytes=16, seconds=0)
        )

    def finish(self, reason: Reason) -> int:
        seconds = time.monotonic() - self.began
        epoch = self.step // self.chosen.steps
        self.tell(
            events.Finished(
                reason=reason, seconds=seconds, epoch=epoch, step=self.step, metrics={"loss": 0.5}
            )
        )
        self.events.close()
        while self.chosen.linger:
            self.tick.wait()
        return 0

    def fail(self, error: Exception) -> int:
        self.tell(
            events.Failed(
                message=f"Training broke: {error}.",
                suggestions=["Mend the data."],
                traceback="Traceback …",
            )
        )
        self.events.close()
        return 1


def main() -> int:
    chosen = options(sys.argv[1:])
    if chosen.raise_at_start:
        raise ModuleNotFoundError("No module named 'tensorflow'")
    trainer = FakeTrainer(chosen)
    try:
        return trainer.train()
    except RuntimeError as error:
        return trainer.fail(error)


if __name__ == "__main__":
    sys.exit(main())
