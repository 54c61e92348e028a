"""What the operating system knows of cards and driver, read from files, without the driver."""

from __future__ import annotations

import getpass
import grp
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from gpu_studio.common.figures import MIB
from gpu_studio.hardware.doctor.facts import DeviceNode, DiskSpace, System
from gpu_studio.hardware.identity_variables import Variables
from gpu_studio.hardware.pci import pci_cards

ROOT = Path("/")
CONTROLS = ("nvidiactl", "nvidia-uvm", "dxg")
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
