"""Alerts and history while the Devices page is hidden and a run goes on."""

from __future__ import annotations

import sys
import time

import pytest
import quick_sampler
from devices_pages import page_actions

from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures, Instance, encode
from gpu_studio.hardware.device_history import LONGEST_GAP
from gpu_studio.ui.devices.alerts import AlertWatch
from gpu_studio.ui.devices.devices_page import DevicesPage
from gpu_studio.ui.kit.plots.axes import LINEAR
from gpu_studio.ui.kit.plots.reduce import AxisView
from gpu_studio.ui.kit.plots.time_view import TimeWindow
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.machine.sampler import IN_THE_BACKGROUND, SamplerClient

CARD = Cards(time=0.5, cards=[CardFacts(card="a", name="Test", total_mib=1000)])
FULL = "its memory is 99 % full: an allocation may fail"


def memory(time: float, used: int) -> Fast:
    return Fast(time=time, cards=[FastFigures(card="a", memory_used_mib=used)])


@pytest.fixture
def sampler(qapp, monkeypatch):
    monkeypatch.setenv("GPU_STUDIO_SIMULATE", "2xH100")
    made = SamplerClient(command=quick_sampler.command())
    yield made
    made.close()


@pytest.fixture
def silent(qapp):
    """A sampler whose process never says a word: it has seen what a test tells it."""
    made = SamplerClient(command=[sys.executable, "-S", "-c", "import sys; sys.stdin.read()"])
    yield made
    made.close()


@pytest.fixture
def page(qtbot, theme, silent):
    shown = DevicesPage(theme, Inventory(), silent, Checkup(), page_actions())
    qtbot.addWidget(shown)
    shown.resize(1180, 740)
    yield shown
    shown.checkup.close()


def taken(sampler: SamplerClient, *samples) -> None:
    """Let the sampler's process have said this."""
    for sample in samples:
        sampler.take(encode(sample))


def test_that_a_run_has_the_sampler_started_though_nobody_looks(sampler, qtbot) -> None:
    sampler.keep_watch(on=True)
    qtbot.waitUntil(lambda: set(IN_THE_BACKGROUND) <= sampler.picture.seen)
    assert not {"pcie", "host"} & sampler.picture.seen
    assert not sampler.watched
    assert sampler.status.startswith("sampling 0.2 Hz for the run")
    sampler.keep_watch(on=False)
    assert sampler.status == "not sampling: nobody looks at the devices"


def test_that_a_look_is_at_the_usual_rate_and_afterwards_the_run_is_watched_on(
    sampler, qtbot
) -> None:
    asked: list[dict[str, object]] = []
    ask = sampler.ask
    sampler.ask = lambda **wanted: (asked.append(wanted), ask(**wanted))[1]
    sampler.keep_watch(on=True)
    sampler.look(("fast",))
    sampler.rest()
    sampler.keep_watch(on=False)
    assert [(wanted["rate"], tuple(wanted["classes"])) for wanted in asked] == [
        (0.2, IN_THE_BACKGROUND), (1.0, ("fast",)), (0.2, IN_THE_BACKGROUND), (1.0, ()),
    ]  # fmt: skip


def test_that_without_a_run_a_rest_asks_for_nothing(sampler, qtbot) -> None:
    sampler.look(("fast",))
    qtbot.waitUntil(lambda: "fast" in sampler.picture.seen)
    sampler.rest()
    with qtbot.assertNotEmitted(sampler.noticed):
        beat = sampler.picture.beat
        qtbot.waitUntil(lambda: sampler.picture.beat is not beat)


def test_that_an_alert_is_told_while_the_page_is_hidden_and_nothing_is_drawn(
    page, silent, qtbot
) -> None:
    taken(silent, CARD, memory(1.0, 100))
    page.show()
    qtbot.waitUntil(lambda: len(page.model.rows) > 0)
    page.hide()
    silent.keep_watch(on=True)
    redraws, rows = page.plot.redraws, page.model.rows
    with qtbot.waitSignal(page.alerts.reported) as told:
        taken(silent, memory(2.0, 990))
    assert [event.words for event in told.args[0]] == [FULL]
    assert (page.plot.redraws, page.model.rows) == (redraws, rows)
    page.show()
    assert [event.words for event in page.side.events.rows] == [FULL]


def test_that_a_full_mig_instance_is_told_of_by_its_name(sampler, qtbot) -> None:
    watch = AlertWatch(sampler)
    part = {"card": "MIG-1", "name": "NVIDIA A100 MIG 3g.40gb", "total_mib": 1000}
    taken(
        sampler,
        Cards(
            time=1.0,
            cards=[CardFacts(card="a", name="A100", total_mib=4000, instances=[Instance(**part)])],
        ),
        Fast(time=2.0, cards=[FastFigures(card="MIG-1", memory_used_mib=990)]),
    )
    sampler.noticed.emit()
    assert [(event.device, event.words) for event in watch.log.events] == [
        ("GPU 0 3g.40gb", "its memory is 99 % full: an allocation may fail")
    ]


def test_that_a_time_in_which_nobody_watched_is_a_gap_in_the_curve(page, silent, qtbot) -> None:
    later = 10 * LONGEST_GAP
    taken(silent, CARD, *(memory(second, 10) for second in (1.0, 2.0, 3.0, later, later + 1)))
    page.show()
    curve = page.plot.curve_called("a")
    curve.draw(AxisView(TimeWindow(0.0, later + 1), 1_000), LINEAR)
    joined = curve.strokes[2]
    assert [bool(near) for near in joined[:-1]] == [True, True, False, True]
    assert silent.history.value_at("a", "memory", later / 2) is None
    page.plot.time.move_cursor(later / 2)
    assert page.plot.legend.entries[0].text == "GPU 0"
    [span] = page.plot.canvas.backdrop.spans
    assert (span.kind, span.start, span.end) == ("unwatched", 2.0, later - 1)
    assert page.plot.moment.text().endswith(" · nobody watched then")
    page.plot.time.move_cursor(later)
    assert "nobody" not in page.plot.moment.text()


def test_that_the_plot_says_since_when_the_devices_are_watched(page, silent) -> None:
    taken(silent, CARD, memory(1.0, 10), memory(60.0, 10))
    page.show()
    since = time.strftime("watched since %H:%M", time.localtime(1.0))
    assert page.plot.moment.text() == since
    page.plot.set_span("2 min")
    assert page.plot.moment.text() == since
    taken(silent, memory(121.0, 10))
    page.plot.show_devices(page.plot._rows)
    assert page.plot.moment.text() == ""
    page.plot.set_span("10 min")
    assert page.plot.moment.text() == since
