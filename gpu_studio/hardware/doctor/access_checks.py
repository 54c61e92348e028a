"""Whether programs can reach the cards: device files, container, variables.

And disk space for runs.
"""

from __future__ import annotations

from gpu_studio.common.figures import MIB, size, size_of
from gpu_studio.hardware.doctor.driver_checks import container_start
from gpu_studio.hardware.doctor.facts import DeviceNode, Facts
from gpu_studio.hardware.doctor.findings import Finding, State
from gpu_studio.hardware.identity import Identity
from gpu_studio.hardware.identity_variables import Effect

CONTROL, MEMORY = "/dev/nvidiactl", "/dev/nvidia-uvm"
NO_CARDS = ("", "void", "none")
LITTLE_SHARED_MIB = 1024
LEAST_ROOM_MIB, LITTLE_ROOM_MIB = 200, 5 * 1024
"""A checkpoint or two, and an evening of them."""


def nodes(facts: Facts) -> Finding | None:
    """Whether this user can open the driver's device files.

    WSL has none, and a container's are checked by `container`.
    """
    system = facts.system
    if not facts.has_card or system.wsl or not system.platform.startswith("linux"):
        return None
    if not system.nodes:
        return (
            None if system.container or not facts.survey.installed else _missing(facts, [CONTROL])
        )
    shut = [node for node in system.nodes if not (node.readable and node.writable)]
    if shut:
        return _shut(shut, system.user)
    missing = [
        path for path in (CONTROL, MEMORY) if path not in {node.path for node in system.nodes}
    ]
    if missing:
        return _missing(facts, missing)
    return Finding(
        "nodes",
        "good",
        "Permissions",
        f"{system.user} may open all {len(system.nodes)} device files.",
    )


def container(facts: Facts) -> Finding | None:
    """In a container: whether it has access to the cards."""
    system = facts.system
    if not system.container or not facts.has_card:
        return None
    title, where = "Container", f"This is a container ({system.container})"
    if system.nodes or system.wsl:
        return Finding("container", "good", title, f"{where} that was given the cards.")
    if system.container_cards is not None and system.container_cards in NO_CARDS:
        found = (
            f"{where} that was started without cards on purpose: "
            f'NVIDIA_VISIBLE_DEVICES="{system.container_cards}".'
        )
        return Finding("container", "warning", title, found, container_start(system))
    return Finding(
        "container",
        "bad",
        title,
        f"{where} that was not given the host's cards.",
        container_start(system),
    )


def shared_memory(facts: Facts) -> Finding | None:
    """In a container with several cards: whether there is enough shared memory for NCCL."""
    system = facts.system
    if not system.container or len(facts.survey.cards) < 2 or system.shared_mib is None:
        return None
    if system.shared_mib >= LITTLE_SHARED_MIB:
        return None
    there = size(system.shared_mib * MIB)
    found = f"/dev/shm has {there}, through which NCCL passes data between cards: it may need more."  # noqa: S108
    return Finding(
        "shared_memory", "warning", "Shared memory", found, ("docker run --shm-size=1g …",)
    )


def variables(cards: tuple[Identity, ...], effect: Effect) -> Finding | None:
    """The effects of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER."""
    if not cards:
        return None
    found = " ".join(effect.words)
    if effect.mistake:
        found += f" {effect.mistake[0].upper()}{effect.mistake[1:]}."
    state = _state_of(effect)
    mend = ("unset CUDA_VISIBLE_DEVICES",) if state != "good" else ()
    return Finding("variables", state, "Visibility", found, mend)


def disk_space(facts: Facts) -> Finding | None:
    """Whether there is disk space for runs."""
    disk_space = facts.system.disk_space
    if disk_space is None:
        return None
    title, choose = "Room for runs", "export GPU_STUDIO_RUNS_DIR=/a/folder/with/room"
    if disk_space.why_unusable:
        return Finding(
            "room",
            "bad",
            title,
            f"Runs cannot be kept in {disk_space.folder}: {disk_space.why_unusable}.",
            (choose,),
        )
    free = size_of(disk_space.free_mib * MIB, disk_space.total_mib * MIB, "of")
    found = f"{free} are free on the disk of {disk_space.folder}."
    if disk_space.free_mib >= LITTLE_ROOM_MIB:
        return Finding("room", "good", title, found)
    state: State = "bad" if disk_space.free_mib < LEAST_ROOM_MIB else "warning"
    return Finding(
        "room",
        state,
        title,
        found,
        (choose, "gpu-studio runs list    # and delete what is not needed"),
    )


def _state_of(effect: Effect) -> State:
    if effect.only_cuda_knows or (effect.left and not effect.mistake):
        return "good"
    # Hiding every card can be intended; a mistake that hides every card cannot.
    return "bad" if effect.mistake and not effect.left else "warning"


def _missing(facts: Facts, missing: list[str]) -> Finding:
    found = (
        f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not there, without which "
        "CUDA cannot start."
    )
    works = facts.tensorflow is not None and not facts.tensorflow.cuda.why_not
    mend = ("sudo nvidia-modprobe -c 0 -u",)
    return Finding("nodes", "warning" if works else "bad", "Device files", found, mend)


def _shut(shut: list[DeviceNode], user: str) -> Finding:
    first = shut[0]
    found = (
        f"{user} may not open {', '.join(node.path for node in shut)} (mode "
        f"{first.mode}, group {first.group})."
    )
    if first.group not in {"", "root"}:
        return Finding(
            "nodes",
            "bad",
            "Permissions",
            found,
            (f"sudo usermod -aG {first.group} {user}", "# log in anew"),
        )
    return Finding(
        "nodes",
        "bad",
        "Permissions",
        found,
        (f"sudo chmod a+rw {' '.join(node.path for node in shut)}",),
    )
