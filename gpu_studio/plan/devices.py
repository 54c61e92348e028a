"""The devices of a machine, TensorFlow's logical devices on them, and the replicas on these.

`gpu_studio.hardware` collects the facts about the machine. When a change renumbers the logical
devices, the plan's references to them are kept correct. Which devices hold the model, how replicas
share a batch, which all-reduce `auto` takes and which ones the devices cannot do stands here too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from gpu_studio.plan.cluster_values import MOST_REPLICAS
from gpu_studio.plan.strategies import cluster_of, strategy_of
from gpu_studio.plan.values import DeviceSettings, Distribution, Plan, listed

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
    the machine, but the driver does not answer for it; `why_unknown` gives the reason. A `practice`
    card does not exist: its memory is the host's, and its kernels are the CPU's.
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
    practice: bool = False

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
    on. `practice`, `4 × 2 GiB`, says that they are practice cards, which can be trained on.
    """

    cards: tuple[Card, ...] = ()
    cpu_cores: int = 1
    memory_mib: int = 0
    why_no_cards: str = ""
    cpu_name: str = ""
    simulated: bool = False
    practice: str = ""

    @property
    def marked(self) -> str:
        """What must accompany cards that are not there; empty for real ones."""
        if self.practice:
            return f"practice: {self.practice}"
        return "simulated" if self.simulated else ""

    def title(self, device: str) -> str:
        """A person's name for the physical device that a plan names so: `GPU 0`, `the CPU`."""
        card = self.card(device)
        return title_of(device) if card is None else card.title

    def computes_on_cpu(self, device: str) -> bool:
        """Whether the CPU does the work of this physical device: a CPU, or a practice card."""
        return bool(self.practice) or device.startswith("CPU")

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


CPU = "CPU:0"
"""The one physical device that is no card."""

_NUMBER = "(?:0|[1-9][0-9]{0,3})"
_PHYSICAL = re.compile(rf"CPU:0|GPU:{_NUMBER}|(?:GPU|MIG)-[0-9A-Za-z-]{{1,64}}")
_LOGICAL = re.compile(rf"(?:CPU|GPU):{_NUMBER}")


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """A logical device: TensorFlow's `name` (`GPU:0`), the `physical` device, the limit in MiB."""

    name: str
    physical: str
    limit_mib: int | None = None


class DeviceLike(Protocol):
    """What logical devices in plans and in events have in common."""

    @property
    def name(self) -> str:
        """TensorFlow's name for it, such as `GPU:0`."""

    @property
    def physical(self) -> str:
        """The physical device that it is a part of."""


def is_physical_name(device: str) -> bool:
    """Whether this can name a physical device in a plan: `GPU:0`, `CPU:0`, a UUID or its prefix."""
    return _PHYSICAL.fullmatch(device) is not None


def is_logical_name(device: str) -> bool:
    """Whether this can be TensorFlow's name of a logical device: `GPU:3`, `CPU:0`."""
    return _LOGICAL.fullmatch(device) is not None


def visible_cards(devices: DeviceSettings, machine: Machine) -> tuple[Card, ...]:
    """The cards that TensorFlow may see, in the order in which it will number them.

    That is PCI bus order, or the order in which `devices.visible` names cards. Of cards in MIG mode
    CUDA shows one instance and nothing else: if none is named, the first.
    """
    if not devices.visible:
        first = next((card for card in machine.cards if card.instance), None)
        return machine.cards if first is None else (first,)
    named = (machine.card(device) for device in devices.visible)
    return tuple(dict.fromkeys(card for card in named if card))


def logical_devices(plan: Plan, machine: Machine) -> tuple[PlannedDevice, ...]:
    """Every logical device under the plan on this machine.

    The GPUs, then the CPUs, numbered as TensorFlow does.
    """
    cards = tuple(card.device for card in visible_cards(plan.devices, machine))
    return gpus(plan.devices, cards, machine) + cpus(plan.devices)


def default_devices(logical: Iterable[DeviceLike]) -> tuple[str, ...]:
    """All GPUs among the logical devices, or all CPUs where there is no GPU."""
    names = tuple(device.name for device in logical)
    return tuple(name for name in names if name.startswith("GPU")) or names


def gpus(
    devices: DeviceSettings, cards: Iterable[str], machine: Machine | None = None
) -> tuple[PlannedDevice, ...]:
    """The logical GPUs of these physical cards."""
    slices = [(card, limit) for card in cards for limit in _slices(devices, card, machine) or (0,)]
    return tuple(
        PlannedDevice(f"GPU:{index}", card, limit or None)
        for index, (card, limit) in enumerate(slices)
    )


def cpus(devices: DeviceSettings) -> tuple[PlannedDevice, ...]:
    """The logical CPUs. The CPU is always there, whatever `devices.visible` says."""
    count = max(1, len(_slices(devices, CPU, None)))
    return tuple(PlannedDevice(f"CPU:{index}", CPU) for index in range(count))


def _slices(devices: DeviceSettings, physical: str, machine: Machine | None) -> tuple[int, ...]:
    for carve in devices.carve:
        if physical_name(carve.device, machine) == physical:
            return carve.slices_mib
    return ()


def physical_name(device: str, machine: Machine | None) -> str:
    """The canonical name of a physical device that a plan may also name by UUID.

    Without a machine, the name unchanged.
    """
    card = machine.card(device) if machine else None
    return card.device if card else device


Slice = tuple[str, int]
"""A physical device, and which of its slices."""
Names = Mapping[str, str | None]
"""The name that each logical device has now; None if it is gone."""


def followed(
    before: Plan,
    after: Plan,
    machine: Machine,
    device: str = "",
    origins: tuple[int | None, ...] = (),
) -> Plan:
    """`after`, with the logical devices that `before` named under their new names.

    A device stays the same slice of the same physical device; `origins` gives, for each slice of
    `device`, its index before. If a plan named all the devices that train, it uses all of them
    again, new ones included.
    """
    old, new = _slice_of_each(before, machine), _slice_of_each(after, machine)
    was = {(device, now): origin for now, origin in enumerate(origins)}
    called = {(place[0], was.get(place, place[1])): name for name, place in new.items()}
    names = {name: called.get(place) for name, place in old.items()}
    if all(name == now for name, now in names.items()) and len(new) == len(old):
        return after
    everything = default_devices(logical_devices(before, machine))
    return replace(after, distribution=_renamed(after.distribution, names, everything))


def _slice_of_each(plan: Plan, machine: Machine) -> dict[str, Slice]:
    """The logical devices, each with the slice that it is."""
    seen: dict[str, int] = {}
    found: dict[str, Slice] = {}
    for each in logical_devices(plan, machine):
        found[each.name] = (each.physical, seen.get(each.physical, 0))
        seen[each.physical] = found[each.name][1] + 1
    return found


def _renamed(chosen: Distribution, names: Names, everything: tuple[str, ...]) -> Distribution:
    devices = () if set(everything) <= set(chosen.devices) else _names_now(chosen.devices, names)
    parameters = chosen.parameter_device
    placed = chosen.placed
    if placed is not None:
        layers = {
            layer: now
            for layer, devices in placed.layers.items()
            if (now := _names_now(devices, names))
        }
        placed = replace(placed, layers=layers)
    return replace(
        chosen,
        devices=devices,
        parameter_device=names.get(parameters, parameters) if parameters else None,
        placed=placed,
    )


def _names_now(devices: tuple[str, ...], names: Names) -> tuple[str, ...]:
    # A name from a file that never existed stays: the rules say what is wrong with it.
    return tuple(now for device in devices if (now := names.get(device, device)) is not None)


def replicas(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The names of the logical devices that hold a replica, or layers of a placed model.

    They are among `distribution.devices`; if the plan names none, among all GPUs, or without a GPU
    among all CPUs. Names in the plan are taken as they are: `validate` says which do not exist.
    """
    names = plan.distribution.devices or default_devices(logical_devices(plan, machine))
    return strategy_of(plan).replica_devices(plan.distribution, names)


def replica_devices(plan: Plan, machine: Machine) -> tuple[PlannedDevice, ...]:
    """The logical devices that `replicas` names, in that order, without those that do not exist."""
    known = {device.name: device for device in logical_devices(plan, machine)}
    return tuple(known[name] for name in replicas(plan, machine) if name in known)


def replica_count(plan: Plan, machine: Machine) -> int:
    """The number of replicas that share a global batch; a placed model is one."""
    return 1 if strategy_of(plan).places_layers else in_all(plan, replicas(plan, machine))


def in_all(plan: Plan, replicas: Sequence[str]) -> int:
    """How many replicas there are, where a process alone would have these.

    Each worker of a cluster has as many, except that workers of one machine share its cards. Where
    workers update servers on their own, each has whole batches, as one alone.
    """
    cluster = cluster_of(plan)
    if cluster is not None and strategy_of(plan).serves and cluster.updates == "async":
        return len(replicas)
    shares = cluster and cluster.start == "local" and any(r.startswith("GPU") for r in replicas)
    workers = 1 if cluster is None or shares else cluster.workers_counted
    return min(len(replicas) * workers, max(len(replicas), MOST_REPLICAS))


def parameter_home(plan: Plan, machine: Machine) -> str | None:
    """The logical device that keeps all variables; None if each replica keeps its own."""
    return strategy_of(plan).parameter_home(plan.distribution, replicas(plan, machine))


def shares_of(plan: Plan, count: int) -> tuple[int, ...]:
    """The samples of a step for each of `count` replicas; the first ones may have one more."""
    size = plan.training.batch_size
    if plan.training.batch_scope == "replica":
        return (size,) * count
    return tuple(size // count + (place < size % count) for place in range(count))


class NcclRefusal(NamedTuple):
    """Why NCCL cannot connect these devices: `where`, in a few words, and `why`, in a clause."""

    where: str
    why: str


def cards_alone(devices: Sequence[str]) -> bool:
    """Whether these logical devices, each on a card or CPU of its own, are several cards.

    Exported scripts decide by this very expression.
    """
    return len(devices) > 1 and all(name.startswith("GPU") for name in devices)


def suited(devices: Sequence[DeviceLike]) -> str:
    """The all-reduce that `auto` takes for replicas on these devices.

    NCCL joins whole cards. Slices of a card and logical CPUs share their memory: there the
    gradients are summed on one device, and a ring between them would only add copies.
    """
    apart = len({device.physical for device in devices}) == len(devices)
    whole = apart and cards_alone([device.name for device in devices])
    return "nccl" if whole else "reduction_to_one_device"


def effective(plan: Plan, machine: Machine) -> str:
    """The all-reduce that a run of the plan takes on this machine."""
    wanted = plan.distribution.all_reduce
    return suited_to(plan, replica_devices(plan, machine)) if wanted == "auto" else wanted


def suited_to(plan: Plan, devices: Sequence[DeviceLike]) -> str:
    """The all-reduce that `auto` takes for replicas on these devices under the plan's strategy."""
    best = suited(devices)
    return best if best in strategy_of(plan).all_reduces else "ring"


def nccl_refusals(devices: Sequence[DeviceLike]) -> Iterator[NcclRefusal]:
    """Why NCCL cannot connect these devices; empty if it can."""
    if any(device.name.startswith("CPU") for device in devices):
        yield NcclRefusal("on CPUs", "NCCL joins NVIDIA cards only")
    cards = Counter(device.physical for device in devices if not device.name.startswith("CPU"))
    shared = [card for card, count in cards.items() if count > 1]
    if shared:
        why = f"NCCL refuses two replicas on one card, here {listed(map(title_of, shared))}"
        yield NcclRefusal("with several slices of a card", why)


def why_not_nccl(devices: Sequence[DeviceLike]) -> str:
    """Why NCCL refuses these devices, in a clause; empty if it takes them."""
    return next((refusal.why for refusal in nccl_refusals(devices)), "")


def halves_leave_one_out(replicas: int) -> bool:
    """Whether `hierarchical_copy` would omit a replica's gradient.

    TensorFlow 2.21 sums two halves of `replicas // 2` replicas each.
    """
    return replicas > 1 and replicas % 2 == 1
