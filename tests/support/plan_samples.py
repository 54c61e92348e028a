"""Machines and plans shared by several tests, and the rules' findings about them."""

from __future__ import annotations

from gpu_studio.plan import Card, Machine, Plan, loads, validate

NO_CARDS = Machine(
    cpu_cores=4, memory_mib=16_000, why_no_cards="no NVIDIA driver is installed on this machine"
)
ONE_CARD = Machine((Card(0, "GPU-5d0f", "Card A", "0000:01:00.0", 8192, 500, 200),), 8, 32_000)
TWO_CARDS = Machine(
    (
        Card(0, "GPU-5d0f", "Card A", "0000:01:00.0", 8192, 500, 200),
        Card(1, "GPU-5d1e", "Card B", "0000:02:00.0", 24_576, 0, 0),
    ),
    16,
    64_000,
)
MINIMAL = '[model]\nname = "mlp"\n[data]\nname = "digits"\n'


def a_plan(text: str = "") -> Plan:
    """The smallest plan that can run, with `text` added."""
    return loads(MINIMAL + text)


def said(plan: Plan, machine: Machine | None = None) -> list[str]:
    """What the rules say of a plan, a sentence each."""
    return [str(problem) for problem in validate(plan, machine)]
