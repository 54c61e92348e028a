"""The facts that the doctor's checks judge, collected beforehand so that tests can invent them.

`system` reads what the operating system knows of cards and driver, without the driver.
`tensorflow_view` parses a trainer process's answer to the question `devices` of
`gpu_studio.trainer.ask`. The driver's part, a `Survey`, is made in a process of its own.
"""

from __future__ import annotations

import getpass
import grp
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio.hardware.host import pci_cards
from gpu_studio.hardware.identity import Seen, Variables
from gpu_studio.hardware.topology import Topology
from gpu_studio.plan import MIB, CardUser


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
    simulated machine, `practice` the practice cards, or is empty.
    """

    driver: str = ""
    cuda: str = ""
    cards: tuple[DriverCard, ...] = ()
    asleep: tuple[str, ...] = ()
    topology: Topology = field(default_factory=Topology)
    why_no_answer: str = ""
    installed: bool = True
    simulated: str = ""
    practice: str = ""


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
    `shared_mib` is the size of /dev/shm; None is unknown. `ends_at_logout` says whether this
    process, and what it starts, end when the user logs out.
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
    ends_at_logout: bool = False


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


class ViewError(ValueError):
    """An answer that does not contain TensorFlow's view."""


@dataclass(frozen=True, slots=True)
class Build:
    """What this TensorFlow was built for.

    `capabilities` are `sm_80` (machine code) and `compute_90` (machine code and PTX).
    """

    cuda: str = ""
    cudnn: str = ""
    capabilities: tuple[str, ...] = ()
    is_cuda: bool = False


@dataclass(frozen=True, slots=True)
class Physical:
    """A physical device of TensorFlow, `GPU:0`.

    TensorFlow gives a card's PCI address, but no UUID.
    """

    name: str
    card: str = ""
    bus_id: str = ""
    capability: tuple[int, int] | None = None

    @property
    def seen(self) -> Seen:
        """The device in the form used to match it with the driver's cards."""
        return Seen(int(self.name.rpartition(":")[2]), bus_id=self.bus_id, name=self.card)


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical device of TensorFlow. `limit_bytes` is the most that TensorFlow would use.

    None is unknown.
    """

    name: str
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CudaCard:
    """A card as CUDA numbers it."""

    ordinal: int
    uuid: str = ""
    bus_id: str = ""
    name: str = ""

    @property
    def seen(self) -> Seen:
        """The card in the form used to match it with the driver's."""
        return Seen(self.ordinal, self.uuid, self.bus_id, self.name)


@dataclass(frozen=True, slots=True)
class Cuda:
    """The CUDA of the driver (libcuda).

    `why_not` says in words why it cannot be used; `error` is CUDA's own name.
    """

    version: str = ""
    cards: tuple[CudaCard, ...] = ()
    error: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """A CUDA library that this TensorFlow loads: its path, or why it cannot be loaded."""

    name: str
    path: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class TensorFlowView:
    """TensorFlow in a trainer process. `errors` are its messages where it did not answer.

    `libraries` are those it is known to load, `unloaded` those it said it could not; `words` are
    the last warnings in its log.
    """

    tensorflow: str
    keras: str = ""
    python: str = ""
    executable: str = ""
    build: Build = field(default_factory=Build)
    physical: tuple[Physical, ...] = ()
    logical: tuple[Logical, ...] = ()
    cuda: Cuda = field(default_factory=Cuda)
    libraries: tuple[Library, ...] = ()
    unloaded: tuple[Library, ...] = ()
    errors: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[Physical, ...]:
        """The cards among the physical devices."""
        return tuple(device for device in self.physical if device.name.startswith("GPU:"))


def tensorflow_view(answer: Mapping[str, Any]) -> TensorFlowView:
    """The view in an answer to the question `devices`. Raises ViewError if it is none."""
    try:
        return msgspec.convert(answer, TensorFlowView)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ViewError(f"the answer does not tell what TensorFlow sees: {error}") from error


ROOT = Path("/")
CONTROLS = ("nvidiactl", "nvidia-uvm", "dxg")
LINGERING = "var/lib/systemd/linger"
RIVALS = ("nouveau", "vfio_pci")
CONTAINER_FILES = (("run/.containerenv", "podman"), (".dockerenv", "docker"))
CONTAINER_WORDS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
)


def system(
    runs: Path | None = None, environment: Mapping[str, str] | None = None, root: Path = ROOT
) -> System:
    """Read the system. `runs` is the folder whose disk is examined.

    `root` contains /proc, /sys and /dev.
    """
    variables = os.environ if environment is None else environment
    return System(
        platform=sys.platform,
        wsl=is_wsl(root),
        container=container(variables, root),
        user=_user(),
        module=module_version(root),
        rival=_rival(root),
        listed=tuple(card.bus_id for card in pci_cards(root / "sys/bus/pci/devices")),
        nodes=device_nodes(root),
        variables=Variables(
            variables.get("CUDA_VISIBLE_DEVICES"), variables.get("CUDA_DEVICE_ORDER")
        ),
        container_cards=variables.get("NVIDIA_VISIBLE_DEVICES"),
        shared_mib=_shared(root),
        library_path=variables.get("LD_LIBRARY_PATH", ""),
        disk_space=disk_space(runs) if runs is not None else None,
        ends_at_logout=ends_at_logout(root),
    )


def is_wsl(root: Path = ROOT) -> bool:
    """Whether this Linux runs inside Windows."""
    return "microsoft" in _read(root / "proc/version").lower()


def container(environment: Mapping[str, str], root: Path = ROOT) -> str:
    """What kind of container this is: docker, podman, kubernetes, lxc or another's name.

    Empty if it is none.
    """
    if "KUBERNETES_SERVICE_HOST" in environment:
        return "kubernetes"
    for file, name in CONTAINER_FILES:
        if (root / file).exists():
            return name
    groups = _read(root / "proc/1/cgroup")
    known = (name for word, name in CONTAINER_WORDS if word in groups)
    return next(known, environment.get("container", ""))


def module_version(root: Path = ROOT) -> str:
    """The version of the NVIDIA kernel module that is loaded; empty if none is."""
    version = _read(root / "sys/module/nvidia/version").strip()
    if version:
        return version
    words = _read(root / "proc/driver/nvidia/version").split()
    numbers = (word for word in words if word[:1].isdigit() and "." in word)
    return next(numbers, "")


def ends_at_logout(root: Path = ROOT) -> bool:
    """Whether systemd ends this process, and all that it starts, after the user has logged out.

    It does so with what it started for the user, as desktops have it start programs, unless the
    user may linger; a session of its own (setsid) does not keep a process from it.
    """
    of_user = "/user@" in _read(root / "proc/self/cgroup")
    return of_user and not (root / LINGERING / _user()).exists()


def device_nodes(root: Path = ROOT) -> tuple[DeviceNode, ...]:
    """The device files of the driver, in the order of their names."""
    folder = root / "dev"
    names = [*CONTROLS, *(path.name for path in folder.glob("nvidia[0-9]*"))]
    return tuple(_node(folder / name, root) for name in sorted(names) if (folder / name).exists())


def disk_space(folder: Path) -> DiskSpace:
    """The space for runs: on the disk of `folder`, or of its nearest existing parent."""
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    try:
        usage = shutil.disk_usage(there)
    except OSError as error:
        return DiskSpace(str(folder), why_unusable=error.strerror or str(error))
    why = _why_unusable(there)
    return DiskSpace(str(folder), usage.free // MIB, usage.total // MIB, why)


def _why_unusable(there: Path) -> str:
    if not there.is_dir():
        return f"{there} is no folder"
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} may not be written to"


def _node(path: Path, root: Path) -> DeviceNode:
    try:
        status = path.stat()
    except OSError:
        return DeviceNode(f"/{path.relative_to(root)}", readable=False, writable=False)
    return DeviceNode(
        f"/{path.relative_to(root)}",
        os.access(path, os.R_OK),
        os.access(path, os.W_OK),
        _group(status.st_gid),
        f"{stat.S_IMODE(status.st_mode):04o}",
    )


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A user id without a name, as in containers.
        return str(os.getuid())


def _rival(root: Path) -> str:
    """Another driver that is in use for one of the cards."""
    for name in RIVALS:
        holders = root / "sys/bus/pci/drivers" / name.replace("_", "-")
        held = {path.name for path in holders.glob("*:*")} if holders.exists() else set()
        if held & {card.bus_id for card in pci_cards(root / "sys/bus/pci/devices")}:
            return name
    return ""


def _shared(root: Path) -> int | None:
    try:
        return shutil.disk_usage(root / "dev/shm").total // MIB
    except OSError:
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
