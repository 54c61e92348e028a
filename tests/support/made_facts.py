"""Facts for the doctor: a healthy machine, of which each test changes what it tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpu_studio.hardware.doctor.facts import (
    Build,
    Cuda,
    CudaCard,
    DeviceNode,
    DiskSpace,
    DriverCard,
    Facts,
    Library,
    Physical,
    Survey,
    System,
    TensorFlowView,
)
from gpu_studio.hardware.doctor.findings import Finding

BUS = "0000:01:00.0"
CARD = DriverCard(
    0,
    "GPU-a",
    BUS,
    "H100",
    total_mib=81_920,
    used_mib=600,
    capability=(8, 9),
    persistent=True,
    compute_mode=0,
)
NODES = tuple(
    DeviceNode(f"/dev/{name}", readable=True, writable=True, group="video", mode="0660")
    for name in ("nvidia-uvm", "nvidia0", "nvidiactl")
)
SYSTEM = System(
    user="ada",
    module="550.54",
    listed=(BUS,),
    nodes=NODES,
    disk_space=DiskSpace("/runs", free_mib=90_000, total_mib=100_000),
)
SURVEY = Survey("550.54", "12.5", (CARD,))
VIEW = TensorFlowView(
    "2.21.0",
    "3.15.1",
    "3.11.7",
    "/usr/bin/python3",
    Build("12.5.1", "9", ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90"), is_cuda=True),
    (Physical("CPU:0"), Physical("GPU:0", "H100", BUS, (8, 9))),
    cuda=Cuda("12.5", (CudaCard(0, "GPU-a", BUS, "H100"),)),
    libraries=(Library("libcudart.so.12", "/lib/libcudart.so.12"),),
)
WELL = Facts(SYSTEM, SURVEY, VIEW)
BARE = Facts(
    System(disk_space=SYSTEM.disk_space),
    Survey(why_no_answer="no NVIDIA driver is installed", installed=False),
    VIEW,
)
"""A machine without card and driver."""


def with_system(facts: Facts = WELL, /, **changes: Any) -> Facts:
    """The facts with another system."""
    return replace(facts, system=replace(facts.system, **changes))


def with_survey(facts: Facts = WELL, /, **changes: Any) -> Facts:
    """The facts with another answer of the driver's."""
    return replace(facts, survey=replace(facts.survey, **changes))


def with_card(facts: Facts = WELL, /, **changes: Any) -> Facts:
    """The facts with another card."""
    return with_survey(facts, cards=(replace(facts.survey.cards[0], **changes),))


def with_view(facts: Facts = WELL, /, **changes: Any) -> Facts:
    """The facts with another TensorFlow."""
    assert facts.tensorflow is not None
    return replace(facts, tensorflow=replace(facts.tensorflow, **changes))


def the(findings: list[Finding], check: str) -> Finding:
    """The one finding of a check."""
    [found] = [finding for finding in findings if finding.check == check]
    return found


def states(findings: list[Finding]) -> dict[str, str]:
    """What is not good, by check."""
    return {finding.check: finding.state for finding in findings if finding.state != "good"}
