"""The machine with the figures of this moment: what the inventory told once, and what the sampler has seen since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_studio.hardware.command_words import short_command
from gpu_studio.hardware.picture import CardNow, Picture
from gpu_studio.hardware.samples import Process
from gpu_studio.plan.machine import Card, CardUser, Machine

NEWS_MIB = 64
"""A change of a card's memory by less is no news: the figures of a training move all the time."""


def machine_now(machine: Machine, picture: Picture, me: str) -> Machine:
    """`machine` as the sampler sees it, as far as it has seen it. `me` is this user, who is nobody else."""
    if "fast" not in picture.seen:
        return machine
    return replace(machine, cards=tuple(_card_now(card, picture, me) for card in machine.cards))


def is_news(before: Machine, after: Machine) -> bool:
    """Whether a plan could fare otherwise: a card went or came, its memory changed by much, or others are on it."""
    if len(before.cards) != len(after.cards):
        return True
    return any(_differs(one, other) for one, other in zip(before.cards, after.cards, strict=True))


def _differs(before: Card, after: Card) -> bool:
    if _lasting(before) != _lasting(after) or (before.used_mib is None) != (after.used_mib is None):
        return True
    return abs((before.used_mib or 0) - (after.used_mib or 0)) >= NEWS_MIB


def _lasting(card: Card) -> tuple[object, ...]:
    users = frozenset(user.pid for user in card.users)
    return card.uuid, card.lost, card.asleep, card.total_mib, card.reserved_mib, card.why_unknown, users


def _card_now(card: Card, picture: Picture, me: str) -> Card:
    found = _seen(card, picture)
    if found is None:
        return card
    facts = found.facts
    if facts.gone:
        why = "asleep: it was not woken to ask" if facts.asleep else facts.gone
        return replace(
            card,
            used_mib=None,
            users=(),
            asleep=facts.asleep,
            lost=not facts.asleep,
            why_unknown=why,
            utilisation_percent=None,
        )
    used, reserved = found.figure("memory_used_mib"), found.figure("memory_reserved_mib")
    busy, total = found.figure("utilisation_percent"), found.figure("total_mib")
    return replace(
        card,
        uuid=card.uuid or facts.uuid,
        name=facts.name or card.name,
        total_mib=total if isinstance(total, int) else card.total_mib,
        used_mib=used if isinstance(used, int) else None,
        reserved_mib=reserved if isinstance(reserved, int) else card.reserved_mib,
        utilisation_percent=busy if isinstance(busy, int) else None,
        asleep=False,
        lost=False,
        why_unknown="" if isinstance(used, int) else found.why("memory_used_mib"),
        users=card.users if picture.processes is None else tuple(_users(facts.card, picture, me)),
    )


def _seen(card: Card, picture: Picture) -> CardNow | None:
    """The card as it is watched, joined by its UUID, else by its PCI address, and never by its place."""
    if card.instance:
        return picture.instances.get(card.uuid)
    if card.uuid in picture.cards:
        return picture.cards[card.uuid]
    same = (each for each in picture.cards.values() if card.bus_id and each.facts.bus_id == card.bus_id)
    return next(same, None)


def _users(key: str, picture: Picture, me: str) -> Iterator[CardUser]:
    """Who is on the card, the greatest first."""
    told = picture.processes.processes if picture.processes else []
    mine = [each for each in told if each.card == key]
    for each in sorted(mine, key=_held, reverse=True):
        others = each.user if each.user and each.user != me else ""
        yield CardUser(each.pid, each.memory_mib, short_command(each.command) if each.command else "", others)


def _held(process: Process) -> int:
    return process.memory_mib or 0
