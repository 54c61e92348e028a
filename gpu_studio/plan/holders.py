"""Describe in words who holds a card's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_studio.common.figures import MIB, size
from gpu_studio.plan.machine import CardUser

MOST_HOLDERS = 2


def held_by(users: Sequence[CardUser], runs: Mapping[int, str] | None = None) -> str:
    """The holders in words: `held by python 4711 of grace (7.2 GiB)`.

    The largest are named, the others counted. `runs` gives names for processes that are runs. Empty
    if there are no holders.
    """
    if not users:
        return ""
    named = [_in_words(user, (runs or {}).get(user.pid, "")) for user in users[:MOST_HOLDERS]]
    left = len(users) - MOST_HOLDERS
    more = [f"{left} {'other' if left == 1 else 'others'}"] if left > 0 else []
    return f"held by {', '.join((*named, *more))}"


def _in_words(user: CardUser, run: str) -> str:
    who = run or f"{user.command or 'process'} {user.pid}"
    whose = f" of {user.user}" if user.user else ""
    return (
        f"{who}{whose}" if user.used_mib is None else f"{who}{whose} ({size(user.used_mib * MIB)})"
    )
