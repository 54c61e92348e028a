"""Rules for `[devices]`: names exist and appear once, and carves fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_studio.common.figures import grouped, whole_mib
from gpu_studio.plan.devices import CPU, Machine, is_physical_name, physical_name, visible_cards
from gpu_studio.plan.values import Carve, Plan, Problem, listed, shown

MOST_SLICES = 64
LEAST_MIB = 1
"""The smallest slice of a card, in MiB."""
ALLOCATOR = "TF_GPU_ALLOCATOR"
SHARED_POOL = "cuda_malloc_async"


def visible_names(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Every name in `devices.visible` is a physical device of this machine and appears once."""
    named = [
        (f"devices.visible[{index}]", device) for index, device in enumerate(plan.devices.visible)
    ]
    for field, device in named:
        yield from _physical_problems(field, device, machine)
    yield from _repeated(named, machine, "name each device once")


def carved_names(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Every carved device is a physical device of this machine, visible, and carved once."""
    named = [
        (f"devices.carve[{index}].device", carve.device)
        for index, carve in enumerate(plan.devices.carve)
    ]
    for field, device in named:
        problems = list(_physical_problems(field, device, machine))
        yield from problems or _hidden(field, device, plan, machine)
    yield from _repeated(named, machine, "put all slices of a device into one [[devices.carve]]")


def lost_cards(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Every visible card answers: otherwise CUDA may not start, or may number the others anew."""
    for card in visible_cards(plan.devices, machine) if machine else ():
        if card.lost:
            names = plan.devices.visible
            place = next(
                (
                    at
                    for at, name in enumerate(names)
                    if physical_name(name, machine) == card.device
                ),
                None,
            )
            field = "devices.visible" if place is None else f"devices.visible[{place}]"
            received = "[], every card" if place is None else shown(names[place])
            yield Problem(
                field, received, f"{card.title} does not answer ({card.why_unknown}): hide it"
            )


def one_instance(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """An instance of a card in MIG mode is visible alone.

    CUDA shows a process no other instance or card beside it.
    """
    cards = visible_cards(plan.devices, machine) if machine else ()
    if len(cards) > 1 and any(card.instance for card in cards):
        titles = listed(card.title for card in cards)
        advice = (
            "MIG divides a card into instances, and a process can use one of them, and no card "
            "beside it: name one"
        )
        yield Problem("devices.visible", titles, advice)


def slices(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """The slices of a card have limits that fit the card together; slices of the CPU have none."""
    for index, carve in enumerate(plan.devices.carve):
        field = f"devices.carve[{index}].slices_mib"
        yield from _number_of_slices(field, carve)
        yield from _limits(field, carve)
        yield from _more_than_the_card(field, carve, machine)


def growth(plan: Plan) -> Iterator[Problem]:
    """Memory growth and a carve exclude each other: TensorFlow refuses both on one device."""
    if plan.devices.memory_growth and plan.devices.carve:
        advice = (
            "memory cannot grow on a carved device: set memory_growth = "
            "false, or leave out the carve"
        )
        yield Problem("devices.memory_growth", "true together with a carve", advice)


def allocator(plan: Plan, environment: Mapping[str, str]) -> Iterator[Problem]:
    """No card is carved if `environment` makes TensorFlow pool the memory of all slices.

    Not among the rules of `validate`, because it is about the training process and not about the
    plan.
    """
    if environment.get(ALLOCATOR) == SHARED_POOL and any(
        carve.device != CPU for carve in plan.devices.carve
    ):
        advice = (
            "all slices of a card share one pool then, without limits: unset the variable, or "
            "leave out the carve"
        )
        yield Problem("devices.carve", f"given while {ALLOCATOR}={SHARED_POOL} is set", advice)


def there_are(machine: Machine) -> str:
    """The physical devices of a machine as a sentence."""
    if not machine.cards:
        why = f" ({machine.why_no_cards})" if machine.why_no_cards else ""
        return f"this machine has no card{why}, only {CPU}"
    return f"this machine has {listed([*(card.device for card in machine.cards), CPU])}"


def _physical_problems(field: str, device: str, machine: Machine | None) -> Iterator[Problem]:
    if not is_physical_name(device):
        advice = 'write "GPU:0", "CPU:0" or the beginning of a card\'s UUID such as "GPU-5d0"'
        yield Problem(field, shown(device), advice)
    elif machine and device != CPU and not machine.card(device):
        several = sum(card.uuid.startswith(device) for card in machine.cards) > 1
        yield Problem(
            field,
            shown(device),
            f"write more of the UUID, {_begins(several)}" if several else _gone(machine),
        )


def _begins(several: bool) -> str:
    return "more than one card's begins so" if several else ""


def _gone(machine: Machine) -> str:
    return f"there is no such device; {there_are(machine)}"


def _hidden(field: str, device: str, plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    visible = plan.devices.visible
    card = machine.card(device) if machine else None
    if device == CPU or (not visible and (card is None or not card.instance)):
        return
    seen = (
        {card.device for card in visible_cards(plan.devices, machine)} if machine else set(visible)
    )
    if physical_name(device, machine) not in seen or not visible:
        does = "hides" if visible else "does not name"
        yield Problem(
            field,
            f"{shown(device)}, which devices.visible {does}",
            "add it to devices.visible, or do not carve it",
        )


def _repeated(
    named: Iterable[tuple[str, str]], machine: Machine | None, advice: str
) -> Iterator[Problem]:
    seen: set[str] = set()
    for field, device in named:
        name = physical_name(device, machine)
        if name in seen:
            yield Problem(field, f"{shown(device)} a second time", advice)
        seen.add(name)


def _number_of_slices(field: str, carve: Carve) -> Iterator[Problem]:
    count = len(carve.slices_mib)
    if count == 0:
        example = "[0, 0]" if carve.device == CPU else "[1024, 1024]"
        yield Problem(field, "empty", f"give a number for each slice, such as {example}")
    elif count > MOST_SLICES:
        yield Problem(
            field,
            f"a list of {grouped(count)}",
            f"carve a device into at most {MOST_SLICES} slices",
        )


def _limits(field: str, carve: Carve) -> Iterator[Problem]:
    for index, limit in enumerate(carve.slices_mib[: MOST_SLICES + 1]):
        if carve.device == CPU and limit != 0:
            advice = "write 0, because TensorFlow cannot limit the memory of a CPU"
            yield Problem(f"{field}[{index}]", grouped(limit), advice)
        elif carve.device != CPU and limit < LEAST_MIB:
            yield Problem(
                f"{field}[{index}]",
                str(limit),
                f"give the slice's memory in MiB, {LEAST_MIB} or more",
            )


def _more_than_the_card(field: str, carve: Carve, machine: Machine | None) -> Iterator[Problem]:
    card = machine.card(carve.device) if machine else None
    if card is None or card.usable_mib is None:
        return
    total = sum(carve.slices_mib)
    if total > card.usable_mib:
        there, over = whole_mib(card.usable_mib), whole_mib(total - card.usable_mib)
        advice = f"{card.title} ({card.name}) has {there} to give: take away at least {over}"
        yield Problem(field, f"{whole_mib(total)} in all", advice)
