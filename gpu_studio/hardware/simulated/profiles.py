"""The machines that can be simulated, with their cards and the programs on them.

The programs' process ids cannot be real: nobody can end one by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from gpu_studio.hardware.source import KnownProcess, SimulationError

NOT_SUPPORTED, NO_PERMISSION, LOST = 3, 4, 15
"""NVML's numbers of these errors."""
PEER_OK, CHIPSET_NOT_SUPPORTED, GPU_NOT_SUPPORTED = 0, 1, 2
"""NVML's nvmlGpuP2PStatus_t."""
MOST_CARDS = 64


@dataclass(frozen=True, slots=True)
class SimulatedCard:
    """One card. Memory in MiB, power in W, clocks in MHz, temperatures in °C.

    `capability` is (9, 0) for 9.0. `errors` has the NVML error code of each C function that fails
    for this card. `peers` (for each card of the machine NVML's nvmlGpuP2PStatus_t), `uuid` and
    `bus_id` are empty until the card is part of a machine.
    """

    name: bytes
    total: int
    power: int
    capability: tuple[int, int]
    architecture: int
    pcie: int = 4
    idle_power: int = 30
    reserved: int = 512
    clock: int = 1980
    memory_clock: int = 2619
    slowdown: int = 87
    busy: float = 1.0
    fan: bool = False
    ecc: bool = True
    nvlinks: int = 0
    mig: tuple[tuple[str, int], ...] = ()
    asleep: bool = False
    errors: dict[str, int] = field(default_factory=dict)
    peers: tuple[int, ...] = ()
    uuid: str = ""
    bus_id: str = ""

    def at(self, place: int) -> SimulatedCard:
        """The card as number `place` of its machine."""
        # Counted from a number that no real card has, so that the two cannot be confused.
        uuid = f"GPU-51b71a7e-0000-4000-8000-{place:012x}"
        return replace(self, uuid=uuid, bus_id=f"00000000:{0x10 + 8 * place:02X}:00.0")


@dataclass(frozen=True, slots=True)
class Profile:
    """A machine's cards, and its driver's versions; CUDA's as NVML writes it, 12040 for 12.4."""

    cards: tuple[SimulatedCard, ...]
    driver: str = "570.124.06"
    cuda: int = 12080


H100 = SimulatedCard(
    b"NVIDIA H100 80GB HBM3",
    81_559,
    700,
    (9, 0),
    9,
    pcie=5,
    idle_power=70,
    reserved=593,
    nvlinks=18,
)
A100 = SimulatedCard(
    b"NVIDIA A100-SXM4-80GB",
    81_920,
    400,
    (8, 0),
    7,
    idle_power=58,
    clock=1410,
    memory_clock=1593,
    nvlinks=12,
)
L4 = SimulatedCard(
    b"NVIDIA L4", 23_034, 72, (8, 9), 8, idle_power=16, reserved=472, clock=2040, memory_clock=6251
)
RTX_4090 = SimulatedCard(
    b"NVIDIA GeForce RTX 4090", 24_564, 450, (8, 9), 8, idle_power=22, clock=3105,
    memory_clock=10_501, slowdown=90, fan=True, ecc=False,
)  # fmt: skip
_NO_UTILISATION = {"nvmlDeviceGetUtilizationRates": NOT_SUPPORTED}
MIG = replace(
    A100,
    mig=(
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 40_192),
        ("NVIDIA A100-SXM4-80GB MIG 2g.20gb", 19_968),
    ),
    errors=_NO_UTILISATION,
)
_FORBIDDEN = dict.fromkeys(
    (
        "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetPcieThroughput",
    ),
    NO_PERMISSION,
)  # fmt: skip
BROKEN = (
    H100,
    replace(
        H100,
        errors={"nvmlDeviceGetHandleByIndex_v2": LOST, "nvmlDeviceGetHandleByPciBusId_v2": LOST},
    ),
    replace(RTX_4090, errors=_FORBIDDEN),
    replace(RTX_4090, asleep=True),
    replace(L4, name=b"NVIDIA \xff\xfeL4"),
)
KINDS: Final = {"H100": H100, "A100": A100, "RTX4090": RTX_4090, "L4": L4, "MIG": MIG}
BROKEN_MIX: Final = "broken"
NAMES: Final = (*KINDS, BROKEN_MIX)


def profile(name: str) -> Profile:
    """The machine called `name`: a card, `H100`, or several, `8xH100`, or `broken`.

    Raises SimulationError if there is none.
    """
    if name.lower() == BROKEN_MIX:
        return machine(BROKEN)
    found = re.fullmatch(r"(?:([0-9]{1,3})\s*[x×])?(.+)", name.strip(), re.IGNORECASE)
    kinds = {key.lower(): card for key, card in KINDS.items()}
    card = kinds.get(re.sub(r"[\s_-]", "", found[2]).lower()) if found else None
    if found is None or card is None:
        raise SimulationError(f"there is no simulated machine {name!r}: {_CHOICE}")
    count = int(found[1] or 1)
    if count > MOST_CARDS:
        raise SimulationError(
            f"{count} cards are more than any machine has: simulate {MOST_CARDS} or fewer"
        )
    return machine([card] * count)


def machine(cards: Iterable[SimulatedCard]) -> Profile:
    """A machine with these cards, in this order."""
    placed = [card.at(place) for place, card in enumerate(cards)]
    return Profile(
        tuple(replace(card, peers=tuple(_peer(card, other) for other in placed)) for card in placed)
    )


def _peer(one: SimulatedCard, other: SimulatedCard) -> int:
    """Gaming cards, which have a fan, cannot read each other's memory; nor can different cards."""
    if one.fan or other.fan:
        return CHIPSET_NOT_SUPPORTED
    return PEER_OK if one.architecture == other.architecture else GPU_NOT_SUPPORTED


_CHOICE = (
    f"choose from {', '.join(NAMES)}, with a number of cards before "
    "it (8xH100), or name a recording"
)


FIRST_PID = 2**22 + 1
"""Linux counts processes to 2²² at most."""
_COMMANDS = (
    ("ada", "python train.py --config large.toml"),
    ("grace", "python -m gpu_studio.trainer runs/20261120T190000Z-digits"),
    ("emmy", "jupyter-kernel sweep.ipynb"),
)


def pid_on(place: int, instance: int = 0) -> int:
    """The process on the card with this index, or on its instance in MIG mode."""
    return FIRST_PID + place + MOST_CARDS * instance


def known(pid: int) -> KnownProcess | None:
    """The user and command of a simulated process; None for any other id."""
    if pid < FIRST_PID:
        return None
    user, command = _COMMANDS[(pid - FIRST_PID) % len(_COMMANDS)]
    return KnownProcess(user, command, 96.0, 4_210)
