"""Ports that nothing listens on, as a cluster finds them; let go of at once."""

from __future__ import annotations

from contextlib import ExitStack

from gpu_studio.trainer.cluster.ports import held_ports


def free_ports(count: int, first: int = 0) -> list[int]:
    """So many ports; see `held_ports`."""
    with ExitStack() as held:
        return held_ports(held, count, first)
