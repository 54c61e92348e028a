"""A run's `hardware.jsonl` without a sampler: simulated cards with chosen figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gpu_studio.contract import samples
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.files import append_line
from gpu_studio.contract.samples import CardFacts, FastFigures, Instance, Sample
from gpu_studio.hardware.host import plain_bus_id
from gpu_studio.hardware.simulated.profiles import SimulatedCard, profile

NO_UTILISATION = {"utilisation_percent": "not supported by this card"}


def cards(machine: str) -> list[CardFacts]:
    """The cards of a simulated machine (`8xH100`) in NVML's order, as a sampler tells of them."""
    return [_facts(place, card) for place, card in enumerate(profile(machine).cards)]


def identities(facts: Sequence[CardFacts]) -> list[tuple[str | None, str | None]]:
    """The same as a trainer tells of them."""
    return [(card.uuid, card.bus_id) for card in facts]


def used_mib(place: int) -> int:
    """What is in use on the card in this place at the beginning: another figure for each."""
    return 1000 + 100 * place


def record(run: RunDirectory, facts: Sequence[CardFacts], first: float, seconds: int) -> None:
    """Write what a sampler would have written beside `run` in these seconds, once a second."""
    append(run, *_told(facts, first, seconds))


def append(run: RunDirectory, *told: Sample) -> None:
    """Let the sampler write these samples."""
    for sample in told:
        append_line(run.hardware_file, samples.encode(sample))


def fast(facts: Sequence[CardFacts], time: float, second: int = 0) -> samples.Fast:
    """The quick figures of cards and MIG instances at a moment."""
    rows = [
        _figures(card.card, place, second, mig=bool(card.instances))
        for place, card in enumerate(facts)
    ]
    parts = [part.card for card in facts for part in card.instances]
    rows += [_figures(key, 20 + place, second, mig=True) for place, key in enumerate(parts)]
    return samples.Fast(time=time, cards=rows)


def host(time: float, second: int = 0) -> samples.Host:
    """The host at a moment."""
    busy = 60 + 20 * math.sin(second / 5)
    return samples.Host(
        time=time, cpu_percent=busy, memory_used_mib=5000 + second, memory_total_mib=16_000
    )


def _told(facts: Sequence[CardFacts], first: float, seconds: int) -> Iterator[Sample]:
    yield samples.SamplerStarted(time=first, pid=1, gpu_studio="0")
    yield samples.Cards(time=first, cards=list(facts))
    for second in range(seconds):
        if facts:
            yield fast(facts, first + second, second)
        yield host(first + second, second)
        yield samples.Beat(time=first + second, cpu_percent=0.1, memory_mib=30.0, nvml_calls=second)


def _figures(key: str, place: int, second: int, *, mig: bool) -> FastFigures:
    busy = None if mig else round(70 + 2 * place + 10 * math.sin(second / 4 + place))
    return FastFigures(
        card=key,
        memory_used_mib=used_mib(place) + second % 7,
        utilisation_percent=busy,
        power_w=300.0 + 10 * place,
        why=NO_UTILISATION if mig else {},
    )


def _facts(place: int, card: SimulatedCard) -> CardFacts:
    parts = [
        Instance(card=f"MIG-{place:08x}-0000-4000-8000-{number:012x}", name=name, total_mib=total)
        for number, (name, total) in enumerate(card.mig)
    ]
    name = card.name.decode()
    return CardFacts(
        card=card.uuid,
        index=place,
        uuid=card.uuid,
        name=name,
        bus_id=plain_bus_id(card.bus_id),
        instances=parts,
    )
