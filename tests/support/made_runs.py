"""Run directories as a trainer leaves them, without training: plausible events with chosen times.

An hour of events needs no hour. The numbers come from a seed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from gpu_studio.contract import events
from gpu_studio.contract.directory import ResumedFrom, RunDirectory
from gpu_studio.contract.events import DeviceMemory, Event, LogicalDevice
from gpu_studio.contract.files import append_line, write_private

MIB = 1024 * 1024
TESTED = {"test_loss": 0.131, "test_sparse_categorical_accuracy": 0.962}
TRACEBACK = (
    'Traceback (most recent call last):\n  File "loop.py", line 41, in '
    "step\nResourceExhaustedError: OOM"
)
Ending = Literal["none", "completed", "stopped", "failed"]


@dataclass
class Script:
    """What the run shall have been.

    `steps` are steps an epoch; a call is `per_call` steps and takes `call_seconds`.

    `per_card` devices are carved from each card, and `identities` has the UUID and PCI address of
    `GPU:0`, `GPU:1` … The first `resumed_at` of the epochs `trained` were trained by another run.
    """

    name: str = "digits on four devices"
    devices: int = 4
    kind: Literal["GPU", "CPU"] = "GPU"
    limit_mib: int | None = 1024
    per_card: int = 1
    identities: Sequence[tuple[str | None, str | None]] = ()
    epochs: int = 30
    trained: float = 20.6
    resumed_at: int = 0
    steps: int = 200
    per_call: int = 10
    call_seconds: float = 0.1
    ending: Ending = "none"
    warning_at: float = 0.45
    ago: float = 0.0
    nan_at: int = -1
    seed: int = 1
    practice: str = ""


class RunMaker:
    """Tells the events of a script, one after another, each with its time."""

    def __init__(self, script: Script, run: RunDirectory) -> None:
        self.script, self.run = script, run
        self.random = np.random.default_rng(script.seed)
        self.calls_an_epoch = script.steps // script.per_call
        self.calls = round(script.trained * self.calls_an_epoch)
        self.begin = script.resumed_at * self.calls_an_epoch
        self.length = (self.calls - self.begin) * script.call_seconds + 2.0
        self.now = time.time() - script.ago - self.length
        self.first = self.now
        self.sequence = 0
        self.kept: list[str] = []

    def told(self) -> Iterator[bytes]:
        """Each event as a line."""
        for event in self.events():
            yield events.encode(replace(event, seq=self.sequence, time=self.now))
            self.sequence += 1

    def events(self) -> Iterator[Event]:
        yield from self.beginning()
        for call in range(self.begin, self.calls):
            self.now += self.script.call_seconds
            yield from self.call(call)
        yield from self.ending()

    def beginning(self) -> Iterator[Event]:
        script = self.script
        yield events.Started(
            run=self.run.id, plan=script.name, pid=1, host="here", gpu_studio="0", python="3.11",
            from_epoch=script.resumed_at, from_step=script.resumed_at * script.steps,
            practice=script.practice,
        )  # fmt: skip
        self.now += 1.4
        names = [f"{script.kind}:{index}" for index in range(script.devices)]
        logical = [self.logical(index) for index in range(script.devices)]
        yield events.Devices(
            logical=logical,
            replicas=names,
            strategy="mirrored",
            all_reduce="ring",
            tensorflow="2.21",
        )
        yield events.Model(
            name="mlp", parameters=335_114, trainable=335_114, layers=[], data="digits",
            train_samples=script.steps * 256, validation_samples=150, test_samples=180,
            epochs=script.epochs, steps_per_epoch=script.steps, global_batch=256,
            replica_batches=[256 // script.devices] * script.devices, optimizer="adam",
            loss="sparse_categorical_crossentropy", precision="float32",
        )  # fmt: skip
        yield self.memory(0.02)
        self.now += 0.6
        yield events.StateChanged(state="running")

    def logical(self, index: int) -> LogicalDevice:
        script = self.script
        if script.kind == "CPU":
            return events.LogicalDevice(name=f"CPU:{index}", physical="CPU:0")
        card = index // script.per_card
        uuid, bus_id = script.identities[card] if card < len(script.identities) else (None, None)
        return events.LogicalDevice(
            name=f"GPU:{index}",
            physical=f"GPU:{card}",
            limit_mib=script.limit_mib,
            uuid=uuid,
            bus_id=bus_id,
        )

    def call(self, call: int) -> Iterator[Event]:
        script, first = self.script, call * self.script.per_call
        part = call / max(self.calls_an_epoch * script.epochs, 1)
        losses = [self.loss(part) for _ in range(script.per_call)]
        if first <= script.nan_at < first + script.per_call:
            losses[script.nan_at - first] = None
        waited = script.call_seconds * (0.03 + 0.02 * self.random.random())
        yield events.Steps(
            epoch=first // script.steps + 1, first_step=first, losses=losses,
            samples=256 * script.per_call, seconds=script.call_seconds * 0.98, input_seconds=waited,
        )  # fmt: skip
        yield events.LearningRate(step=first, value=0.001 * (1 - 0.8 * part))
        if call % max(round(0.5 / script.call_seconds), 1) == 0:
            yield self.memory(0.6 + 0.01 * np.sin(call / 7))
        if script.warning_at and call == round(script.warning_at * self.calls):
            yield events.Warned(
                message="Input took 41 % of this epoch.", suggestion="Raise the batch size."
            )
        if (call + 1) % self.calls_an_epoch == 0:
            yield from self.epoch_end((call + 1) // self.calls_an_epoch, part)

    def loss(self, part: float) -> float | None:
        return float((0.08 + 2.2 * np.exp(-7 * part)) * (1 + 0.12 * self.random.standard_normal()))

    def epoch_end(self, epoch: int, part: float) -> Iterator[Event]:
        base = 0.08 + 2.2 * np.exp(-7 * part)
        metrics = {
            "loss": base, "sparse_categorical_accuracy": 1 - base / 3.2,
            "val_loss": base * 1.1 + 0.02, "val_sparse_categorical_accuracy": 1 - base / 2.9,
        }  # fmt: skip
        step = epoch * self.script.steps
        yield events.Epoch(
            epoch=epoch, step=step, metrics=metrics, seconds=2.0, samples_per_second=25_600
        )
        yield self.checkpoint(epoch, step, metrics["val_loss"])

    def checkpoint(self, epoch: int, step: int, value: float) -> Event:
        name = f"step-{step:08}"
        folder = self.run.checkpoints / name
        folder.mkdir(parents=True, mode=0o700)
        write_private(folder / "weights.npz", b"weights")
        state = {
            "epoch": epoch,
            "step": step,
            "step_in_epoch": 0,
            "monitor": "val_loss",
            "value": value,
            "best": True,
        }
        write_private(folder / "state.json", json.dumps(state).encode())
        self.kept.append(name)
        gone, self.kept = self.kept[:-3], self.kept[-3:]
        for old in gone:
            for file in (self.run.checkpoints / old).iterdir():
                file.unlink()
            (self.run.checkpoints / old).rmdir()
        return events.Checkpoint(
            name=name,
            epoch=epoch,
            step=step,
            bytes=1_430_000,
            seconds=0.011,
            best=True,
            value=value,
            removed=gone,
        )

    def memory(self, share: float) -> Event:
        script = self.script
        if script.kind == "CPU":
            own = [
                self.device(f"CPU:{index}", int(1.4 * MIB), "variables")
                for index in range(script.devices)
            ]
            return events.Memory(
                devices=[*own, self.device("host", int(190 * share * MIB), "host")]
            )
        size = (script.limit_mib or 1024) * MIB
        used = [int(size * share * (0.9 + 0.06 * index)) for index in range(script.devices)]
        return events.Memory(
            devices=[
                self.device(f"GPU:{index}", now, "allocator", size if script.limit_mib else None)
                for index, now in enumerate(used)
            ]
        )

    def device(
        self,
        name: str,
        current: int,
        source: Literal["allocator", "host", "variables"],
        limit: int | None = None,
    ) -> DeviceMemory:
        return events.DeviceMemory(
            device=name, current=current, peak=int(current * 1.05), source=source, limit=limit
        )

    def ending(self) -> Iterator[Event]:
        self.now += 0.3
        match self.script.ending:
            case "failed":
                yield events.Failed(
                    message=(
                        "GPU:2 ran out of memory: it asked for 412 MiB, and 231 "
                        "MiB of its 1 024 MiB were free."
                    ),
                    suggestions=[
                        "Halve training.batch_size.",
                        "Give GPU:2 a larger slice.",
                        "Use mixed precision.",
                    ],
                    traceback=TRACEBACK,
                    device="GPU:2",
                    kind="out_of_memory",
                )
            case "completed" | "stopped" as reason:
                step = self.calls * self.script.per_call
                epoch = step // self.script.steps
                metrics: dict[str, float | None] = (
                    {"test_loss": 0.131, "test_sparse_categorical_accuracy": 0.962}
                    if reason == "completed"
                    else {}
                )
                yield events.Finished(
                    reason=reason, seconds=self.length, epoch=epoch, step=step, metrics=metrics
                )


def make_run(runs: Path, script: Script | None = None) -> RunDirectory:
    """The directory of a run that has gone as the script says. Nobody holds its lock."""
    script = script or Script()
    run = RunDirectory.create(runs, script.name)
    write_private(run.plan_file, f'version = 1\nname = "{script.name}"\n'.encode())
    write_private(
        run.log_file,
        "".join(
            f"2026-11-20 14:02:{n:02}: I tensorflow/core: line {n}\n" for n in range(40)
        ).encode(),
    )
    maker = RunMaker(script, run)
    write_private(run.events_file, b"".join(maker.told()))
    return run


def make_resumed(parent: RunDirectory, script: Script) -> RunDirectory:
    """A run beside `parent` that goes on from it at the end of the epoch in the script."""
    run = make_run(parent.path.parent, script)
    step = script.resumed_at * script.steps
    note = ResumedFrom(parent.id, f"step-{step:08}", script.resumed_at, step)
    write_private(run.resume_file, msgspec.json.encode(note))
    return run


def tell(run: RunDirectory, *happened: Event) -> None:
    """Let a run that is being watched go on: append these events, with the time as it is."""
    first = len(run.events_file.read_bytes().splitlines())
    for number, event in enumerate(happened, first):
        append_line(run.events_file, events.encode(replace(event, seq=number, time=time.time())))
