"""Plans with placed layers, their facts, and parts of the window that show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_machines import TWO_CARDS

from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.plan_facts import DataFacts, GraphLayer, ModelFacts, ModelGraph, PlanFacts
from gpu_studio.placement.step_memory import MemoryMoment, StepMemory
from gpu_studio.plan import (
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    Training,
    validate,
)
from gpu_studio.plan.card_memory import CONTEXT_MIB, KEPT_OF_FEW_MIB
from gpu_studio.ui.plan.plan_view import PlanView

CPUS = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
MACHINE = Machine(cpu_cores=4, memory_mib=16_000, why_no_cards="there is none")
STEP = StepMemory((MemoryMoment(9000, 700, gradients=6400), MemoryMoment(1000, 1500, kept=600)))
DATA = DataFacts("made", "classes", 10, 800, 100, 100, (12,))


def dense(name: str, *inputs: str, units: int = 256, before: int = 256) -> GraphLayer:
    """A Dense layer of so many units, after one of `before`."""
    count = units * (before + 1)
    return GraphLayer(
        name, "Dense", inputs, (units,), count, count, 4 * count, 4 * count, 4 * units, 8 * units,
        2.0 * units * before, 4.0 * units * before, passing_bytes=8 * units,
    )  # fmt: skip


FLATTEN = GraphLayer("flatten", "Flatten", (), (784,), output_bytes=3136)
MLP = ModelGraph(
    "mlp",
    (
        FLATTEN,
        dense("dense", "flatten", before=784),
        dense("dense_1", "dense"),
        dense("dense_2", "dense_1"),
        dense("outputs", "dense_2", units=3),
    ),
    (28, 28, 1),
    (3,),
    3136,
)
SMALL = ModelGraph(
    "mlp",
    (
        FLATTEN,
        dense("dense", "flatten", units=16, before=784),
        dense("dense_1", "dense", units=16, before=16),
        dense("dense_2", "dense_1", units=16, before=16),
        dense("outputs", "dense_2", units=10, before=16),
    ),
    (28, 28, 1),
    (10,),
    3136,
)
"""The built-in mlp with three hidden layers of 16 units, for the digits."""
LAYERS = tuple(layer.name for layer in MLP.layers)


def facts_of(graph: ModelGraph = MLP) -> PlanFacts:
    """All that TensorFlow would tell of a plan with this model, trained by Adam."""
    slots = {layer.name: 2 * layer.trainable_bytes for layer in graph.layers}
    return PlanFacts(
        DATA, ModelFacts(graph, slots=slots, shared_slots=12, steps={"CPU": STEP, "GPU": STEP})
    )


def deep(count: int) -> ModelGraph:
    """A chain of so many Dense layers."""
    names = [f"dense_{number}" for number in range(count)]
    layers = (
        dense(name, *names[max(0, at - 1) : at], units=8, before=8) for at, name in enumerate(names)
    )
    return ModelGraph("deep", tuple(layers))


def keeping(count: int) -> ModelGraph:
    """The same, with a backward pass that keeps so much of each sample that little else counts."""
    chain = deep(count)
    return replace(
        chain, layers=tuple(replace(layer, kept_bytes=130_000) for layer in chain.layers)
    )


def with_room_to_recompute() -> Machine:
    """Cards that train `keeping(6)` by 100 samples only if activations are computed again."""
    free = 2 + CONTEXT_MIB + KEPT_OF_FEW_MIB
    cards = (
        replace(card, total_mib=card.reserved_mib + free, used_mib=0) for card in TWO_CARDS.cards
    )
    return replace(TWO_CARDS, cards=tuple(cards))


def placed_plan(
    layers: dict[str, tuple[str, ...]] | None = None, micro_batches: int = 4, cpus: int = 4
) -> Plan:
    """A plan on logical CPUs with these layers placed; by default all of the mlp's, evenly."""
    even = {name: (CPUS[min(at, 3)],) for at, name in enumerate(LAYERS)}
    part = Placed(micro_batches, even if layers is None else layers)
    return Plan(
        "lanes",
        DeviceSettings(carve=(Carve("CPU:0", (0,) * cpus),)),
        ModelSettings(name="mlp"),
        Data(name="digits"),
        Training(batch_size=64),
        Distribution("placed", placed=part),
    )


def view_of(plan: Plan, machine: Machine = MACHINE, facts: PlanFacts | None = None) -> PlanView:
    """The plan with its problems on a machine, those that the `facts` tell of too."""
    known = known_problems(plan, facts) if facts is not None else ()
    return PlanView(plan, machine, (*validate(plan, machine), *known), Path("/nowhere"))
