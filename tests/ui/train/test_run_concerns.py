"""Warnings as they arise: on the strip, in the log, at the window's foot, as marks.

And gone when they are over.
"""

from __future__ import annotations

import itertools

import pytest
from made_runs import MIB, Script, make_run, tell
from PySide6.QtCore import QPoint, Qt

from gpu_studio.contract import events, lock
from gpu_studio.runs.warnings import Concern
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train import warnings_strip
from gpu_studio.ui.train.train_page import TrainPage
from gpu_studio.ui.train.warnings_strip import MOST_LINES, RunConcerns, WarningsStrip


def concern(name: str, level="warning", since=1.0) -> Concern:
    return Concern(
        name, f"{name} is near its limit.", "Make the batch smaller.", level, since, since
    )


def memory(share: float) -> events.Memory:
    used = int(share * 1000 * MIB)
    return events.Memory(
        devices=[
            events.DeviceMemory(device="GPU:0", current=used, peak=used, source="allocator",
                                limit=1000 * MIB)
        ]
    )  # fmt: skip


@pytest.fixture
def theme(qapp):
    return ThemeManager("dark")


@pytest.fixture
def live_run(runs_dir):
    run = make_run(runs_dir, Script(trained=3.5, warning_at=0))
    held = lock.take(run.lock_file)
    yield run
    held.release()


@pytest.fixture
def page(qtbot, theme, live_run):
    page = TrainPage(theme)
    qtbot.addWidget(page, before_close_func=TrainPage.close_run)
    page.resize(1196, 746)
    with qtbot.waitExposed(page):
        page.show()
    page.show_run(live_run)
    qtbot.waitUntil(lambda: page.live_run.state == "running" and not page.live_run.reading)
    return page


@pytest.fixture
def moment(page):
    """The clock that the page looks by, some seconds after the newest event.

    Nobody looks but the test.
    """

    class Moment:
        now = page.live_run.history.last_time + 1.0

        def look(self, after: float = 0.0) -> None:
            self.now += after
            page.concerns.look()

    made = Moment()
    page.concerns.clock = lambda: made.now
    page.concerns._timer.stop()
    return made


@pytest.fixture
def strip(qtbot, theme):
    strip = WarningsStrip(theme)
    qtbot.addWidget(strip)
    strip.resize(1000, 40)
    strip.show_concerns(())
    return strip


def happen(qtbot, page, event) -> None:
    before = page.live_run.history.revision
    tell(page.live_run.run, event)
    qtbot.waitUntil(lambda: page.live_run.history.revision > before)


def shown(strip) -> list[str]:
    return [line.text.text() for line in strip.lines if line.isVisibleTo(strip)]


def test_that_what_begins_stands_in_strip_log_marks_and_is_told_in_a_line(
    qtbot, page, moment
) -> None:
    happen(qtbot, page, memory(0.97))
    with qtbot.waitSignal(page.concerns.changed):
        moment.look()
    text = "GPU:0 uses 97 % of its memory limit."
    assert shown(page.warnings) == [text]
    assert page.concerns.words == "⚠ GPU:0 uses 97 % of its memory limit"
    assert page.live_run.history.warnings[-1].message == text
    page.details.refresh(page.live_run)
    assert f"⚠ {text} A larger batch may not fit" in page.details.log.events.toPlainText()
    moment.look(after=2.0)
    assert len(page.live_run.history.warnings) == 1
    assert [each.key for each in page.concerns.concerns] == ["memory GPU:0"]


def test_that_what_is_over_goes_and_stays_in_the_log(qtbot, page, moment) -> None:
    happen(qtbot, page, memory(0.97))
    moment.look()
    happen(qtbot, page, memory(0.5))
    moment.look(after=5.0)
    assert page.warnings.isVisible()
    moment.look(after=6.0)
    assert not page.warnings.isVisible()
    page.details.refresh(page.live_run)
    lines = page.details.log.events.toPlainText().splitlines()
    assert lines[-1].endswith("over: GPU:0 uses 97 % of its memory limit.")
    assert sum("⚠" in line for line in lines) == 1


def test_that_what_is_dismissed_comes_back_only_when_it_begins_again(qtbot, page, moment) -> None:
    happen(qtbot, page, memory(0.97))
    moment.look()
    qtbot.mouseClick(page.warnings.lines[0].dismiss, Qt.MouseButton.LeftButton)
    assert page.concerns.words == ""
    moment.look(after=2.0)
    assert not page.warnings.isVisible()
    happen(qtbot, page, memory(0.5))
    moment.look(after=20.0)
    happen(qtbot, page, memory(0.97))
    moment.look(after=1.0)
    assert page.warnings.isVisible()


def test_that_the_trainers_own_warnings_stand_there_too_and_once_in_the_log(
    qtbot, page, moment
) -> None:
    happen(qtbot, page, events.Warned(message="The disk is slow.", suggestion="Use another."))
    moment.look()
    assert shown(page.warnings) == ["The disk is slow."]
    assert page.warnings.lines[0].advice.text() == "Use another."
    page.details.refresh(page.live_run)
    assert page.details.log.events.toPlainText().count("The disk is slow.") == 1


def test_that_a_run_that_ends_leaves_no_warning_behind(qtbot, page, moment) -> None:
    happen(qtbot, page, memory(0.97))
    moment.look()
    happen(qtbot, page, events.Failed(message="GPU:0 ran out of memory.", suggestions=[]))
    moment.look()
    assert not page.warnings.isVisible()


def test_that_another_run_begins_without_the_warnings_of_the_one_before(
    qtbot, page, moment, runs_dir
) -> None:
    happen(qtbot, page, memory(0.97))
    moment.look()
    page.show_run(make_run(runs_dir, Script(trained=1, ending="completed")))
    assert not page.warnings.isVisible()
    assert page.concerns.concerns == ()


def test_that_one_line_is_shown_and_the_others_on_demand(qtbot, strip) -> None:
    strip.show_concerns([concern("GPU:0", "error"), concern("GPU:1"), concern("GPU:2")])
    assert shown(strip) == ["GPU:0 is near its limit."]
    assert strip.more.text() == "and 2 more"
    assert strip.property("tone") == "bad"
    qtbot.keyClick(strip.more, Qt.Key.Key_Space)
    assert len(shown(strip)) == 3
    strip.show_concerns([concern("GPU:1")])
    assert shown(strip) == ["GPU:1 is near its limit."]
    assert not strip.more.isVisibleTo(strip)
    assert strip.property("tone") == "warning"


def test_that_many_warnings_leave_room_for_the_plots(strip) -> None:
    strip.show_concerns([concern(f"GPU:{place}") for place in range(16)])
    assert strip.more.text() == "and 15 more"
    strip.more.click()
    assert len(shown(strip)) == MOST_LINES
    assert strip.more.toolTip() == "All stand in the log"


def test_that_the_line_whose_button_is_pressed_is_the_one_dismissed(qtbot, strip) -> None:
    strip.show_concerns([concern("GPU:0"), concern("GPU:1")])
    strip.more.click()
    with qtbot.waitSignal(strip.dismissed) as gone:
        qtbot.keyClick(strip.lines[1].dismiss, Qt.Key.Key_Space)
    assert gone.args[0].key == "GPU:1"
    assert strip.lines[1].dismiss.accessibleName() == "Dismiss: GPU:1 is near its limit."


def test_that_without_a_run_there_is_nothing_to_look_at(qapp) -> None:
    concerns = RunConcerns()
    concerns.look()
    assert (concerns.concerns, concerns.words) == ((), "")


def test_that_the_strip_does_not_move_the_plots_under_a_pointer_on_its_way(
    qtbot, page, monkeypatch
) -> None:
    page.warnings.rest.setInterval(20)
    page.warnings.show_concerns([])
    plots = page.body.split
    before = plots.y()
    places = itertools.cycle([QPoint(30, 30), QPoint(32, 30)])
    monkeypatch.setattr(warnings_strip.QCursor, "pos", lambda: plots.mapToGlobal(next(places)))
    page.concerns.follow(None)
    page.warnings.show_concerns([concern("GPU:0")])
    with qtbot.waitSignal(page.warnings.rest.timeout):
        pass
    assert page.warnings.isHidden()
    assert plots.y() == before
    monkeypatch.setattr(warnings_strip.QCursor, "pos", lambda: plots.mapToGlobal(QPoint(30, 30)))
    qtbot.waitUntil(page.warnings.isVisible)
    page.warnings.show_concerns([])
    page.warnings.show_concerns([concern("GPU:0")])
    assert page.warnings.isVisible()
    height = page.warnings.height()
    monkeypatch.setattr(warnings_strip.QCursor, "pos", lambda: plots.mapToGlobal(next(places)))
    page.warnings.show_concerns([])
    with qtbot.waitSignal(page.warnings.rest.timeout):
        pass
    assert page.warnings.height() == height
    monkeypatch.setattr(warnings_strip.QCursor, "pos", lambda: plots.mapToGlobal(QPoint(-9, -9)))
    page.warnings.show_concerns([])
    qtbot.waitUntil(page.warnings.isHidden)
