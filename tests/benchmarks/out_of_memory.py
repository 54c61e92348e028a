"""Plans with random memory limits on practice cards, which fail for want of memory.

Is the device named that the allocator refused, in the layer whose tensor it was, and does the first
remedy that is offered train? What is wrong is told, plan by plan, on stderr.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from measuring import Budget, Row
from workplace import PATIENCE_S, BenchmarkError, Workplace

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Failed, Finished, Model
from gpu_studio.contract.failure_texts import layer_of, refusals_in
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import (
    MIB,
    Card,
    Carve,
    Data,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    Training,
    save,
    validate,
    with_absolute_files,
    with_value,
)
from gpu_studio.runs.questions.plan_question import ask_about
from gpu_studio.runs.reading.event_file import first_of
from gpu_studio.runs.state import terminal_event

FAILURES, SEED, AT_ONCE = 60, 14, 3
ROOMY_CARD_MIB, LEAST_CARD_MIB = 8192, 256
RIGHT = Budget("at least", 1.0)
ROOMY_MIB = 1500
DATA = Data("synthetic", options={"shape": [28, 28, 1], "samples": 640, "classes": 10})
FULL, ROOMY, FULL_SHARE = "full card", "roomy card", 0.5
_number = count(1)
CARDS = tuple(Card(index, f"GPU-{index}", "practice") for index in (0, 1))
MACHINE = Machine(CARDS, os.cpu_count() or 1)


@dataclass(frozen=True)
class Case:
    """A plan that failed for want of memory, and what became of it."""

    plan: Plan
    failed: Failed
    refused: tuple[str, ...]
    """The devices whose allocators said that they had no room, the last one first."""
    layers: tuple[str, ...]
    """The layers in the words of that device's allocator, if they name any."""
    remedied: str
    """How the plan ended with the first remedy: "trained", or why not."""

    @property
    def device_right(self) -> bool:
        """Whether the device is one that refused: several may at the same time."""
        return self.failed.device in self.refused

    @property
    def layer_right(self) -> bool:
        """Whether the layer is the one that the allocator names, if it names one."""
        return not self.layers or self.failed.layer in self.layers


def rows(place: Workplace, _times: int) -> Iterator[Row]:
    """How many of so many failures are told rightly, and mended by what is offered first."""
    cases = list(failures(place, FAILURES))
    for number, case in enumerate(cases):
        sys.stderr.write(f"{number:3} {told(case)}\n")
    for what, right in (
        ("device named that lacked memory", sum(case.device_right for case in cases)),
        ("layer named that asked for it", sum(case.layer_right for case in cases)),
        ("first remedy trains", sum(case.remedied == "trained" for case in cases)),
    ):
        yield Row(what, "failures", "plans", RIGHT, (float(right),), (float(len(cases)),))


def told(case: Case) -> str:
    """A line about a case."""
    plan, failed = case.plan, case.failed
    limits = "/".join(str(size) for size in plan.devices.carve[0].slices_mib)
    several = f" of {', '.join(case.refused)}" if len(case.refused) > 1 else ""
    device = f"{failed.device}{several}" if case.device_right else f"{failed.device}≠{case.refused}"
    layer = failed.layer if case.layer_right else f"{failed.layer}≠{case.layers}"
    first = failed.mends[0].text if failed.mends else "-"
    return (
        f"{plan.model.name:12} {plan.distribution.strategy:15} {plan.training.batch_size:4} "
        f"{plan.name:10} {limits:24} {failed.kind:13} {device} {layer} [{first}] {case.remedied}"
    )


def failures(place: Workplace, wanted: int) -> Iterator[Case]:
    """So many cases; plans that train are left out."""
    chance = random.Random(SEED)
    known: dict[str, PlanFacts] = {}
    found = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while found < wanted:
            plans = [limited(random_plan(chance), known, chance) for _ in range(2 * AT_ONCE)]
            for case in pool.map(lambda plan: case_of(place, plan), plans):
                if case is not None and found < wanted:
                    found += 1
                    yield case


def random_plan(chance: random.Random) -> Plan:
    """A plan on roomy slices of one card."""
    hidden = [chance.choice((500, 800, 1200))] * chance.choice((2, 3))
    model = chance.choice(
        (
            ModelSettings("mlp", options={"hidden": hidden}),
            ModelSettings("mlp", options={"hidden": hidden}),
            ModelSettings("cnn"),
            ModelSettings("transformer", options={"width": 128, "depth": 1}),
            ModelSettings("transformer", options={"width": 64, "feed_forward": 256}),
        )
    )
    slices = chance.choice((2, 3, 4))
    names = tuple(f"GPU:{index}" for index in range(slices))
    strategies = ["none", "one_device", "mirrored", "central_storage"]
    if model.name == "mlp":
        strategies += ["placed", "placed"]
    strategy = chance.choice(strategies)
    chosen = Distribution(strategy, names)
    if strategy == "none":
        chosen = Distribution(strategy)
    if strategy == "one_device":
        chosen = Distribution(strategy, (chance.choice(names),))
    if strategy == "placed":
        layers = ["dense", *(f"dense_{place}" for place in range(1, len(hidden))), "outputs"]
        at = sorted(chance.randrange(slices) for _ in layers)
        places = {layer: (names[index],) for layer, index in zip(layers, at, strict=True)}
        chosen = Distribution(
            strategy, names, placed=Placed(layers=places, micro_batches=chance.choice((1, 2, 4)))
        )
    training = Training(
        epochs=1,
        batch_size=chance.choice((32, 128, 512)),
        optimizer=chance.choice(("adam", "adam", "sgd")),
    )
    carve = (Carve("GPU:0", (ROOMY_MIB,) * slices),)
    plan = Plan("limited", model=model, data=DATA, training=training, distribution=chosen)
    return replace(plan, devices=replace(plan.devices, carve=carve))


def limited(plan: Plan, known: dict[str, PlanFacts], chance: random.Random) -> Plan:
    """The plan with little memory on one device that it uses, and more or less enough on others."""
    key = repr((plan.model, plan.training.optimizer))
    if key not in known:
        known[key] = decoded(ask_about(with_absolute_files(plan, Path.cwd())))
    needs = {each.device: each.total for each in predict(plan, MACHINE, known[key])}
    short = chance.choice([name for name, total in needs.items() if total])
    sizes = []
    for index in range(len(plan.devices.carve[0].slices_mib)):
        share = chance.uniform(0.25, 0.98) if f"GPU:{index}" == short else chance.uniform(1.1, 2.0)
        sizes.append(max(4, round(needs.get(f"GPU:{index}", 0) * share / MIB)))
    full = chance.random() < FULL_SHARE
    if full:
        sizes.append(max(40, LEAST_CARD_MIB - sum(sizes)) + next(_number))
    carve = (Carve("GPU:0", tuple(sizes)),)
    return replace(plan, name=FULL if full else ROOMY, devices=replace(plan.devices, carve=carve))


def card_mib(plan: Plan) -> int:
    """The memory of the card: plenty, or what its slices have, as the plan's name says.

    Cards of one size are the same cards to all processes: those of runs at the same time differ.
    """
    if plan.name == FULL and plan.devices.carve:
        return max(LEAST_CARD_MIB, sum(plan.devices.carve[0].slices_mib))
    return ROOMY_CARD_MIB + next(_number)


def case_of(place: Workplace, plan: Plan) -> Case | None:
    """Train the plan, and again with what is offered first; None if it trains at once."""
    run, end = trained(place, plan)
    if not isinstance(end, Failed):
        return None
    refusals = list(refusals_in(run.log_file.read_text(errors="replace")))
    devices = tuple(dict.fromkeys(each.device or "" for each in refusals))
    model = first_of(run, Model)
    names = {layer.name for layer in model.layers} if model else set()
    asked = [layer_of(each.operation, names) for each in refusals if each.device == end.device]
    # One that received a tensor names no layer: it may have been any.
    layers = () if None in asked else tuple(filter(None, asked))
    return Case(plan, end, devices, layers, remedied(place, plan, end))


def remedied(place: Workplace, plan: Plan, end: Failed) -> str:
    """How the plan ends with the first remedy."""
    if not end.mends:
        return "nothing offered"
    first = end.mends[0]
    mended = with_value(plan, first.field, first.value)
    if problems := validate(mended):
        return f"no sound plan: {problems[0]}"
    _run, again = trained(place, mended)
    return "trained" if isinstance(again, Finished) else f"again: {again.message}"


def trained(place: Workplace, plan: Plan) -> tuple[RunDirectory, Failed | Finished]:
    """The run of a plan, and how it ended. Raises BenchmarkError."""
    folder = place.folder / f"plan-{next(_number)}"
    folder.mkdir()
    save(plan, folder / "plan.toml")
    words = (
        "--practice",
        f"2x{card_mib(plan)}MiB",
        "--runs-dir",
        str(folder),
        "train",
        str(folder / "plan.toml"),
    )
    command = [sys.executable, "-m", "gpu_studio", *words]
    environment: Mapping[str, str] = {**place.environment, "TF_CPP_MIN_LOG_LEVEL": "0"}
    done = subprocess.run(
        command,
        cwd=place.folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    runs = [RunDirectory(path.parent) for path in folder.glob("*/events.jsonl")]
    end = terminal_event(runs[0]) if runs else None
    if end is None:
        raise BenchmarkError(f"a plan did not end:\n{(done.stdout + done.stderr)[-2000:]}")
    return runs[0], end
