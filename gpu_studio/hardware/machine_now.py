"""The machine with current figures: the inventory, updated by what the sampler has seen since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_studio.contract.samples import Process
from gpu_studio.hardware.command_words import short_command
from gpu_studio.hardware.picture import CardNow, MachinePicture
from gpu_studio.plan.machine import Card, CardUser, Machine

NEWS_MIB = 64
"""Smaller changes of a card's memory are ignored: the figures of a training always fluctuate."""


def machine_now(machine: Machine, picture: MachinePicture, me: str) -> Machine:
    """`machine` updated by the sampler's figures.

    `me` is this user, who is not named as a card's user.
    """
    if "fast" not in picture.seen:
        return machine
    return replace(machine, cards=tuple(_card_now(card, picture, me) for card in machine.cards))


def is_news(before: Machine, after: Machine) -> bool:
    """Whether a plan may be affected: cards, their users, or much of their memory changed."""
    if len(before.cards) != len(after.cards):
        return True
    return any(_differs(one, other) for one, other in zip(before.cards, after.cards, strict=True))


def _differs(before: Card, after: Card) -> bool:
    if _lasting(before) != _lasting(after) or (before.used_mib is None) != (after.used_mib is None):
        return True
    return abs((before.used_mib or 0) - (after.used_mib or 0)) >= NEWS_MIB


def _lasting(card: Card) -> tuple[object, ...]:
    users = frozenset(user.pid for user in card.users)
    return (
        card.uuid,
        card.lost,
        card.asleep,
        card.total_mib,
        card.reserved_mib,
        card.why_unknown,
        users,
    )


def _card_now(card: Card, picture: MachinePicture, me: str) -> Card:
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


def _seen(card: Card, picture: MachinePicture) -> CardNow | None:
    """The watched card, matched by UUID or else PCI address, never by position."""
    if card.instance:
        return picture.instances.get(card.uuid)
    if card.uuid in picture.cards:
        return picture.cards[card.uuid]
    same = (
        each for each in picture.cards.values() if card.bus_id and each.facts.bus_id == card.bus_id
    )
    return next(same, None)


def _users(key: str, picture: MachinePicture, me: str) -> Iterator[CardUser]:
    """The users of the card, the largest first."""
    reported = picture.processes.processes if picture.processes else []
    mine = [each for each in reported if each.card == key]
    for each in sorted(mine, key=_held, reverse=True):
        others = each.user if each.user and each.user != me else ""
        yield CardUser(
            each.pid, each.memory_mib, short_command(each.command) if each.command else "", others
        )


def _held(process: Process) -> int:
    return process.memory_mib or 0
