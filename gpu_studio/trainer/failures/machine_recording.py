"""The machine and its cards as the recording of a run shows them: what was held, and by whom."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from gpu_studio.common.practice import chosen
from gpu_studio.contract import LineTail, LogicalDevice, last_lines_if_any, samples
from gpu_studio.plan import Card, CardUser, Machine
from gpu_studio.plan.card_memory import LIBRARIES_MIB, held_by
from gpu_studio.trainer.environment import cores
from gpu_studio.trainer.failures.failure_context import FailureContext

_FIRST_BYTES = 256 * 1024


def machine_seen(context: FailureContext) -> Machine:
    """The machine with its cards' memory, and what others held of it before the run took any.

    Without a recording the cards are those of the run's devices, and their memory is not known.
    """
    facts: dict[str, samples.CardFacts] = {}
    figures: dict[str, samples.FastFigures] = {}
    mine: dict[str, int] = {}
    for sample in _recorded(context):
        if isinstance(sample, samples.Cards) and not facts:
            facts = {each.card: each for each in sample.cards if each.index is not None}
        if isinstance(sample, samples.Fast) and not figures:
            figures = {each.card: each for each in sample.cards}
        if isinstance(sample, samples.Processes) and figures:
            # The run may have been quicker than the sampler: what it holds is not others'.
            own = (each for each in sample.processes if each.pid == os.getpid())
            mine = {each.card: each.memory_mib or 0 for each in own}
            break
    practice = chosen() is not None
    cards = tuple(
        _card(each, figures.get(name), mine.get(name, 0), practice) for name, each in facts.items()
    )
    same = Machine(cards)
    # Where CUDA was told which cards to count, the recording counts others too.
    agrees = all(
        (card := same.card(each.physical)) is not None and each.uuid in (None, card.uuid)
        for each in context.logical
        if each.name.startswith("GPU")
    )
    return Machine(cards if agrees else _of_devices(context.logical), cores())


def _recorded(context: FailureContext) -> Iterator[samples.AnySample | None]:
    if context.run is None:
        return
    with suppress(OSError, samples.SampleError):
        for line in LineTail(context.run.hardware_file).read(_FIRST_BYTES):
            yield samples.decode(line)


def _card(
    facts: samples.CardFacts, figures: samples.FastFigures | None, mine_mib: int, practice: bool
) -> Card:
    used = figures.memory_used_mib if figures else None
    return Card(
        index=facts.index or 0,
        uuid=facts.uuid,
        name=facts.name,
        bus_id=facts.bus_id,
        total_mib=facts.total_mib,
        used_mib=max(0, used - mine_mib) if used is not None else None,
        reserved_mib=(figures.memory_reserved_mib or 0) if figures else 0,
        lost=bool(facts.gone) and not facts.asleep,
        compute_capability=facts.compute_capability or "",
        practice=practice,
    )


def _of_devices(logical: Sequence[LogicalDevice]) -> tuple[Card, ...]:
    physical = {each.physical: each for each in logical if each.name.startswith("GPU")}
    return tuple(
        Card(int(number) if number.isdecimal() else place, each.uuid or name, each.description)
        for place, (name, each) in enumerate(physical.items())
        for number in [name.rpartition(":")[2]]
    )


_LAST_BYTES = 256 * 1024
_LAST_LOOKS = 5


def holders(context: FailureContext, device: str) -> str:
    """The other processes that last held memory of a card: `held by python 4711 (7.2 GiB)`.

    The `device` (`GPU:0`) is as CUDA counts. Empty if the recording does not say it.
    """
    key = _key(context, machine_seen(context).card(_as_counted_here(context, device)))
    for sample in _last_recorded(context):
        if isinstance(sample, samples.Processes):
            users = [
                CardUser(each.pid, each.memory_mib, each.command or "", each.user or "")
                for each in sample.processes
                if each.card == key and each.pid != os.getpid()
            ]
            return held_by(sorted(users, key=lambda user: -(user.used_mib or 0)))
    return ""


def is_full(context: FailureContext, device: str) -> bool:
    """Whether the card of a logical device has lately had less free than CUDA's libraries need."""
    logical = next((each for each in context.logical if each.name == device), None)
    card = machine_seen(context).card(logical.physical) if logical is not None else None
    if card is None or not card.total_mib:
        return False
    key = _key(context, card)
    looks = (each for each in _last_recorded(context) if isinstance(each, samples.Fast))
    free = [
        card.total_mib - figures.memory_used_mib - (figures.memory_reserved_mib or 0)
        for look in islice(looks, _LAST_LOOKS)
        for figures in look.cards
        if figures.card == key and figures.memory_used_mib is not None
    ]
    return bool(free) and min(free) < LIBRARIES_MIB


def _key(context: FailureContext, card: Card | None) -> str:
    """What the recording calls a card; empty if it has none such."""
    sets = (each.cards for each in _recorded(context) if isinstance(each, samples.Cards))
    wanted = (card.index, card.uuid) if card is not None else None
    return next((each.card for each in next(sets, ()) if (each.index, each.uuid) == wanted), "")


def _as_counted_here(context: FailureContext, device: str) -> str:
    """The plan's name of the card that CUDA, which counts those it may see, calls `device`."""
    visible = context.plan.devices.visible if context.plan is not None else ()
    cards = [each for each in visible if each.startswith("GPU")]
    place = int(device.rpartition(":")[2])
    return cards[place] if place < len(cards) else device


def _last_recorded(context: FailureContext) -> Iterator[samples.AnySample | None]:
    """What was recorded at the end, the last first."""
    lines = last_lines_if_any(context.run.hardware_file, _LAST_BYTES) if context.run else []
    for line in reversed(lines):
        with suppress(samples.SampleError):
            yield samples.decode(line)
