"""The Devices page over made samples, and over the real sampler on simulated cards."""

from __future__ import annotations

from dataclasses import replace

import pytest
import quick_sampler
from devices_pages import show_devices
from made_machines import TWO_CARDS, WITHOUT_CARDS
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from gpu_studio.contract.samples import (
    CardFacts,
    Cards,
    Fast,
    FastFigures,
    Host,
    HostProcess,
    HostProcesses,
    Instance,
    Process,
    Processes,
    Slow,
    SlowFigures,
)
from gpu_studio.hardware.device_rows import me, rows_of, rows_of_machine
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.plan import Machine
from gpu_studio.ui.devices.devices_page import DevicesPage
from gpu_studio.ui.devices.devices_table import (
    DEVICE,
    MEMORY,
    POWER,
    TEMPERATURE,
    TENSORFLOW,
    USED_BY,
    UTILISATION,
    DevicesModel,
    as_text,
)
from gpu_studio.ui.devices.processes_model import on_devices
from gpu_studio.ui.kit.basic_widgets import Button
from gpu_studio.ui.machine.sampler import SamplerClient

__all__ = ["show_devices"]

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
LOST = "lost: the driver no longer answers for it"


def picture(*samples) -> MachinePicture:
    made = MachinePicture()
    for sample in samples:
        made.apply(sample)
    return made


def two_cards(**second) -> Cards:
    facts = {"index": 1, "uuid": "GPU-1", "name": "NVIDIA Test", "total_mib": 24_576} | second
    first = CardFacts(
        card="GPU-0",
        index=0,
        uuid="GPU-0",
        name="NVIDIA Test",
        total_mib=24_576,
        power_limit_w=300.0,
    )
    return Cards(time=1.0, cards=[first, CardFacts(card="GPU-1", **facts)])


def busy(used: int = 12_288) -> Fast:
    figures = {
        "memory_used_mib": used,
        "memory_reserved_mib": 300,
        "utilisation_percent": 87,
        "power_w": 211.6,
    }
    return Fast(
        time=2.0, cards=[FastFigures(card="GPU-0", **figures), FastFigures(card="GPU-1", **figures)]
    )


@pytest.fixture
def model(qapp):
    made = DevicesModel()
    tester = QAbstractItemModelTester(made, FATAL)
    yield made
    del tester


def text(model: DevicesModel, row: int, column: int) -> str:
    return model.data(model.index(row, column))


def test_that_before_they_are_watched_the_devices_are_those_of_the_inventory(
    model: DevicesModel,
) -> None:
    model.set_rows(rows_of_machine(TWO_CARDS))
    assert [text(model, row, DEVICE) for row in range(3)] == [
        "GPU 0 Test",
        "GPU 1 Test",
        "CPU 16 cores",
    ]
    assert [text(model, row, TENSORFLOW) for row in range(3)] == ["GPU:0", "GPU:1", "CPU:0"]
    tip = model.headerData(TENSORFLOW, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "counts the cards that a plan leaves visible anew" in tip
    assert [text(model, row, MEMORY) for row in range(3)] == ["0 / 24 GiB", "1 / 24 GiB", "128 GiB"]


def test_that_figures_stand_with_their_units_and_limits(model: DevicesModel) -> None:
    slow = Slow(time=2.0, cards=[SlowFigures(card="GPU-0", temperature_c=64)])
    model.set_rows(rows_of(picture(two_cards(), busy(), slow), TWO_CARDS))
    shown = [text(model, 0, column) for column in (MEMORY, UTILISATION, POWER, TEMPERATURE)]
    assert shown == ["12 / 24 GiB", "87 %", "212 / 300 W", "64 °C"]


def test_that_a_figure_that_is_missing_says_why_and_is_never_zero(model: DevicesModel) -> None:
    why = {
        "utilisation_percent": "MIG",
        "power_w": "no permission",
        "memory_used_mib": "not supported by this card",
    }
    fast = Fast(time=2.0, cards=[FastFigures(card="GPU-0", why=why)])
    model.set_rows(rows_of(picture(two_cards(), fast), TWO_CARDS))
    shown = [text(model, 0, column) for column in (MEMORY, UTILISATION, POWER)]
    assert shown == ["not supported by this card", "MIG", "no permission"]
    assert model.rows[0].share is None


def test_that_names_of_tensorflow_are_joined_by_uuid_and_not_by_place(model: DevicesModel) -> None:
    turned = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], uuid="GPU-1"),))
    model.set_rows(rows_of(picture(two_cards()), turned))
    assert [text(model, row, TENSORFLOW) for row in range(2)] == ["hidden", "GPU:0"]


def test_that_a_lost_card_says_so_and_shows_no_figure(model: DevicesModel) -> None:
    model.set_rows(rows_of(picture(two_cards(gone=LOST), busy()), TWO_CARDS))
    assert [text(model, 1, column) for column in (MEMORY, UTILISATION, POWER, USED_BY)] == [
        LOST,
        "",
        "",
        "",
    ]
    assert model.rows[1].lost
    assert not model.rows[0].lost


def test_that_a_card_that_sleeps_is_not_called_lost(model: DevicesModel) -> None:
    model.set_rows(rows_of(picture(two_cards(gone="asleep", asleep=True)), TWO_CARDS))
    assert (model.rows[1].gone, model.rows[1].lost) == ("asleep", False)


def test_that_an_instance_stands_under_its_card_in_its_colour(model: DevicesModel) -> None:
    part = Instance(card="MIG-1", name="NVIDIA A100 MIG 3g.40gb", total_mib=40_192)
    model.set_rows(rows_of(picture(two_cards(instances=[part])), TWO_CARDS))
    assert [row.detail for row in model.rows] == ["Test", "Test", "3g.40gb", "16 cores"]
    assert model.rows[2].place == 1


def test_that_the_users_of_a_card_are_named(model: DevicesModel) -> None:
    here = [
        Process(
            card="GPU-0",
            pid=1,
            kinds=["compute"],
            memory_mib=10,
            user="ada",
            command="/usr/bin/python3 -u t.py",
        ),
        Process(card="GPU-0", pid=2, kinds=["compute"], memory_mib=5, user="ada", command="x"),
    ]
    samples = picture(
        two_cards(), Processes(time=3.0, processes=here, why={"GPU-1": "no permission"})
    )
    model.set_rows(rows_of(samples, TWO_CARDS))
    assert [text(model, row, USED_BY) for row in range(2)] == [
        "ada · python3 t.py + 1",
        "no permission",
    ]


def test_that_only_the_row_whose_figures_changed_is_told_of(model: DevicesModel, qtbot) -> None:
    seen = picture(two_cards(), busy())
    model.set_rows(rows_of(seen, TWO_CARDS))
    seen.apply(Fast(time=3.0, cards=[FastFigures(card="GPU-0", memory_used_mib=1)]))
    with qtbot.waitSignal(model.dataChanged) as told, qtbot.assertNotEmitted(model.modelReset):
        model.set_rows(rows_of(seen, TWO_CARDS))
    assert (told.args[0].row(), told.args[1].row(), told.args[0].column()) == (0, 0, MEMORY)
    with qtbot.assertNotEmitted(model.dataChanged):
        model.set_rows(rows_of(seen, TWO_CARDS))


def test_that_the_host_tells_its_load_and_disk(model: DevicesModel) -> None:
    host = Host(
        time=1.0,
        cpu_percent=42.0,
        memory_used_mib=2048,
        memory_total_mib=4096,
        load_1=1.5,
        disk_free_mib=10_240,
    )
    model.set_rows(
        rows_of(picture(Cards(time=1.0, cards=[], why="no driver"), host), WITHOUT_CARDS)
    )
    shown = [text(model, 0, column) for column in (MEMORY, UTILISATION, POWER, USED_BY)]
    assert shown == ["2 / 4 GiB", "42 %", "not measured", "load 1.5 · 10 GiB disk free"]


def test_that_the_users_of_the_cpu_are_named_and_trainers_first(model: DevicesModel) -> None:
    trainer = (
        "python -P -m gpu_studio.trainer /home/ada/My Runs/20261122T080000Z-digits-on-two-cpus-ab12"
    )
    here = [
        HostProcess(
            pid=1,
            user="ada",
            command="/usr/bin/python3 sweep.py",
            cpu_percent=390.0,
            memory_mib=900,
        ),
        HostProcess(pid=2, user=me(), command=trainer, cpu_percent=None, memory_mib=600),
    ]
    host = Host(time=1.0, load_1=7.5)
    samples = picture(
        Cards(time=1.0, cards=[], why="no driver"), host, HostProcesses(time=2.0, processes=here)
    )
    model.set_rows(rows_of(samples, WITHOUT_CARDS))
    assert text(model, 0, USED_BY) == "digits on two cpus + 1"
    assert (
        model.index(0, USED_BY).data(Qt.ItemDataRole.ToolTipRole)
        == "digits on two cpus + 1 · load 7.5"
    )
    assert [row.device_and_share for row in on_devices(samples)] == ["CPU 390 %", "CPU"]


def test_that_the_text_has_every_figure_in_aligned_columns() -> None:
    lines = as_text(rows_of(picture(two_cards(gone=LOST), busy()), TWO_CARDS)).splitlines()
    assert lines[0].split()[:3] == ["Device", "Memory", "Utilisation"]
    assert LOST in lines[2]
    assert lines[1].index("12 /") == lines[0].index("Memory")


@pytest.fixture
def page(show_devices, monkeypatch):
    """Open the page on a machine, watched by the real sampler."""

    def open_page(machine: Machine, simulated: str = "") -> DevicesPage:
        if simulated:
            monkeypatch.setenv("GPU_STUDIO_SIMULATE", simulated)
        return show_devices(machine, SamplerClient(command=quick_sampler.command()))

    return open_page


def watched(page: DevicesPage) -> bool:
    """Whether figures of each kind have come, and the page, which is told a moment later, knows."""
    come = {"cards", "fast", "host", "processes"} <= page.sampler.picture.seen
    return come and not page.sampler._soon.isActive()


def test_that_a_machine_without_cards_says_why_and_what_works(page, qtbot) -> None:
    shown = page(WITHOUT_CARDS)
    assert shown.absence.isVisible()
    assert shown.why.text() == "No NVIDIA driver is installed."
    qtbot.waitUntil(
        lambda: "host" in shown.sampler.picture.seen and shown.model.rows[-1].used_mib is not None
    )
    qtbot.waitUntil(lambda: shown.plot.names == ["host"])
    assert [shown.plot.tabs.tabText(tab) for tab in range(shown.plot.tabs.count())] == [
        "Memory",
        "Utilisation",
    ]


def test_that_simulated_cards_are_shown_live_and_marked(page, qtbot) -> None:
    shown = page(TWO_CARDS, "2xH100")
    qtbot.waitUntil(lambda: watched(shown) and len(shown.plot.names) == 2)
    assert shown.marked.isVisible()
    assert shown.marked.text() == "simulated: 2xH100"
    assert not shown.absence.isVisible()
    assert [row.utilisation.known for row in shown.model.rows[:2]] == [True, True]
    assert sum(not row.on_host for row in shown.side.processes.model.rows) == 2
    assert not shown.side.processes.end.isEnabled()
    shown.copy()
    assert "H100" in QGuiApplication.clipboard().text()


def test_that_hidden_it_draws_nothing_and_asks_for_nothing(page, qtbot) -> None:
    shown = page(TWO_CARDS, "2xH100")
    qtbot.waitUntil(lambda: watched(shown))
    shown.hide()
    redraws, rows = shown.plot.redraws, shown.model.rows
    sampler = shown.sampler
    assert not sampler.watched
    beat = sampler.picture.beat
    qtbot.waitUntil(lambda: sampler.picture.beat is not beat)
    assert (shown.plot.redraws, shown.model.rows) == (redraws, rows)
    fast = next(iter(sampler.picture.cards.values())).fast
    shown.show()
    qtbot.waitUntil(lambda: next(iter(sampler.picture.cards.values())).fast is not fast)


def test_that_a_lost_card_offers_to_try_again(page, qtbot) -> None:
    shown = page(TWO_CARDS, "broken")
    qtbot.waitUntil(lambda: watched(shown) and len(shown.model.rows) == 6)
    index = shown.model.index(1, USED_BY)
    holder = shown.table.indexWidget(index)
    assert holder is not None
    assert shown.table.columnSpan(1, MEMORY) == TEMPERATURE - MEMORY + 1
    button = holder.findChild(Button)
    with qtbot.waitSignal(shown.sampler.changed):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(shown.side.events.rows) >= 2)
    assert any(LOST in event.words for event in shown.side.log.events)


def test_that_each_metric_can_be_drawn(page, qtbot) -> None:
    shown = page(TWO_CARDS, "H100")
    qtbot.waitUntil(lambda: watched(shown) and shown.plot.tabs.count() == 6)
    for tab in range(6):
        shown.plot.tabs.setCurrentIndex(tab)
        metric = shown.plot.shown_metric
        qtbot.waitUntil(
            lambda metric=metric: shown.sampler.history.has(metric, [shown.model.rows[0].key])
        )
        assert shown.plot.title.text() == shown.plot.tabs.tabText(tab)
        assert not shown.plot.canvas.grab().toImage().isNull()


def test_that_rows_can_be_reached_by_keyboard_and_read_aloud(page, qtbot) -> None:
    shown = page(TWO_CARDS)
    shown.table.setFocus()
    qtbot.keyClick(shown.table, Qt.Key.Key_Down)
    index = shown.table.currentIndex()
    assert shown.model.data(index, Qt.ItemDataRole.AccessibleTextRole)


def test_that_the_memory_bar_is_drawn_in_the_devices_colour(qtbot, page, theme) -> None:
    shown = page(replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], used_mib=12_288),)), "H100")
    shown.model.set_rows(rows_of(picture(two_cards(), busy()), TWO_CARDS))
    image = shown.table.viewport().grab().toImage()
    colour = theme.tokens.device_colour(0)
    drawn = sum(image.pixelColor(x, 17).name() == colour for x in range(image.width()))
    # Half of a bar of 130 pixels, and the dot before the name.
    assert 60 <= drawn <= 80
