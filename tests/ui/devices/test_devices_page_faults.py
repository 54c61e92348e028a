"""The Devices page reports each fault of the driver.

The other cards go on, and nothing blocks.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from devices_pages import show_devices
from faulty_sampler import CARD
from made_machines import TWO_CARDS, WITHOUT_CARDS
from patience import PATIENCE_S
from PySide6.QtCore import QTimer

from gpu_studio.hardware import supervision
from gpu_studio.hardware.sampler.driver import SILENT
from gpu_studio.hardware.supervision import Watchdog, sampler_environment
from gpu_studio.plan import Machine
from gpu_studio.ui.devices.devices_page import DevicesPage
from gpu_studio.ui.devices.devices_table import MEMORY, POWER, TEMPERATURE, UTILISATION, text_of
from gpu_studio.ui.machine import sampler as sampler_model
from gpu_studio.ui.machine.sampler import SamplerClient

__all__ = ["show_devices"]
pytestmark = pytest.mark.processes

PROGRAM = Path(__file__).parents[2] / "support" / "faulty_sampler.py"
LOST = "lost: the driver no longer answers for it"
HANGING = ("hung", "stuck")
HUNG_S = 3.0
FIGURES = (MEMORY, UTILISATION, POWER, TEMPERATURE)


@pytest.fixture
def trigger(tmp_path: Path) -> Path:
    """While this file is there, a fault in mid-run holds."""
    return tmp_path / "fault"


@pytest.fixture
def page(show_devices, trigger, monkeypatch):
    """Open the page on a machine with a fault."""
    monkeypatch.setattr(sampler_model, "RATE_HZ", 10.0)
    monkeypatch.setattr(supervision, "SHORTEST", 0.05)
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(PROGRAM.parent), sampler_environment().get("PYTHONPATH", "")]),
    )

    def open_page(name: str, fault: str = "", machine: Machine = TWO_CARDS) -> DevicesPage:
        options = ("--classes", "", "--rate", "1")
        command = (sys.executable, "-P", str(PROGRAM), name, fault, str(trigger), *options)
        # The driver counts as hung after 5 s; here sooner where it will be, so that the test does
        # not take as long. Where it will not be, a machine that is busy may hold the sampler up.
        hang_after = HUNG_S if fault in HANGING else PATIENCE_S
        watchdog = Watchdog(hang_after=hang_after, opening_after=PATIENCE_S)
        return show_devices(machine, SamplerClient(command=command, watchdog=watchdog))

    return open_page


def words(page: DevicesPage, row: int) -> list[str]:
    return [text_of(page.model.rows[row], column) for column in FIGURES]


def goes_on(page: DevicesPage, row: int) -> bool:
    """Whether a card shows all its figures."""
    shown = page.model.rows[row]
    known = (
        shown.utilisation.known,
        shown.power.known,
        shown.temperature.known,
        shown.used_mib is not None,
    )
    return not shown.gone and all(known)


def all_go_on(page: DevicesPage, cards: int) -> bool:
    return len(page.model.rows) == cards + 1 and all(goes_on(page, row) for row in range(cards))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            "missing",
            "No NVIDIA driver is installed on this machine (libnvidia-ml.so.1 is not there).",
        ),
        (
            "refused",
            (
                "The NVIDIA driver does not start and does not say why: look what nvidia-smi says, "
                "and restart the machine if that fails too."
            ),
        ),
        (
            "mismatch",
            "The NVIDIA driver was updated while the old one still runs: restart the machine.",
        ),
    ],
)
def test_that_a_driver_that_cannot_be_opened_is_explained_while_the_host_goes_on(
    page, qtbot, fault, says
) -> None:
    shown = page("3xH100", fault, WITHOUT_CARDS)
    qtbot.waitUntil(lambda: shown.why.text() == says)
    assert shown.absence.isVisible()
    qtbot.waitUntil(lambda: shown.model.rows[-1].utilisation.known)
    assert [row.name for row in shown.model.rows] == ["CPU"]


def test_that_a_machine_whose_driver_finds_no_card_says_so(page, qtbot) -> None:
    shown = page("none", machine=WITHOUT_CARDS)
    says = "The NVIDIA driver finds no card in this machine."
    qtbot.waitUntil(lambda: shown.why.text() == says)
    qtbot.waitUntil(lambda: shown.model.rows[-1].used_mib is not None)
    assert "carved into logical devices" in shown.absence.findChildren(type(shown.why))[-1].text()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("unsupported", "not supported by this card"), ("forbidden", "no permission")],
)
def test_that_each_figure_that_a_card_does_not_tell_has_its_reason_in_its_place(
    page, qtbot, fault, reason
) -> None:
    shown = page("3xH100", fault)
    qtbot.waitUntil(
        lambda: len(shown.model.rows) == 4 and goes_on(shown, 0) and goes_on(shown, 2),
    )
    qtbot.waitUntil(lambda: words(shown, CARD) == [reason] * 4)
    assert shown.table.columnSpan(CARD, UTILISATION) == 3, "one reason for three figures, told once"
    assert not shown.model.rows[CARD].gone


def test_that_a_card_lost_at_the_start_says_so_while_the_others_go_on(page, qtbot, trigger) -> None:
    trigger.touch()
    shown = page("3xH100", "lost")
    qtbot.waitUntil(
        lambda: len(shown.model.rows) == 4 and goes_on(shown, 0) and goes_on(shown, 2),
    )
    assert words(shown, CARD) == [LOST, "", "", ""]
    assert shown.model.rows[CARD].lost


def test_that_a_card_lost_in_mid_run_says_so_and_comes_back(page, qtbot, trigger) -> None:
    shown = page("3xH100", "lost")
    qtbot.waitUntil(lambda: all_go_on(shown, 3))
    trigger.touch()
    qtbot.waitUntil(lambda: words(shown, CARD) == [LOST, "", "", ""])
    assert [row.name for row in shown.model.rows] == ["GPU 0", "GPU 1", "GPU 2", "CPU"]
    before = shown.sampler.picture.time
    qtbot.waitUntil(lambda: shown.sampler.picture.time > before + 1)
    assert goes_on(shown, 0)
    assert goes_on(shown, 2)
    assert any(event.words == LOST for event in shown.side.log.events)
    trigger.unlink()
    qtbot.waitUntil(lambda: all_go_on(shown, 3))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("hung", f"the NVIDIA driver did not answer for {HUNG_S:g} s"),
        ("crash", "the process that watches the cards crashed (SIGSEGV)"),
        ("renewed", "the NVIDIA driver was replaced"),
    ],
)
def test_that_what_befalls_the_sampler_is_told_and_the_window_lives_on(
    page, qtbot, trigger, fault, says
) -> None:
    shown = page("3xH100", fault)
    qtbot.waitUntil(lambda: all_go_on(shown, 3))
    beats: list[int] = []
    pulse = QTimer(shown)
    pulse.timeout.connect(lambda: beats.append(1))
    pulse.start(5)
    trigger.touch()
    qtbot.waitUntil(lambda: says in shown.sampler.trouble)
    assert len(beats) > 1, "the window's own clock goes on"
    if fault != "renewed":
        qtbot.waitUntil(lambda: says in text_of(shown.model.rows[0], MEMORY))
        shown.side.tabs.setCurrentIndex(2)
        shown.plot.tabs.setCurrentIndex(1)
        assert shown.plot.title.text() == "Utilisation"
    qtbot.waitUntil(lambda: any(says in event.words for event in shown.side.log.events))
    trigger.unlink()
    qtbot.waitUntil(lambda: not shown.sampler.trouble and all_go_on(shown, 3))
    pulse.stop()


@pytest.mark.slow
def test_that_a_card_at_which_the_driver_hangs_is_left_out_and_the_others_go_on(
    page, qtbot, trigger
) -> None:
    shown = page("3xH100", "stuck")
    qtbot.waitUntil(lambda: all_go_on(shown, 3))
    trigger.touch()
    qtbot.waitUntil(lambda: words(shown, CARD)[0] == SILENT)
    qtbot.waitUntil(lambda: goes_on(shown, 0) and goes_on(shown, 2))
    assert shown.model.rows[CARD].lost
    trigger.unlink()
    shown.sampler.retry()
    qtbot.waitUntil(lambda: all_go_on(shown, 3))


def test_that_a_card_with_an_unreadable_name_is_watched_as_any_other(page, qtbot) -> None:
    shown = page("broken")
    qtbot.waitUntil(lambda: len(shown.model.rows) == 6 and goes_on(shown, 4))
    assert shown.model.rows[4].detail == "NVIDIA card"
    assert goes_on(shown, 0)
    assert words(shown, 1)[0] == LOST
    assert words(shown, 2)[2] == "no permission"
    assert words(shown, 3)[0] == "asleep: it was not woken to ask"


def test_that_sixteen_cards_are_all_shown_and_leave_room_for_the_plots(page, qtbot) -> None:
    shown = page("16xA100")
    qtbot.waitUntil(lambda: all_go_on(shown, 16))
    assert shown.table.height() <= shown.height() * 0.5
    qtbot.waitUntil(lambda: len(shown.plot.legend.entries) == 16)
    assert shown.plot.legend.shown()[-1] == "15"


def test_that_a_card_in_mig_mode_shows_its_instances_and_why_they_have_no_utilisation(
    page, qtbot
) -> None:
    shown = page("MIG")
    qtbot.waitUntil(
        lambda: len(shown.model.rows) == 4 and shown.model.rows[1].used_mib is not None,
    )
    assert [row.detail for row in shown.model.rows[1:3]] == ["3g.40gb", "2g.20gb"]
    for row in range(3):
        assert words(shown, row)[1] == "not in MIG mode"
    assert shown.table.columnSpan(1, POWER) == 2, "of the card, told once for power and temperature"
