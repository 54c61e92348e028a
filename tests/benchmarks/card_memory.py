"""The memory predicted of each slice of a card, against the peak of its own allocator.

Real runs of the trainer on the machine's first card if it has room for the slices, else on a
practice card: the slices of both have TensorFlow's own allocators. The peak is the greatest of
`STEPS` steps of each run, and what building the model takes counts too. Which step is the fullest
is chance, and whether a run fits is decided by the fullest of all its steps: where a row is over
its budget, the case is trained once more for `MANY_STEPS` steps. Replicas that do the same count
as one, the fullest of them. Slices that hold less than a MiB are left out.

The kernels of a practice card are the CPU's: unlike cuDNN's, they need memory for the gradients of
convolutions and pooling, which is predicted for practice cards only
(`trainer/answers/kernel_scratch.py`). On a real card cuDNN's workspaces come on top of what is
predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from measuring import Budget, Row
from memory_prediction import BELOW, SHAPES, made_plan
from workplace import PATIENCE_S, BenchmarkError, Workplace

from gpu_studio.common.practice import PracticeCards, identity
from gpu_studio.contract import events
from gpu_studio.hardware import practice
from gpu_studio.hardware.asking import inventory
from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import (
    MIB,
    Card,
    Carve,
    CheckpointSettings,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    with_absolute_files,
)
from gpu_studio.plan.card_memory import now_mib
from gpu_studio.runs.launch import launch
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.questions.plan_question import ask_about

BUDGET = Budget("at most", 1.15)
SHAPED = {**SHAPES, "lenet": [28, 28, 1], "cifar_cnn": [32, 32, 3]}
LOADED = ("wide", "lstm", "u-net", "separable", "normalised", "drawn attention")
BATCHES = 32, 128
SAMPLES = 4 * max(BATCHES)
STEPS = 32
"""In how many steps the fullest is looked for: operations are launched by several threads, and no
two steps find the same pieces of memory free."""
MANY_STEPS = 600
"""The same where a slice held far less than was predicted. The last one of a transformer held 2.4
MiB in 12 of so many steps, and 1.8 in nearly all others: eight runs of `STEPS` had not shown it."""
SLICES, SLICE_MIB, CARD_MIB = 4, 3000, 16384
STRATEGIES = ("one_device", "mirrored", "placed")
MICRO_BATCHES = 4


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """A row for each slice of each case, in MiB; each case is trained so many times."""
    machine = real_machine()
    if machine is None:
        place, machine = with_practice_card(place), practice_machine()
    for name, plan in models(place).items():
        # Asked where the card is: a practice card's kernels, the CPU's, are predicted.
        with place.entered():
            facts = decoded(ask_about(with_absolute_files(plan, place.folder)))
        for strategy in STRATEGIES:
            for batch in BATCHES:
                spread = on_slices(plan, strategy, batch, facts)
                foretold = alike(predict(spread, machine, facts), strategy)
                for devices, foreseen, held in compared(place, spread, foretold, times):
                    what = f"{name}, {strategy}, batch {batch}, {', '.join(devices)}"
                    yield _row(what, foreseen / MIB, held / MIB)


Foretold = list[tuple[list[str], int]]
"""Slices that count as one, and the bytes that are predicted of each."""


def compared(
    place: Workplace, spread: Plan, foretold: Foretold, times: int
) -> list[tuple[list[str], int, int]]:
    """Slices with what was predicted and what the fullest run held, if that is a MiB.

    The runs are so many; where one of the slices held far less than was predicted, one more that is
    longer.
    """
    peaks = [peaks_of(place, spread) for _ in range(times)]

    def held(devices: Iterable[str]) -> int:
        return max(each[device] for each in peaks for device in devices)

    seen = [each for each in foretold if held(each[0]) >= MIB]
    if any(size > BUDGET.limit * held(devices) for devices, size in seen):
        peaks.append(peaks_of(place, for_steps(spread, MANY_STEPS)))
    return [(devices, size, held(devices)) for devices, size in foretold if held(devices) >= MIB]


def alike(memories: Iterable[PredictedMemory], strategy: str) -> Foretold:
    """The slices in use with what is predicted of them; replicas that do the same are joined."""
    found: dict[object, tuple[list[str], int]] = {}
    for each in memories:
        if each.total and each.device.startswith("GPU"):
            key = each.device if strategy == "placed" else each.total
            found.setdefault(key, ([], each.total))[0].append(each.device)
    return list(found.values())


def real_machine() -> Machine | None:
    """This machine if its first card has room for the slices; None without such a card."""
    found = inventory()
    free = [now_mib(card, carved=True) or 0 for card in found.cards[:1] if card.answers]
    return found if free and free[0] >= SLICES * SLICE_MIB else None


def with_practice_card(place: Workplace) -> Workplace:
    """The workplace with one practice card, which is built for it."""
    state = place.folder / "cards"
    state.mkdir(mode=0o700)
    cards, library = PracticeCards(1, CARD_MIB), practice.build(place.folder)
    return replace(
        place,
        environment={**place.environment, **practice.environment(cards, library, state)},
    )


def practice_machine() -> Machine:
    """One practice card that nobody uses."""
    uuid, bus_id = identity(0)
    card = Card(0, uuid, "Practice card", bus_id, CARD_MIB, 0, practice=True)
    return Machine((card,), cpu_cores=2)


def models(place: Workplace) -> dict[str, Plan]:
    """A plan for each model: the built-in ones, and some that are loaded from files."""
    built_in = {
        name: Plan(
            name=name,
            model=ModelSettings(name=name),
            data=Data(name="synthetic", options={"shape": shape, "samples": SAMPLES}),
        )
        for name, shape in SHAPED.items()
    }
    trained = place.program("models_to_measure.py", str(place.folder), *LOADED)
    loaded = {name: made_plan(name, training) for name, training in trained.items()}
    for name in loaded:
        _enlarge(place.folder / f"{name}.npz")
    return {**built_in, **loaded}


def _enlarge(path: Path) -> None:
    with np.load(path) as data:
        x, y = data["x"], data["y"]
    np.savez(path, x=np.resize(x, (SAMPLES, *x.shape[1:])), y=np.resize(y, SAMPLES))


def on_slices(plan: Plan, strategy: str, batch: int, facts: PlanFacts) -> Plan:
    """The plan on the slices of one card: placed ones have a part of the layers on each."""
    names = [layer.name for layer in facts.graph.layers] if facts.graph else []
    layers = {name: (f"GPU:{place * SLICES // len(names)}",) for place, name in enumerate(names)}
    placed = Placed(MICRO_BATCHES, layers) if strategy == "placed" else None
    used = 1 if strategy == "one_device" else SLICES
    devices = tuple(f"GPU:{number}" for number in range(used))
    spread = replace(
        plan,
        devices=DeviceSettings(carve=(Carve("GPU:0", (SLICE_MIB,) * SLICES),)),
        distribution=Distribution(strategy, devices=() if placed else devices, placed=placed),
        data=replace(plan.data, validation_fraction=0.0, test_fraction=0.0),
        training=replace(
            plan.training, batch_size=batch, checkpoint=CheckpointSettings(every_epochs=0)
        ),
    )
    return for_steps(spread, STEPS)


def for_steps(plan: Plan, steps: int) -> Plan:
    """The plan with as many epochs as these steps take."""
    epochs = -(-steps * plan.training.batch_size // SAMPLES)
    return replace(plan, training=replace(plan.training, epochs=epochs))


def peaks_of(place: Workplace, plan: Plan) -> dict[str, int]:
    """The most that each slice's allocator gave out in a run of the plan, in bytes."""
    started = launch(
        with_absolute_files(plan, place.folder), place.runs, environment=place.environment
    )
    started.process.wait(PATIENCE_S * MANY_STEPS / STEPS)
    told = list(events_of(started.directory))
    if not isinstance(told[-1], events.Finished):
        raise BenchmarkError(f"{plan.name}: {told[-1]}")
    peaks: dict[str, int] = {}
    for event in told:
        if isinstance(event, events.Memory):
            for each in event.devices:
                peaks[each.device] = max(peaks.get(each.device, 0), each.peak)
    return peaks


def _row(what: str, foreseen: float, held: float) -> Row:
    if foreseen >= held:
        return Row(f"memory of {what}, predicted", "measured", "MiB", BUDGET, (foreseen,), (held,))
    return Row(f"memory of {what}, measured", "predicted", "MiB", BELOW, (held,), (foreseen,))
