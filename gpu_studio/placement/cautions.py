"""Warnings about a plan that can run: rules that need the model, the data or predicted memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from gpu_studio.common.figures import MIB, flops, grouped, size
from gpu_studio.placement.compiled_steps import MOST_BY_XLA, WORTH_COMPILING
from gpu_studio.placement.device_memory import (
    LIMIT_VARIABLE,
    MOST_MEASURED,
    RESERVE_MIB,
    PredictedMemory,
)
from gpu_studio.placement.memory import compiles, predict
from gpu_studio.placement.memory_remedies import MARGIN, Needs, larger_slices, smaller_batch
from gpu_studio.placement.plan_facts import SCALED_AGAIN, ArrayFacts, PlanFacts, paired
from gpu_studio.plan import (
    Card,
    Caution,
    Machine,
    Plan,
    Remedy,
    changing,
    listed,
    logical_devices,
    replica_count,
    replica_devices,
    strategy_of,
)
from gpu_studio.plan.card_memory import by_available_memory, held_by, now_mib, outside_mib
from gpu_studio.plan.cautions import checked, on_one
from gpu_studio.plan.class_ids import as_values, taken_for_ids
from gpu_studio.plan.data import BRIGHTEST, STRATIFY
from gpu_studio.plan.edits.visibility import only_on

FAINT = 16
"""Of 255: bytes that go no higher are digits in 17 shades, or black and white, not photographs."""


def own_remedies(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """Ways in which a user's own model behaves differently here than its author may expect."""
    for note in facts.model.notes if facts.model else ():
        scales = note.name == SCALED_AGAIN
        if not (scales and _are_as_they_are(plan)):
            yield Caution(
                note.name, note.text, note.why, _as_they_are(plan, facts) if scales else None
            )
    yield from facts.model.xla.cautions(plan) if facts.model else ()


def faint_bytes(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """Image bytes so small that, divided by 255, they tell a model nothing."""
    data = facts.data
    if data is None or not data.pixels or _are_as_they_are(plan):
        return
    highest = round(data.highest * BRIGHTEST)
    if 0 < highest <= FAINT:
        text = (
            f"The bytes of {data.name} go no higher than {highest}, and a model "
            f"gets them divided by {BRIGHTEST}."
        )
        why = f"It learns little from numbers in 0…{data.highest:.2g}."
        if plan.data.python is not None:
            why += f' Let {data.name} return x.astype("float32"): floats stay as they are.'
        yield Caution("faint bytes", text, why, _as_they_are(plan, facts))


def lacking_classes(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """Splits that lack classes which others have: the gravest first, all as one warning."""
    data = facts.data
    if data is None or not data.notes or data.split != plan.data.split:
        return
    reported = " ".join(data.notes)
    what, _, means = reported.replace(f" {STRATIFY}", "").partition(". ")
    if STRATIFY in reported:
        mend = changing("Split by class", "data", split="stratified", groups=None)
        yield Caution("lacking classes", f"{what}.", f"{means} {STRATIFY}", mend)
    else:
        yield Caution("lacking classes", f"{what}.", means)


def values_as_ids(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """Whole numbers that are taken for ids of classes, most of which occur nowhere."""
    data = facts.data
    for target in data.targets if data else ():
        if data is None or not target.sparse or not _learnt_as_classes(target, facts):
            continue
        found = taken_for_ids(plan.data, data.name, target.path, target.ids or 0)
        if found is not None:
            mend = None if found.column is None else as_values(plan.data, found.column)
            name = "/".join(("values as class ids", *map(str, target.path)))
            yield Caution(name, found.text, f"{found.why} {found.advice}", mend)


def _learnt_as_classes(target: ArrayFacts, facts: PlanFacts) -> bool:
    """Whether an output learns this target as classes, as far as is known."""
    if facts.data is None or facts.model is None or not facts.model.learners:
        return True
    ends = dict(paired(facts.data.targets, facts.model.outputs))
    end = ends.get(target)
    learnt = facts.model.learners.get(end.name) if end else None
    return learnt is not None and learnt.kind == "classes"


def _as_they_are(plan: Plan, facts: PlanFacts) -> Remedy | None:
    """The remedy that gives a model unscaled bytes, if the plan has a choice."""
    if facts.data is None or not facts.data.pixels or not (plan.data.file or plan.data.folder):
        return None
    highest = (
        BRIGHTEST
        if facts.data.highest * BRIGHTEST > FAINT
        else round(facts.data.highest * BRIGHTEST)
    )
    return changing(f"Give it 0…{highest}", "data", options={**plan.data.options, "scale": "none"})


def _are_as_they_are(plan: Plan) -> bool:
    """Whether the plan says so; the facts are then those of the plan before the change."""
    return plan.data.options.get("scale") == "none"


TOO_MUCH, LITTLE_LEFT = "too much memory", "little room for cuDNN"
FASTER_BY_XLA = "faster by XLA"
LITTLE_WORK_FLOPS = 1e9
"""A replica's step below this takes a card less than a millisecond (at 1 TFLOP/s, which every card
that TensorFlow supports exceeds): about what starting the step and summing the gradients take."""
FEW_TO_NORMALISE = 8
"""Fewer samples give batch normalisation statistics that are too noisy.

Wu and He 2018, "Group Normalization", fig. 1.
"""
ENOUGH_TO_NORMALISE = 16
NOTABLE_SHARE = 0.02
"""Of a card's memory, so much that others hold is worth a word: a desktop's own is less."""
FEWEST_STEPS = 8
"""Steps of an epoch that a smaller batch aims at."""


def cautions_with(plan: Plan, machine: Machine, facts: PlanFacts) -> tuple[Caution, ...]:
    """Every warning that the model and the data cause, with a remedy where one removes it."""
    return checked(plan, machine, lambda changed: _all(changed, machine, facts))


def _all(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    yield from own_remedies(plan, facts)
    yield from faint_bytes(plan, facts)
    yield from lacking_classes(plan, facts)
    yield from values_as_ids(plan, facts)
    if plan.training.batch_size > 0:
        yield from too_much_memory(plan, machine, facts)
        yield from little_left(plan, machine, facts)
        yield from little_left_for_xla(plan, machine, facts)
        yield from faster_by_xla(plan, machine, facts)
        yield from few_samples(plan, machine, facts)
        yield from few_to_normalise(plan, machine, facts)
        yield from normalised_apart(plan, machine, facts)
        yield from own_steps_apart(plan, machine, facts)
        yield from little_work(plan, machine, facts)


def too_much_memory(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """A step that needs more memory than a device has."""
    over = [each for each in predict(plan, machine, facts) if each.fits is False]
    if over:
        most = max(over, key=lambda each: each.total - (each.usable_bytes or 0))
        others = (
            f" The same on {listed(each.device for each in over if each is not most)}."
            if len(over) > 1
            else ""
        )
        why = f"{_why_so_little(most, plan, machine)}The run would end for want of memory.{others}"
        text = _too_much(most, now=most.waits or _crowded(most, plan, machine) is not None)
        caution = Caution(TOO_MUCH, text, why, waits=all(each.waits for each in over))
        yield caution.with_remedies(_more_memory(plan, machine, facts))


def little_left(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """A step that fits on a real card, and may leave too little there for cuDNN's workspaces."""
    memories = predict(plan, machine, facts)
    tight = [each for each in memories if each.may_lack]
    if not tight or any(each.fits is False for each in memories):
        return  # what does not fit at all is the graver thing, and has the same remedies
    least = min(tight, key=lambda each: (each.usable_bytes or 0) - each.total)
    left = (least.usable_bytes or 0) - least.total
    where = f" on {least.device}" if len(tight) > 1 else ""
    text = (
        f"{listed(each.device for each in tight)} {least.lacking}: a step leaves {size(left)} of "
        f"{size(least.usable_bytes or 0)}{where}, and {size(RESERVE_MIB * MIB)} are advised."
    )
    why = (
        "It computes convolutions and recurrent layers in workspaces that are not predicted: up to "
        f"{MOST_MEASURED}, and with too little the run ends in "
        "its first step. gpu-studio model --measured trains some real steps there; "
        f"{LIMIT_VARIABLE}=8 in the environment has cuDNN take less."
    )
    caution = Caution(LITTLE_LEFT, text, why)
    yield caution.with_remedies(_more_memory(plan, machine, facts))


def little_left_for_xla(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """A step that fits on a real card, and may not as XLA compiles it."""
    if not compiles(plan, machine, facts):
        return
    for memory in predict(plan, machine, facts):
        there = memory.usable_bytes or 0
        if memory.total <= there < memory.total * MOST_BY_XLA:
            text = (
                f"A step needs {size(memory.total)} of {size(there)} on {memory.device} without "
                "XLA, which compiles it."
            )
            why = (
                "With XLA the most was 0.82 to 1.16 times that in three models on an H200. A step "
                "that lacks memory ends the run."
            )
            mend = changing("Train without XLA", "training", jit_compile=False)
            yield Caution("little room for XLA", text, why, mend)


def _more_memory(plan: Plan, machine: Machine, facts: PlanFacts) -> tuple[Remedy, ...]:
    """Another card, larger slices, or a smaller batch, as far as each would do."""
    needs = Needs(plan, machine, facts)
    larger = larger_slices(Needs(plan, machine, facts, margin=MARGIN))
    return (*_elsewhere(needs), *larger, *smaller_batch(needs))


def _too_much(memory: PredictedMemory, *, now: bool) -> str:
    there = "are free now" if now else "are there"
    return (
        f"A step needs {size(memory.total)} on {memory.device}, and "
        f"{size(memory.usable_bytes or 0)} {there}."
    )


def _crowded(memory: PredictedMemory, plan: Plan, machine: Machine) -> Card | None:
    """The whole card that the device is, if others hold a notable part of it."""
    device = next(each for each in logical_devices(plan, machine) if each.name == memory.device)
    card = machine.card(device.physical)
    if card is None or device.limit_mib is not None or not card.used_mib or not card.usable_mib:
        return None
    return card if card.used_mib > NOTABLE_SHARE * card.usable_mib else None


def _why_so_little(memory: PredictedMemory, plan: Plan, machine: Machine) -> str:
    """What takes the rest of the card's memory: CUDA and its libraries, and other programs."""
    device = next(each for each in logical_devices(plan, machine) if each.name == memory.device)
    card, carved = machine.card(device.physical), device.limit_mib is not None
    if card is None:
        return ""
    outside = None if carved else outside_mib(card)
    whole = None if outside is None or card.usable_mib is None else card.usable_mib - outside
    crowded = memory.waits or _crowded(memory, plan, machine) is not None
    if crowded and card.used_mib and card.free_mib is not None:
        kept = card.free_mib - (now_mib(card, carved=carved) or 0)
        holders = held_by(card.users) or f"held by others ({size(card.used_mib * MIB)})"
        cuda = f", of which CUDA and its libraries get {size(kept * MIB)}" if kept else ""
        left = f"{size(card.free_mib * MIB)} are left{cuda}"
        alone = (
            "" if memory.waits or whole is None else f"A run alone on it has {size(whole * MIB)}. "
        )
        return f"{card.title} is {holders}: {left}. {alone}"
    if not outside or card.usable_mib is None:  # practice cards have no CUDA
        return ""
    return (
        f"Of the {size(card.usable_mib * MIB)} of {card.title}, CUDA and its libraries get "
        f"{size(outside * MIB)}. "
    )


def _elsewhere(needs: Needs) -> Iterator[Remedy]:
    """The one device of the plan on the card with the most free memory, if it fits there."""
    plan, machine = needs.plan, needs.machine
    if len(replica_devices(plan, machine)) != 1 or strategy_of(plan).devices not in ("none", "one"):
        return
    remedies = [(card, only_on(card, plan)) for card in by_available_memory(machine.cards)]
    fitting = ((card, way) for card, way in remedies if needs.fit(way))
    for card, _ in islice(fitting, 1):
        yield Remedy(f"Use {card.title}", partial(only_on, card))


def faster_by_xla(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """Small recurrent layers on a CPU, of which XLA would run many steps faster."""
    model, data, training = facts.model, facts.data, plan.training
    if model is None or data is None or data.varies or not model.xla.would_gain(plan):
        return
    if any(each.name.startswith("GPU") for each in replica_devices(plan, machine)):
        return
    of_epoch = training.steps_per_epoch or data.steps(training.batch_size)
    if (steps := of_epoch * training.trained_epochs) >= WORTH_COMPILING:
        text = "The recurrent layers are small: XLA runs their steps faster on a CPU."
        why = (
            "It was 1.2 to 2.8 times as fast on two cores: TensorFlow hands their operations from "
            "thread to thread, which takes longer than they do. Compiling takes seconds, "
            f"and {grouped(steps)} steps follow. Losses differ by rounding, and random layers draw "
            "other numbers."
        )
        mend = changing("Train with XLA", "training", jit_compile=True)
        yield Caution(FASTER_BY_XLA, text, why, mend)


def few_samples(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """A batch larger than the number of samples."""
    train, count = facts.data.train if facts.data else 0, _replicas(plan, machine)
    whole = _global(plan, count)
    if not 0 < train < whole:
        return
    why = "An epoch is a single step, and the same in each."
    if train < count:
        text = (
            f"There are more replicas, {grouped(count)}, than training samples, {grouped(train)}."
        )
        yield Caution("more replicas than samples", text, why, on_one(plan, machine))
    else:
        text = f"The batch of {grouped(whole)} is more than all {grouped(train)} training samples."
        yield Caution(
            "few samples",
            text,
            why,
            _use(plan, count, _doubled(count, max(count, train // FEWEST_STEPS))),
        )


def few_to_normalise(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """Batch normalisation over the few samples of a replica."""
    count = _replicas(plan, machine)
    share = _global(plan, count) // count
    normalises = facts.graph is not None and any(
        layer.kind == "BatchNormalization" for layer in facts.graph.layers
    )
    if normalises and share < FEW_TO_NORMALISE:
        text = f"Batch normalisation sees {share} samples at a time."
        why = "Each replica normalises by its own part of the batch: so few give noisy statistics."
        yield Caution("few to normalise", text, why, _use(plan, count, ENOUGH_TO_NORMALISE * count))


def normalised_apart(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """Batch normalisation on several replicas, each of which sees only its part of the batch."""
    count = _replicas(plan, machine)
    apart = facts.graph is not None and any(layer.normalises_apart for layer in facts.graph.layers)
    if count > 1 and apart and strategy_of(plan).replicates:
        text = f"Each of the {count} replicas normalises its own part of the batch."
        why = (
            "Losses differ from those of one device. In a model of your own "
            "BatchNormalization(synchronized=True) normalises the whole batch."
        )
        yield Caution("normalised apart", text, why, on_one(plan, machine))


def own_steps_apart(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """A step of the model's own on several replicas, whose gradients `fit` would add up."""
    count = _replicas(plan, machine)
    named = facts.model.own_steps if facts.model else ()
    own = [name for name in named if name != "compute_metrics"]
    if count > 1 and own and strategy_of(plan).replicates:
        text = f"Each of {count} replicas calls the model's own {own[0]} with its part of a batch."
        why = (
            "Their gradients are averaged by samples, so that a mean trains as on one device; fit "
            f"under a tf.distribute strategy adds them up, {count} times as large where the step "
            "takes the mean itself. Only a step that asks for the number of replicas gets the sum. "
            "A loss that compares samples compares those of one part."
        )
        yield Caution("own steps apart", text, why, on_one(plan, machine))


def little_work(plan: Plan, machine: Machine, facts: PlanFacts) -> Iterator[Caution]:
    """A model too small for several cards to be worthwhile."""
    devices = replica_devices(plan, machine)
    cards = {device.physical for device in devices if device.name.startswith("GPU")}
    if (
        not strategy_of(plan).replicates
        or len(cards) < len(devices)
        or len(cards) < 2
        or not facts.graph
        or machine.practice
    ):
        return
    share = _global(plan, len(devices)) / len(devices)
    work = share * sum(layer.flops_forward + layer.flops_backward for layer in facts.graph.layers)
    if work < LITTLE_WORK_FLOPS:
        text = f"This model is small: a step of a replica is {flops(work)}."
        why = (
            "A card does that in less than a millisecond; summing the gradients "
            "may take longer than it saves."
        )
        yield Caution("little work", text, why, on_one(plan, machine))


def _use(plan: Plan, replicas: int, batch: int) -> Remedy:
    """The remedy that sets the global batch, in the plan's own way of specifying it."""
    size = batch // replicas if plan.training.batch_scope == "replica" else batch
    return changing(f"Batch {grouped(size)}", "training", batch_size=size)


def _doubled(first: int, most: int) -> int:
    """The largest of `first`, twice that, four times that, … that does not exceed `most`."""
    return first << max(0, (most // first).bit_length() - 1)


def _replicas(plan: Plan, machine: Machine) -> int:
    return max(1, replica_count(plan, machine))


def _global(plan: Plan, count: int) -> int:
    training = plan.training
    return training.batch_size * count if training.batch_scope == "replica" else training.batch_size
