"""Runs of any length as a trainer leaves them, made in seconds.

Their lines are those of the real writers.

Of a training that never was: the times are chosen, the numbers come from a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from gpu_studio.contract import events, samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Event
from gpu_studio.contract.files import write_private

MIB = 1024 * 1024
BEGIN = 1_700_000_000.0
CALL_SECONDS = 0.1
CALLS_A_MEMORY = 5
CARD_MIB = 80_000


@dataclass(frozen=True)
class Training:
    """So many steps in calls of `per_call`, ten calls a second, on so many devices.

    An epoch is `calls_an_epoch`.

    It is to have `epochs`; with 0 it ends when it has trained these steps.
    """

    steps: int
    per_call: int = 100
    devices: int = 16
    calls_an_epoch: int = 600
    epochs: int = 0
    begin: float = BEGIN
    seed: int = 1

    @property
    def calls(self) -> int:
        """How often the compiled function is called."""
        return self.steps // self.per_call

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.calls * CALL_SECONDS

    def moment(self, call: int) -> float:
        """When a call ends."""
        return self.begin + 2.0 + (call + 1) * CALL_SECONDS


def write_run(
    run: RunDirectory, training: Training, *, ended: bool = True, recorded: bool = False
) -> None:
    """Fill the directory of a run.

    Its plan, its events, and with `recorded` the machine each second.
    """
    write_private(run.plan_file, b'version = 1\nname = "a long run"\n')
    write_private(run.events_file, b"")
    with run.events_file.open("ab", buffering=MIB) as file:
        file.writelines(told(training, run.id, ended=ended))
    if recorded:
        write_private(run.hardware_file, b"")
        with run.hardware_file.open("ab", buffering=MIB) as file:
            file.writelines(recording(training))


def told(training: Training, run: str = "run", *, ended: bool = True) -> Iterator[bytes]:
    """The lines of a run's events, in order."""
    for sequence, event in enumerate(_events(training, run, ended=ended)):
        yield line(training, event, sequence)


def line(training: Training, event: Event, sequence: int) -> bytes:
    """The line of an event, as the real writer completes it."""
    elapsed = round(event.time - training.begin, 6)
    return events.encode(replace(event, seq=sequence, elapsed=elapsed))


def call(training: Training, number: int, random: np.random.Generator) -> Iterator[Event]:
    """What is told of one call of the compiled function."""
    now, first = training.moment(number), number * training.per_call
    yield events.Steps(
        epoch=number // training.calls_an_epoch + 1, first_step=first,
        losses=losses(training, number, random), samples=256 * training.per_call,
        seconds=0.98 * CALL_SECONDS, input_seconds=0.003, time=now,
    )  # fmt: skip
    if number % CALLS_A_MEMORY == 0:
        yield memory(training, now, random)
    if (number + 1) % training.calls_an_epoch == 0:
        yield epoch_end(training, (number + 1) // training.calls_an_epoch, now)


def losses(training: Training, number: int, random: np.random.Generator) -> list[float | None]:
    """The losses of a call; a trainer's are numbers of 32 bits, written as 64 have them."""
    height = 0.08 + 2.2 * np.exp(-7 * number / max(training.calls, 1))
    noisy = height * (1 + 0.12 * random.standard_normal(training.per_call))
    found: list[float | None] = noisy.astype(np.float32).astype(np.float64).tolist()
    return found


def memory(training: Training, now: float, random: np.random.Generator) -> Event:
    """What each device uses."""
    used = (
        (CARD_MIB * MIB * (0.5 + 0.2 * random.random(training.devices))).astype(np.int64).tolist()
    )
    return events.Memory(
        time=now,
        devices=[
            events.DeviceMemory(
                device=f"GPU:{place}", current=now_used, peak=CARD_MIB * MIB * 7 // 10,
                source="allocator", limit=CARD_MIB * MIB,
            )
            for place, now_used in enumerate(used)
        ],
    )  # fmt: skip


def epoch_end(training: Training, epoch: int, now: float) -> Event:
    """The end of an epoch, with two metrics of both splits."""
    height = 0.08 + 2.2 * np.exp(-7 * epoch * training.calls_an_epoch / max(training.calls, 1))
    accuracy = "sparse_categorical_accuracy"
    metrics = {
        "loss": height,
        accuracy: 1 - height / 3,
        "val_loss": height * 1.1,
        f"val_{accuracy}": 1 - height / 2.9,
    }
    return events.Epoch(
        epoch=epoch, step=epoch * training.calls_an_epoch * training.per_call, metrics=metrics,
        time=now, seconds=training.calls_an_epoch * CALL_SECONDS, samples_per_second=256_000.0,
    )  # fmt: skip


def recording(training: Training) -> Iterator[bytes]:
    """The lines of what the sampler recorded.

    The cards, then their figures and the host's each second.
    """
    yield samples.encode(
        samples.SamplerStarted(time=training.begin, pid=1, gpu_studio="0", simulated="16 cards")
    )
    yield samples.encode(
        samples.Cards(
            time=training.begin, cards=[_card(place) for place in range(training.devices)]
        )
    )
    random = np.random.default_rng(training.seed)
    for second in range(int(training.seconds)):
        for sample in machine(training, training.begin + second, random):
            yield samples.encode(sample)


def machine(
    training: Training, now: float, random: np.random.Generator
) -> Iterator[samples.AnySample]:
    """What the sampler tells of a second."""
    shares = random.random(training.devices).tolist()
    yield samples.Fast(
        time=now,
        cards=[
            samples.FastFigures(
                card=f"GPU-{place:08x}", memory_used_mib=int(40_000 + 20_000 * share),
                memory_free_mib=20_000, memory_reserved_mib=500,
                utilisation_percent=int(100 * share), power_w=300 + 300 * share,
                memory_bus_percent=30,
            )
            for place, share in enumerate(shares)
        ],
    )  # fmt: skip
    yield samples.Host(
        time=now, cpu_percent=100 * shares[0], memory_used_mib=20_000, memory_total_mib=128_000
    )


def _events(training: Training, run: str, *, ended: bool) -> Iterator[Event]:
    yield from beginning(training, run)
    random = np.random.default_rng(training.seed)
    for number in range(training.calls):
        yield from call(training, number, random)
    if ended:
        yield events.Finished(
            reason="completed", seconds=training.seconds,
            epoch=training.calls // training.calls_an_epoch, step=training.steps,
            time=training.moment(training.calls),
        )  # fmt: skip


def beginning(training: Training, run: str) -> Iterator[Event]:
    """What is told before the first step."""
    names = [f"GPU:{place}" for place in range(training.devices)]
    epochs = training.epochs or max(training.calls // training.calls_an_epoch, 1)
    logical = [
        events.LogicalDevice(name=name, physical=name, limit_mib=CARD_MIB, uuid=f"GPU-{place:08x}")
        for place, name in enumerate(names)
    ]
    yield events.Started(
        run=run,
        plan="a long run",
        pid=1,
        host="here",
        gpu_studio="0",
        python="3",
        time=training.begin,
    )
    yield events.Devices(
        logical=logical, replicas=names, strategy="mirrored", tensorflow="2.21", time=training.begin
    )
    yield events.Model(
        name="mlp", parameters=335_114, trainable=335_114, layers=[], data="digits",
        train_samples=100_000, validation_samples=0, test_samples=0, epochs=epochs,
        steps_per_epoch=training.calls_an_epoch * training.per_call, global_batch=256,
        replica_batches=[256 // training.devices] * training.devices, optimizer="adam", loss="mse",
        precision="float32", time=training.begin + 1,
    )  # fmt: skip
    yield events.StateChanged(state="running", time=training.begin + 2)


def _card(place: int) -> samples.CardFacts:
    return samples.CardFacts(
        card=f"GPU-{place:08x}", index=place, uuid=f"GPU-{place:08x}", name="H100", total_mib=81_559
    )
