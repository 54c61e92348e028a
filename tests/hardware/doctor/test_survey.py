"""Survey the driver.

Through a library in its place, and through a process whatever becomes of it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pynvml
import pytest
from fake_links import SWITCH, Ways, with_ways
from fake_nvml import FakeCard, FakeNvml, installed
from patience import PATIENCE_S

from gpu_studio.hardware.doctor.examination import take_survey
from gpu_studio.hardware.doctor.survey import survey
from gpu_studio.hardware.host import PciCard

NEAR = FakeCard("GPU-near", bus_id=b"00000000:2D:00.0", used=512)
FAR = FakeCard("GPU-far", bus_id=b"00000000:C1:00.0")
CODES = sorted(
    value for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_") and value
)


def library(cards=(NEAR, FAR), errors=None) -> FakeNvml:
    ways = Ways({(0, 1): 30}, {(0, 1): 0}, {0: [SWITCH] * 4, 1: [SWITCH] * 4})
    fake = with_ways(FakeNvml(list(cards), errors), ways)
    fake.functions |= {
        "nvmlSystemGetDriverVersion": lambda text, _size: _text(text, b"550.54"),
        "nvmlSystemGetCudaDriverVersion_v2": lambda version: _number(version, 12040),
        "nvmlDeviceGetIndex": lambda handle, index: _number(
            index, fake.cards.index(fake.card(handle))
        ),
        "nvmlDeviceGetCudaComputeCapability": lambda _handle, major, minor: (
            _number(major, 8) or _number(minor, 9)
        ),
        "nvmlDeviceGetPersistenceMode": lambda _handle, mode: _number(mode, 1),
        "nvmlDeviceGetComputeMode": lambda _handle, mode: _number(mode, 3),
        "nvmlDeviceGetMigMode": lambda _handle, now, later: _number(now, 0) or _number(later, 0),
        "nvmlDeviceGetComputeRunningProcesses_v3": _this_process,
    }
    return fake


def _number(target, value) -> int:
    target._obj.value = value
    return 0


def _text(target, value) -> int:
    target.value = value
    return 0


def _this_process(_handle, count, processes) -> int:
    if processes is None:
        count._obj.value = 1
        return int(pynvml.NVML_ERROR_INSUFFICIENT_SIZE)
    count._obj.value = 1
    processes[0].pid, processes[0].usedGpuMemory = os.getpid(), 300 * 1024 * 1024
    return 0


def test_that_every_fact_that_the_doctor_needs_is_told():
    with installed(library()) as fake:
        found = survey([])

    assert (found.driver, found.cuda, found.why_no_answer) == ("550.54", "12.4", "")
    card = found.cards[0]
    assert (card.index, card.uuid, card.bus_id, card.capability) == (
        0,
        "GPU-near",
        "0000:2d:00.0",
        (8, 9),
    )
    assert (card.total_mib, card.used_mib, card.persistent, card.compute_mode) == (
        8192,
        512,
        True,
        3,
    )
    assert (card.users[0].used_mib, card.users[0].user) == (300, "")
    assert found.topology.between(0, 1).cell == "NV4"
    assert fake.running == 0


def test_that_a_process_that_is_not_here_is_told_by_its_number():
    with installed(library()):
        found = survey([], known=lambda _pid: None)

    assert [(user.pid, user.command) for user in found.cards[0].users] == [(os.getpid(), "")]


def test_that_a_driver_that_knows_only_the_cards_is_enough():
    with installed(FakeNvml([NEAR])):
        found = survey([])

    assert (found.cards[0].uuid, found.cards[0].capability, found.cards[0].users) == (
        "GPU-near",
        None,
        (),
    )
    assert len(found.topology.nodes) == 1


@pytest.mark.parametrize("code", CODES)
def test_that_a_lost_card_does_not_hide_the_others(code):
    lost = FakeCard("GPU-lost", errors={"nvmlDeviceGetHandleByIndex_v2": code})
    with installed(library([lost, FAR])):
        found = survey([])

    assert found.cards[0].why_unknown
    assert found.cards[1].uuid == "GPU-far"
    assert [node.uuid for node in found.topology.nodes] == ["GPU-far"]


@pytest.mark.parametrize("code", CODES)
def test_that_a_refused_start_is_told_and_a_missing_library_is_no_driver(code):
    with installed(library(errors={"nvmlInitWithFlags": code})):
        found = survey([])

    assert found.why_no_answer
    assert found.installed == (code != pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)


def test_that_a_count_that_is_refused_is_told():
    with installed(library(errors={"nvmlDeviceGetCount_v2": pynvml.NVML_ERROR_UNKNOWN})):
        assert survey([]).why_no_answer == "the driver does not say why"


def test_that_cards_asleep_are_not_woken():
    listed = [PciCard("0000:2d:00.0", asleep=True), PciCard("0000:c1:00.0", asleep=False)]
    with installed(library()) as fake:
        found = survey(listed)

    assert found.asleep == ("0000:2d:00.0",)
    assert [(card.index, card.uuid) for card in found.cards] == [(1, "GPU-far")]
    assert fake.asked == ["0000:c1:00.0"]


def test_that_the_driver_is_not_even_started_while_every_card_sleeps():
    with installed(library(errors={"nvmlInitWithFlags": pynvml.NVML_ERROR_UNKNOWN})):
        assert survey([PciCard("0000:2d:00.0", asleep=True)]).why_no_answer == ""


def facts_of(code: str, timeout: float = 30.0):
    return take_survey(timeout, (sys.executable, "-c", code))


def test_that_this_machine_has_a_survey():
    found = take_survey()

    assert bool(found.cards or found.asleep) != bool(found.why_no_answer)


def test_that_a_driver_that_hangs_crashes_or_talks_nonsense_is_told():
    assert "within 0.2 s" in facts_of("import signal; signal.pause()", 0.2).why_no_answer
    assert "crash" in facts_of("import os; os.kill(os.getpid(), 11)").why_no_answer
    assert (
        facts_of("raise SystemExit('first\\nno luck')").why_no_answer
        == "asking the NVIDIA driver failed (no luck)"
    )
    assert "the answer is no survey" in facts_of("print('[]')").why_no_answer
    assert facts_of("").why_no_answer == "asking the NVIDIA driver failed (the answer is empty)"
    assert "could not be started" in take_survey(1.0, ("/nowhere/python",)).why_no_answer


def test_that_the_process_prints_one_line_and_needs_no_tensorflow():
    code = (
        "import sys, gpu_studio.hardware.doctor.survey as s; s.main()\n"
        "sys.exit(f'{x}' if (x := {'tensorflow', 'PySide6', 'numpy'} & set(sys.modules)) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=False
    )

    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
