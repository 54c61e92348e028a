"""The cards of the machine as they were when a run began, from the recording beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from gpu_studio.contract import samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import LogicalDevice
from gpu_studio.contract.files import LineTail
from gpu_studio.plan import Card, Machine
from gpu_studio.trainer.environment import cores

_FIRST_BYTES = 256 * 1024


def machine_seen(run: RunDirectory | None, logical: Sequence[LogicalDevice]) -> Machine:
    """The machine with its cards' memory, and what others held of it before the run took any.

    Without a recording the cards are those of the run's devices, and their memory is not known.
    """
    facts: dict[str, samples.CardFacts] = {}
    figures: dict[str, samples.FastFigures] = {}
    for sample in _recorded(run) if run else ():
        if isinstance(sample, samples.Cards) and not facts:
            facts = {each.card: each for each in sample.cards if each.index is not None}
        if isinstance(sample, samples.Fast):
            figures = {each.card: each for each in sample.cards}
            break
    cards = tuple(_card(each, figures.get(name)) for name, each in facts.items())
    same = Machine(cards)
    # Where CUDA was told which cards to count, the recording counts others too.
    agrees = all(
        (card := same.card(each.physical)) is not None and each.uuid in (None, card.uuid)
        for each in logical
        if each.name.startswith("GPU")
    )
    return Machine(cards if agrees else _of_devices(logical), cores())


def _recorded(run: RunDirectory) -> Iterator[samples.AnySample | None]:
    with suppress(OSError, samples.SampleError):
        for line in LineTail(run.hardware_file).read(_FIRST_BYTES):
            yield samples.decode(line)


def _card(facts: samples.CardFacts, figures: samples.FastFigures | None) -> Card:
    return Card(
        index=facts.index or 0,
        uuid=facts.uuid,
        name=facts.name,
        bus_id=facts.bus_id,
        total_mib=facts.total_mib,
        used_mib=figures.memory_used_mib if figures else None,
        reserved_mib=(figures.memory_reserved_mib or 0) if figures else 0,
        lost=bool(facts.gone) and not facts.asleep,
        compute_capability=facts.compute_capability or "",
    )


def _of_devices(logical: Sequence[LogicalDevice]) -> tuple[Card, ...]:
    physical = {each.physical: each for each in logical if each.name.startswith("GPU")}
    return tuple(
        Card(int(number) if number.isdecimal() else place, each.uuid or name, each.description)
        for place, (name, each) in enumerate(physical.items())
        for number in [name.rpartition(":")[2]]
    )
