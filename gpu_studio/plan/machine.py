"""The facts about a machine that the rules of a plan need; `gpu_studio.hardware` collects them."""

from __future__ import annotations

from dataclasses import dataclass

LITTLE_MIB, LITTLE_SHARE = 1024, 0.05
"""A card counts as free if at most this much of its memory, or this share if larger, is held."""
IDLE_PERCENT = 10
"""A card counts as free if it is busy for less than this share of the time."""
UUID_PREFIX = "GPU-"
INSTANCE_PREFIX = "MIG-"


@dataclass(frozen=True, slots=True)
class CardUser:
    """A process that holds `used_mib` of a card (None if unknown).

    `user` is set if it is someone else's. `command` describes it recognisably, and is empty if it
    is not a process of this host or container.
    """

    pid: int
    used_mib: int | None = None
    command: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One NVIDIA card, or an instance of one in MIG mode.

    `index` counts in PCI bus order, as TensorFlow does if the plan hides no cards. If
    CUDA_VISIBLE_DEVICES is set, it counts the cards named there, in their order, and there are no
    others. Each `instance` (`3g.40gb`) of a card in MIG mode is a card here, with the index of the
    real one: CUDA shows a process one instance, and no other instance or card beside it.

    `total_mib` and `used_mib` are binary mebibytes; None is unknown, and `why_unknown` gives the
    reason. `reserved_mib` is what the driver and the firmware keep for themselves; it is part of
    the total, not of the used memory. `users` are the processes that hold memory, if that was
    queried. `compute_capability` is CUDA's, `8.9`; empty if unknown. A card that is `lost` is in
    the machine, but the driver does not answer for it; `why_unknown` gives the reason.
    """

    index: int
    uuid: str
    name: str
    bus_id: str = ""
    total_mib: int | None = None
    used_mib: int | None = None
    reserved_mib: int = 0
    asleep: bool = False
    lost: bool = False
    instance: str = ""
    why_unknown: str = ""
    users: tuple[CardUser, ...] = ()
    compute_capability: str = ""
    utilisation_percent: int | None = None

    @property
    def compute_major(self) -> int | None:
        """The major version of the compute capability; None if unknown."""
        major = self.compute_capability.partition(".")[0]
        return int(major) if major.isdecimal() else None

    @property
    def device(self) -> str:
        """The physical device's name in a plan, `GPU:0`; an instance has no number, so its UUID."""
        return self.uuid if self.instance else f"GPU:{self.index}"

    @property
    def title(self) -> str:
        """The card's name for a person, `GPU 0`.

        `GPU:0` would be a logical device of TensorFlow.
        """
        return f"GPU {self.index} {self.instance}".rstrip()

    @property
    def answers(self) -> bool:
        """Whether it can be queried now without waking it."""
        return not self.lost and not self.asleep

    @property
    def is_free(self) -> bool:
        """Whether it seems unused: no other user's program, little memory held, idle."""
        others = any(user.user for user in self.users)
        little = max(LITTLE_MIB, LITTLE_SHARE * (self.usable_mib or 0))
        idle = (self.utilisation_percent or 0) < IDLE_PERCENT
        return self.answers and not others and (self.used_mib or 0) <= little and idle

    @property
    def usable_mib(self) -> int | None:
        """Memory that programs can have, in MiB; None if unknown."""
        return None if self.total_mib is None else max(0, self.total_mib - self.reserved_mib)

    @property
    def free_mib(self) -> int | None:
        """Memory that nobody uses now, in MiB; None if unknown."""
        if self.usable_mib is None or self.used_mib is None:
            return None
        return max(0, self.usable_mib - self.used_mib)


def title_of(device: str) -> str:
    """The name for a person, `GPU 0`, of the physical device that a plan names `GPU:0`."""
    return (
        device.replace(":", " ")
        if device.startswith("GPU:")
        else "the CPU"
        if device == "CPU:0"
        else device
    )


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that a plan is checked against: the cards, in PCI bus order, and the CPU.

    `cpu_cores` are those that this user's programs may use; `memory_mib` is the host's, 0 if
    unknown. `simulated` says that the cards do not exist: they can be looked at, but not trained
    on.
    """

    cards: tuple[Card, ...] = ()
    cpu_cores: int = 1
    memory_mib: int = 0
    why_no_cards: str = ""
    cpu_name: str = ""
    simulated: bool = False

    def title(self, device: str) -> str:
        """A person's name for the physical device that a plan names so: `GPU 0`, `the CPU`."""
        card = self.card(device)
        return title_of(device) if card is None else card.title

    def card(self, device: str) -> Card | None:
        """The card that a plan names `GPU:1` or by (a prefix of) its UUID.

        None if there is no such card. A prefix that matches several cards names none. The number of
        a card in MIG mode means its first instance, as it does to CUDA.
        """
        for card in self.cards:
            if device and device in (card.device, card.uuid, f"GPU:{card.index}"):
                return card
        if len(device) <= len(UUID_PREFIX) or not device.startswith((UUID_PREFIX, INSTANCE_PREFIX)):
            return None
        begun = [card for card in self.cards if card.uuid.startswith(device)]
        return begun[0] if len(begun) == 1 else None
