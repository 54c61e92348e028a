"""The facts that the doctor's checks judge, collected beforehand so that tests can make them up."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_studio.hardware.identity import Seen
from gpu_studio.hardware.identity_variables import Variables
from gpu_studio.hardware.tensorflow_view import TensorFlowView
from gpu_studio.hardware.topology import Topology
from gpu_studio.plan import CardUser


@dataclass(frozen=True, slots=True)
class DriverCard:
    """A card as the driver reports it. None and empty mean unknown.

    `why_unknown` says why nothing is known at all.
    """

    index: int
    uuid: str = ""
    bus_id: str = ""
    name: str = "NVIDIA card"
    total_mib: int | None = None
    used_mib: int | None = None
    capability: tuple[int, int] | None = None
    persistent: bool | None = None
    compute_mode: int | None = None
    mig: bool = False
    instances: int = 0
    users: tuple[CardUser, ...] = ()
    why_unknown: str = ""

    @property
    def seen(self) -> Seen:
        """The card in the form used to match it with CUDA's and TensorFlow's."""
        return Seen(self.index, self.uuid, self.bus_id, self.name)


@dataclass(frozen=True, slots=True)
class Survey:
    """The driver's answers: its version, the newest CUDA it can run (`12.4`), the cards.

    Or why none. `asleep` are the PCI addresses of cards that were not queried, because that would
    have woken them. `installed` says whether the driver's library exists; `simulated` names the
    simulated machine, or is empty.
    """

    driver: str = ""
    cuda: str = ""
    cards: tuple[DriverCard, ...] = ()
    asleep: tuple[str, ...] = ()
    topology: Topology = field(default_factory=Topology)
    why_no_answer: str = ""
    installed: bool = True
    simulated: str = ""


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device file under /dev: whether this user can open it, its group, and its mode (`0660`)."""

    path: str
    readable: bool
    writable: bool
    group: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The free space on the disk of a folder, in MiB.

    `why_unusable` says why it cannot be written to.
    """

    folder: str
    free_mib: int = 0
    total_mib: int = 0
    why_unusable: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """What the operating system reports, without the driver.

    `platform` is Python's `sys.platform`. `container` is docker, podman, kubernetes, lxc or
    another's name, or empty. `module` is the version of the loaded NVIDIA kernel module, `rival`
    another driver that holds the cards. `listed` are the PCI addresses of NVIDIA's cards.
    `shared_mib` is the size of /dev/shm; None is unknown.
    """

    platform: str = "linux"
    wsl: bool = False
    container: str = ""
    user: str = ""
    module: str = ""
    rival: str = ""
    listed: tuple[str, ...] = ()
    nodes: tuple[DeviceNode, ...] = ()
    variables: Variables = field(default_factory=Variables)
    container_cards: str | None = None
    shared_mib: int | None = None
    library_path: str = ""
    disk_space: DiskSpace | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts. `tensorflow` is None if it was not asked or did not answer.

    Then the reason is set.
    """

    system: System = field(default_factory=System)
    survey: Survey = field(default_factory=Survey)
    tensorflow: TensorFlowView | None = None
    why_no_tensorflow: str = ""

    @property
    def has_card(self) -> bool:
        """Whether there is an NVIDIA card according to any source, answering or not."""
        return bool(self.survey.cards or self.survey.asleep or self.system.listed)
