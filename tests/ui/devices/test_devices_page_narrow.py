"""The Devices page at the smallest window: nothing that matters gives way to an ellipsis."""

from __future__ import annotations

import sys

import pytest
from devices_pages import page_actions
from PySide6.QtGui import QFontMetricsF

from gpu_studio.contract.samples import (
    CardFacts,
    Cards,
    Fast,
    FastFigures,
    Host,
    Process,
    Processes,
    Slow,
    SlowFigures,
)
from gpu_studio.contract.samples import encode as line
from gpu_studio.hardware.sampler.card import NOT_IN_MIG
from gpu_studio.ui.devices.devices_page import DevicesPage
from gpu_studio.ui.devices.devices_table import (
    MEMORY,
    POWER,
    TEMPERATURE,
    TENSORFLOW,
    UTILISATION,
    text_of,
)
from gpu_studio.ui.devices.processes_model import COMMAND, DEVICE, PID
from gpu_studio.ui.devices.processes_model import MEMORY as HELD
from gpu_studio.ui.kit.theme import font
from gpu_studio.ui.machine.checkup import Checkup, Diagnosis
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.machine.sampler import SamplerClient

SMALLEST = (940, 624)
"""What the smallest window, 1024 × 680, leaves for a page."""
USUAL = (1196, 724)
"""What a window of 1280 × 800 leaves."""
PADDING = 24


@pytest.fixture
def page(qtbot, dressed):
    """The page over so many cards."""
    sampler = SamplerClient(command=[sys.executable, "-S", "-c", "import sys; sys.stdin.read()"])
    checkup = Checkup(command=(sys.executable, "-S", "-c", "print('{}')"))

    def opened(cards: int) -> DevicesPage:
        for sample in samples(cards):
            sampler.take(line(sample))
        shown = DevicesPage(dressed, Inventory(), sampler, checkup, page_actions())
        qtbot.addWidget(shown)
        shown.resize(*SMALLEST)
        shown.show()
        return shown

    yield opened
    checkup.close()
    sampler.close()


def samples(cards: int) -> list[Cards | Fast | Slow | Processes | Host]:
    keys = [f"GPU-{card}" for card in range(cards)]
    facts = [
        CardFacts(
            card=key, name="NVIDIA H100 80GB HBM3", total_mib=81_559, power_limit_w=1000, uuid=key
        )
        for key in keys
    ]
    fast = {"memory_used_mib": 81_000, "utilisation_percent": 100, "power_w": 1000.0}
    running = [
        Process(
            card=key,
            pid=4_194_304,
            kinds=["compute"],
            memory_mib=81_000,
            user="grace",
            command="python train.py",
        )
        for key in keys
    ]
    return [
        Cards(time=1.0, cards=facts),
        Fast(time=2.0, cards=[FastFigures(card=key, **fast) for key in keys]),
        Slow(time=2.0, cards=[SlowFigures(card=key, temperature_c=100) for key in keys]),
        Processes(time=2.0, processes=running),
        Host(time=2.0, cpu_percent=100.0, memory_used_mib=900_000, memory_total_mib=1_000_000),
    ]


def test_that_every_figure_of_eight_cards_is_written_out(page) -> None:
    shown = page(8)
    metrics = QFontMetricsF(font("text"))
    assert shown.table.verticalScrollBar().maximum() == 0
    for number, row in enumerate(shown.model.rows):
        for column in (UTILISATION, POWER, TEMPERATURE, TENSORFLOW):
            spanned = range(column, column + shown.table.columnSpan(number, column))
            room = sum(shown.table.columnWidth(each) for each in spanned) - PADDING
            # What stands under the words of the column before it is not drawn.
            if not (column == TEMPERATURE and shown.table.columnSpan(number, POWER) > 1):
                assert metrics.horizontalAdvance(text_of(row, column)) <= room, text_of(row, column)
        room = shown.table.columnWidth(MEMORY) - PADDING - 36 - 12
        assert metrics.horizontalAdvance(row.memory) <= room, row.memory


def test_that_a_usual_window_says_in_full_why_a_card_in_mig_mode_has_no_utilisation(page) -> None:
    shown = page(1)
    shown.resize(*USUAL)
    room = shown.table.columnWidth(UTILISATION) - PADDING
    assert QFontMetricsF(font("text")).horizontalAdvance(NOT_IN_MIG) <= room
    assert shown.table.columnWidth(MEMORY) - PADDING - 36 - 12 >= 100


def test_that_processes_are_told_with_number_command_user_and_card(page, qtbot) -> None:
    shown = page(8)
    pane = shown.side.processes
    metrics = pane.table.fontMetrics()
    assert not pane.table.isColumnHidden(DEVICE)
    qtbot.waitUntil(lambda: pane.width() > 0 and pane.table.columnWidth(COMMAND) > 0)
    for column in (PID, COMMAND, DEVICE, HELD):
        words = pane.model.text(pane.model.rows[0], column)
        assert metrics.horizontalAdvance(words) + PADDING - 4 <= pane.table.columnWidth(column), (
            words
        )


@pytest.mark.parametrize("cards", [1, 8, 16])
def test_that_every_card_stays_in_the_legend(page, cards) -> None:
    shown = page(cards)
    assert len(shown.plot.legend.shown()) == cards
    assert shown.plot.legend.fits


def test_that_the_doctors_button_tells_how_much_is_to_be_mended(page) -> None:
    shown = page(1)
    assert shown.doctor.icon().isNull()
    plain = shown.doctor.sizeHint().width()
    shown.doctor.show_problems(12)
    assert shown.doctor.accessibleName() == "Doctor, 12 problems"
    assert shown.doctor.sizeHint().width() > plain + 20
    shown.checkup.diagnosis = Diagnosis()
    shown.follow_checkup()
    assert shown.doctor.problems == 0
    assert shown.doctor.icon().isNull()


def test_that_nothing_on_the_page_needs_more_width_than_there_is(page) -> None:
    shown = page(8)
    assert shown.minimumSizeHint().width() <= SMALLEST[0]
    for part in (shown.plot, shown.side, shown.table, shown.save):
        assert part.geometry().right() <= shown.width()
