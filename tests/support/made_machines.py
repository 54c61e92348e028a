"""Machines for tests, and processes that answer with their inventory."""

from __future__ import annotations

import msgspec

from gpu_studio.plan import Card, Machine

WITHOUT_CARDS = Machine(
    cpu_cores=4, memory_mib=16 * 1024, why_no_cards="no NVIDIA driver is installed"
)
TWO_CARDS = Machine(
    cards=tuple(
        Card(
            number,
            f"GPU-{number}",
            "NVIDIA Test",
            total_mib=24_576,
            used_mib=1024 * number,
            reserved_mib=300,
        )
        for number in range(2)
    ),
    cpu_cores=16,
    memory_mib=131_072,
)
MIB_OF_80_GIB = 80 * 1024
ONE_LARGE_CARD = Machine(
    cards=(
        Card(0, "GPU-80", "NVIDIA Test", total_mib=MIB_OF_80_GIB, used_mib=1024, reserved_mib=512),
    ),
    cpu_cores=16,
    memory_mib=131_072,
)


def answering(machine: Machine) -> tuple[str, ...]:
    """The command line of a process that answers as the inventory of this machine does."""
    answer = msgspec.json.encode(machine).decode()
    return "echo", answer
