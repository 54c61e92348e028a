"""Checks of the machine: its cards, their driver, and the access of programs to them.

Device files, container and variables can each keep programs from a card. One check is about
disk space for runs.
"""

from __future__ import annotations

from collections import Counter

from gpu_studio.common.figures import MIB, plural, size, size_of
from gpu_studio.hardware.doctor.facts import DeviceNode, Facts, System
from gpu_studio.hardware.doctor.findings import Finding, State
from gpu_studio.hardware.identity import Effect, Identity

CARVED_CPUS = "so plans train on the CPU, which can be carved into logical devices"
CONTAINER_STARTS = {
    "docker": (
        "docker run --gpus all …",
        "# if docker refuses: install the NVIDIA Container Toolkit on the host",
    ),
    "podman": ("podman run --device nvidia.com/gpu=all …",),
    "kubernetes": ("# in the pod's container: resources: { limits: { nvidia.com/gpu: 1 } }",),
}
ANY_CONTAINER = ("# start the container with the card's device files, /dev/nvidia*",)
WINDOWS_DRIVER = (
    "# install NVIDIA's driver in Windows, and none inside WSL; then "
    "type in Windows: wsl --shutdown"
)
INSTALL_DRIVER = (
    (
        "sudo ubuntu-drivers install    # Ubuntu; Debian: sudo apt install "
        "nvidia-driver; Fedora: akmod-nvidia"
    ),
    "sudo reboot",
)


def card(facts: Facts) -> Finding | None:
    """Whether there is an NVIDIA card; no finding on a simulated machine without one."""
    if facts.survey.simulated and facts.survey.why_no_answer:
        return None
    if not facts.has_card:
        return Finding(
            "card",
            "warning",
            "NVIDIA card",
            f"{why_no_card(facts)}, {CARVED_CPUS}.",
            _how_to_show(facts),
        )
    names = Counter(card.name for card in facts.survey.cards)
    reported = [name if count == 1 else f"{count} × {name}" for name, count in names.items()]
    asleep = len(facts.survey.asleep)
    if asleep:
        reported.append(f"{asleep} asleep, not woken to ask")
    listed = (
        ", ".join(reported)
        or f"the system lists {len(facts.system.listed)}, at {', '.join(facts.system.listed)}"
    )
    return Finding("card", "good", "NVIDIA card", f"{listed}.")


def why_no_card(facts: Facts) -> str:
    """Why there is no card, as the beginning of a sentence."""
    system = facts.system
    if system.platform == "darwin":
        return "This is macOS, where there are no drivers for NVIDIA cards"
    if system.wsl:
        return "Windows shows no NVIDIA card to this Linux inside WSL"
    if system.container:
        return (
            f"This is a container ({system.container}), and it was given no "
            "NVIDIA card, or the host has none"
        )
    if facts.survey.installed and facts.survey.driver:
        return "The NVIDIA driver runs, but finds no card in this machine"
    return "This machine has no NVIDIA card that Linux can see on the PCI bus"


def simulation(facts: Facts) -> Finding | None:
    """Whether these cards are simulated."""
    if not facts.survey.simulated:
        return None
    found = (
        f"The cards below are simulated ({facts.survey.simulated}). TensorFlow and the disk are "
        "this machine's own."
    )
    return Finding(
        "simulation",
        "warning",
        "Simulated",
        found,
        ("# start without --simulate, or: unset GPU_STUDIO_SIMULATE",),
    )


def practice(facts: Facts) -> Finding:
    """That these cards are practice cards."""
    found = (
        f"The cards below are practice cards ({facts.survey.practice}): their memory is this "
        "machine's, and they compute on its CPU."
    )
    mend = ("# start without --practice, or: unset GPU_STUDIO_PRACTICE",)
    return Finding("practice", "warning", "Practice", found, mend)


def driver(facts: Facts) -> Finding | None:
    """Whether the driver is loaded and answers; no finding if there is neither card nor driver."""
    survey = facts.survey
    if not facts.has_card and not survey.installed:
        return None
    if survey.why_no_answer:
        found = f"It does not answer: {survey.why_no_answer}.{_about_rival(facts.system)}"
        return Finding("driver", "bad", "NVIDIA driver", found, _how_to_drive(facts))
    if facts.system.listed and not survey.cards and not survey.asleep:
        found = (
            f"The system lists {plural(len(facts.system.listed), 'card')} on the PCI bus, "
            "but the driver answers for none."
        )
        return Finding("driver", "bad", "NVIDIA driver", found, ("sudo dmesg | grep -i nvrm",))
    if not survey.driver:
        return None
    return Finding(
        "driver",
        "good",
        "NVIDIA driver",
        f"Version {survey.driver}, for CUDA up to {survey.cuda or '?'}.",
    )


def module(facts: Facts) -> Finding | None:
    """Whether the driver's library and the loaded kernel module have the same version."""
    loaded, library = facts.system.module, facts.survey.driver
    if not loaded or not library or loaded == library:
        return None
    found = (
        f"The kernel runs version {loaded}, the library is of version {library}: the driver was "
        "updated meanwhile."
    )
    return Finding("module", "bad", "Driver versions", found, ("sudo reboot",))


def wsl(facts: Facts) -> Finding | None:
    """Inside WSL: whether the Windows driver is accessible."""
    if not facts.system.wsl or not facts.survey.cards:
        return None
    return Finding("wsl", "good", "WSL", "This Linux runs inside Windows and uses Windows' driver.")


def newer_cuda(facts: Facts) -> Finding | None:
    """Whether the driver can run TensorFlow's CUDA: the same major version, or a later one."""
    view = facts.tensorflow
    if view is None or not view.build.cuda or not facts.survey.cuda:
        return None
    ours, drivers = numbers(view.build.cuda), numbers(facts.survey.cuda)
    title = "CUDA of the driver"
    if drivers[:1] < ours[:1]:
        found = (
            f"The driver runs CUDA up to {facts.survey.cuda}; this TensorFlow was built for "
            f"{view.build.cuda}."
        )
        return Finding(
            "newer_cuda", "bad", title, found, ("# install a newer driver", *INSTALL_DRIVER)
        )
    if drivers[:2] < ours[:2]:
        found = (
            f"The driver's CUDA {facts.survey.cuda} is older than the {view.build.cuda} of this "
            "TensorFlow, but of the same major version: what was compiled beforehand runs; what "
            "must be compiled for the card does not."
        )
        return Finding(
            "newer_cuda", "warning", title, found, ("# install a newer driver", *INSTALL_DRIVER)
        )
    return Finding(
        "newer_cuda",
        "good",
        title,
        f"{facts.survey.cuda} runs what was built for {view.build.cuda}.",
    )


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, for comparison: `12.5.1` is (12, 5, 1)."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def container_start(system: System) -> tuple[str, ...]:
    """How to start this kind of container with access to the cards."""
    return CONTAINER_STARTS.get(system.container, ANY_CONTAINER)


def _how_to_show(facts: Facts) -> tuple[str, ...]:
    if facts.system.wsl:
        return (WINDOWS_DRIVER,)
    return container_start(facts.system) if facts.system.container else ()


def _how_to_drive(facts: Facts) -> tuple[str, ...]:
    system, survey = facts.system, facts.survey
    if survey.simulated:
        return ()
    if system.wsl:
        return (WINDOWS_DRIVER,)
    if system.container and not (survey.installed and system.nodes):
        return container_start(system)
    if "restart" in survey.why_no_answer:
        return ("sudo reboot",)
    if not survey.installed:
        return INSTALL_DRIVER
    if not system.module:
        return (
            "sudo modprobe nvidia",
            "mokutil --sb-state    # Secure Boot keeps out a driver that is not signed",
        )
    return ("sudo dmesg | grep -iE 'nvrm|xid'", "nvidia-smi", "sudo reboot")


def _about_rival(system: System) -> str:
    if system.rival == "nouveau":
        return (
            " The open driver nouveau holds the card; NVIDIA's installer puts it on the list of "
            "those not to load."
        )
    if system.rival:
        return " The card is set apart for a virtual machine (vfio-pci)."
    return ""


CONTROL, MEMORY = "/dev/nvidiactl", "/dev/nvidia-uvm"
NO_CARDS = ("", "void", "none")
LET_RUNS_GO_ON = "loginctl enable-linger    # once; from then on runs go on without you"
LITTLE_SHARED_MIB = 1024
LEAST_FREE_MIB, LITTLE_FREE_MIB = 200, 5 * 1024
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
    where = "/dev/shm"  # noqa: S108  (named, not used)
    found = f"{where} has {there}, through which NCCL passes data between cards: it may need more."
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
    if disk_space.free_mib >= LITTLE_FREE_MIB:
        return Finding("room", "good", title, found)
    state: State = "bad" if disk_space.free_mib < LEAST_FREE_MIB else "warning"
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


def logging_out(facts: Facts) -> Finding | None:
    """Whether runs go on after the user has logged out; no finding where they do."""
    if not facts.system.ends_at_logout:
        return None
    found = (
        "After you have logged out the system ends all that you started, runs too: each writes a "
        "checkpoint first, from which it can be resumed."
    )
    return Finding("logging_out", "warning", "Logging out", found, (LET_RUNS_GO_ON,))
