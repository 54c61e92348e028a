"""Who holds the memory of a card, in words, and how much memory that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_studio.plan.machine import MIB, CardUser

GIB = 1024 * MIB
MOST_HOLDERS = 2


def gib(value: int) -> str:
    """Bytes as GiB with one decimal, which does not change with every look."""
    return f"{value / GIB:.1f} GiB"


def amount(value: int) -> str:
    """Bytes as GiB from 1 GiB on, else as whole MiB: `17.2 GiB`, `640 MiB`."""
    return gib(value) if value >= GIB else f"{value / MIB:,.0f} MiB"


def held_by(users: Sequence[CardUser], runs: Mapping[int, str] | None = None) -> str:
    """Who has the memory, `held by python 4711 of grace (7.2 GiB)`: the greatest by name, the others counted.

    `runs` has names of processes that are runs. Empty where there is nobody.
    """
    if not users:
        return ""
    named = [_holding(user, (runs or {}).get(user.pid, "")) for user in users[:MOST_HOLDERS]]
    left = len(users) - MOST_HOLDERS
    more = [f"{left} {'other' if left == 1 else 'others'}"] if left > 0 else []
    return f"held by {', '.join((*named, *more))}"


def _holding(user: CardUser, run: str) -> str:
    who = run or f"{user.command or 'process'} {user.pid}"
    whose = f" of {user.user}" if user.user else ""
    return f"{who}{whose}" if user.used_mib is None else f"{who}{whose} ({gib(user.used_mib * MIB)})"
