"""Warnings about a plan that can run: the rules that need only the plan and the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpu_studio.common.figures import grouped, whole_mib
from gpu_studio.plan.card_memory import beside_slices_mib, too_little_beside
from gpu_studio.plan.carving import equal_slices
from gpu_studio.plan.data import may_validate
from gpu_studio.plan.devices import CPU, Machine, replica_count, replica_devices, visible_cards
from gpu_studio.plan.edits.visibility import idle_cards, only_used
from gpu_studio.plan.strategies import strategy_of
from gpu_studio.plan.strategies.one_device import alone
from gpu_studio.plan.validation import validate
from gpu_studio.plan.values import Carve, Caution, Plan, Remedy, changing, listed

Find = Callable[[Plan], Iterable[Caution]]


def cautions(plan: Plan, machine: Machine, measures: Sequence[str] = ()) -> tuple[Caution, ...]:
    """Every warning about the plan on this machine, with remedies that remove it. Never raises.

    `measures` are the names of what the model's steps measure, if they are known.
    """

    def found(changed: Plan) -> Iterator[Caution]:
        for rule in RULES:
            yield from rule(changed, machine)
        yield from judged_by_training(changed, machine, measures)

    return checked(plan, machine, found)


def checked(plan: Plan, machine: Machine, find: Find) -> tuple[Caution, ...]:
    """The warnings that `find` gives, without remedies that do not remove them or add a problem."""
    found = tuple(find(plan))
    if not any(caution.remedies for caution in found):
        return found
    before = len(validate(plan, machine))
    return tuple(_checked(caution, plan, machine, find, before) for caution in found)


def on_one(plan: Plan, machine: Machine) -> Remedy:
    """The remedy that trains on the first of the plan's devices alone."""
    return alone(plan, next((device.name for device in replica_devices(plan, machine)), None))


def _checked(caution: Caution, plan: Plan, machine: Machine, find: Find, before: int) -> Caution:
    def mends(mend: Remedy) -> bool:
        mended = mend.make(plan)
        stands = any(each.name == caution.name for each in find(mended))
        return not stands and len(validate(mended, machine)) <= before

    return caution.with_remedies([mend for mend in caution.remedies if mends(mend)])


def one_replica(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """A strategy for several replicas that has only one."""
    devices = replica_devices(plan, machine)
    if strategy_of(plan).replicates and devices and replica_count(plan, machine) == 1:
        yield Caution(
            "one replica",
            f"{devices[0].name} is the only replica.",
            "There is nobody to share the work with: one device does the same with less around it.",
            on_one(plan, machine),
        )


def of_the_strategy(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """Warnings that concern the plan's strategy alone."""
    names = [device.name for device in replica_devices(plan, machine)]
    yield from strategy_of(plan).cautions(plan, names)


def shared_hardware(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """Replicas that compute on the same card."""
    devices = replica_devices(plan, machine)
    if not strategy_of(plan).replicates or len(devices) < 2:
        return
    # Nobody carves a CPU for speed: logical CPUs let one try replicas, as the Plan page says.
    cards = [device.physical for device in devices if device.physical != CPU]
    shared = [card for card in dict.fromkeys(cards) if cards.count(card) > 1]
    if shared:
        text = f"Several replicas compute on {listed(machine.title(card) for card in shared)}."
        why = "One device is usually faster: slices divide a card's memory, not its work."
        yield Caution("shared hardware", text, why, on_one(plan, machine))


def mixed_kinds(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """A CPU beside cards: every step waits for the CPU."""
    devices = replica_devices(plan, machine)
    cards = tuple(device.name for device in devices if device.name.startswith("GPU"))
    if strategy_of(plan).replicates and cards and len(cards) < len(devices):
        others = listed(device.name for device in devices if device.name not in cards)
        text = f"{others} trains beside cards."
        why = "Each step waits for the slowest replica, and a CPU is much slower than a card."
        yield Caution(
            "mixed kinds", text, why, changing("Cards alone", "distribution", devices=cards)
        )


def uneven_batch(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """A global batch that its replicas cannot share evenly."""
    training, count = plan.training, replica_count(plan, machine)
    spread = strategy_of(plan).replicates and training.batch_scope == "global"
    if spread and count > 1 and training.batch_size > count and training.batch_size % count:
        even = training.batch_size // count * count
        text = (
            f"{grouped(training.batch_size)} samples do not share out evenly over {count} replicas."
        )
        why = (
            "The result is right all the same, but each step waits for those with one sample more."
        )
        yield Caution(
            "uneven batch", text, why, changing(f"Use {grouped(even)}", "training", batch_size=even)
        )


def unused_cards(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """Cards that TensorFlow allocates and nothing uses."""
    idle = idle_cards(plan, machine)
    if not idle:
        return
    seen = len(visible_cards(plan.devices, machine))
    text = (
        f"{len(idle)} of {seen} visible cards {'has' if len(idle) == 1 else 'have'} nothing to do."
    )
    if strategy_of(plan).serves:
        why = "The workers of servers compute on the CPU, and open no card."
        yield Caution("unused cards", text, why)
        return
    why = "TensorFlow opens every card that it sees" + (
        ", which takes some of its memory."
        if plan.devices.memory_growth
        else ", and takes its memory."
    )
    hide = "Hide it" if len(idle) == 1 else "Hide them"
    yield Caution(
        "unused cards", text, why, Remedy(hide, lambda changed: only_used(changed, machine))
    )


def more_than_free(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """Slices that fit a card, but not besides CUDA and what others use of it now."""
    for index, carve in enumerate(plan.devices.carve):
        card, total = machine.card(carve.device), sum(carve.slices_mib)
        if card is None or card.free_mib is None or total > (card.usable_mib or 0):
            continue
        left, beside = card.free_mib - total, beside_slices_mib(card)
        if left >= beside:
            continue
        carves = plan.devices.carve
        fitting = Carve(
            carve.device, equal_slices(carve.device, max(1, len(carve.slices_mib)), machine)
        )
        text = (
            f"The slices of {card.title} take {whole_mib(total)}, and "
            f"{whole_mib(card.free_mib)} are free now."
            if left < 0
            else f"{too_little_beside(beside, left, f'the slices of {card.title}')}."
        )
        why = (
            "The slice that finds no room ends the run when it is first used."
            if left < 0
            else "The slice or the library that finds no room ends the run when it is first used."
        )
        mend = changing(
            "Share what is free", "devices", carve=(*carves[:index], fitting, *carves[index + 1 :])
        )
        yield Caution(f"more than free on {card.device}", text, why, mend)


def nothing_saved(plan: Plan, _machine: Machine) -> Iterator[Caution]:
    """No checkpoint at all, so that the run leaves no weights."""
    checkpoint = plan.training.checkpoint
    if checkpoint.every_epochs == 0 and checkpoint.every_steps == 0:
        restored = (
            plan.training.early_stopping is not None and plan.training.early_stopping.restore_best
        )
        best = ", the best ones that early stopping restores too" if restored else ""
        mend = changing("Save each epoch", "training.checkpoint", every_epochs=1)
        yield Caution(
            "nothing saved",
            "No checkpoint is written.",
            f"The weights are gone at the end{best}.",
            mend,
        )


def judged_by_training(
    plan: Plan, _machine: Machine, measures: Sequence[str] = ()
) -> Iterator[Caution]:
    """A best checkpoint chosen by a value that is not measured; `measures` is what is, if known."""
    checkpoint = plan.training.checkpoint
    if not checkpoint.every_epochs or may_validate(plan):
        return
    monitor, why = checkpoint.monitor, "Nothing is validated while data.validation_fraction is 0."
    if checkpoint.lacks_loss(measures):
        found = checkpoint.instead(measures)
        if found is None:
            text = f"No checkpoint is kept as the best by {monitor}."
            yield Caution("judged by training", text, f"The model measures no loss. {why}")
            return
        monitor = found
    if monitor.startswith("val_"):
        instead = monitor.removeprefix("val_")
        text = f"The best checkpoint is judged by {instead}, not by {checkpoint.monitor}."
        mend = changing(f"Monitor {instead}", "training.checkpoint", monitor=instead)
        yield Caution("judged by training", text, why, mend)


def half_precision_on_cpu(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """Mixed precision where it is slower."""
    if plan.training.mixed_precision and any(
        device.physical == CPU for device in replica_devices(plan, machine)
    ):
        why = "It trains slower than in float32: half precision pays on cards with tensor cores."
        mend = changing("Use float32", "training", mixed_precision=False)
        yield Caution(
            "half precision on a CPU", "A CPU computes float16 by way of float32.", why, mend
        )


def not_compiled_for_practice(plan: Plan, machine: Machine) -> Iterator[Caution]:
    """XLA for a practice card, which nothing is compiled for."""
    used = [machine.card(device.physical) for device in replica_devices(plan, machine)]
    if plan.training.jit_compile is True and any(card and card.practice for card in used):
        yield Caution(
            "not compiled",
            "Steps run without XLA on a practice card, with training.jit_compile too.",
            "The losses are those of a real card but for rounding; its speed and memory are not.",
        )


RULES: tuple[Callable[[Plan, Machine], Iterator[Caution]], ...] = (
    more_than_free,
    one_replica,
    of_the_strategy,
    shared_hardware,
    mixed_kinds,
    unused_cards,
    uneven_batch,
    nothing_saved,
    half_precision_on_cpu,
    not_compiled_for_practice,
)
"""Each rule, the gravest first."""
