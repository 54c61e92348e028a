"""A lesson comes back with the next window, where it was left."""

from __future__ import annotations

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication

from gpu_studio.contract import Resume, SavedCheckpoint
from gpu_studio.runs.lessons import lessons
from gpu_studio.ui.kit.settings import LESSON
from gpu_studio.ui.window import lessons as window_lessons
from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.lesson_panel import find_place


def test_that_a_lesson_comes_back_at_its_step_with_the_next_window(open_window, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.settled)
    window.lessons.begin(2)
    window.lessons.go(1)
    again = open_window()
    qtbot.waitUntil(lambda: again.lessons.lesson is not None)
    assert (again.lessons.lesson.number, again.lessons.index) == (2, 1)
    assert again.lessons.panel.isVisible()
    assert again.document.plan.name == window.document.plan.name
    again.lessons.leave()
    third = open_window()
    qtbot.waitUntil(lambda: third.settled)
    assert third.lessons.lesson is None


def test_that_a_lesson_begun_at_once_is_not_replaced_by_the_one_remembered(
    open_window, qtbot
) -> None:
    window = open_window()
    window.lessons.begin(2)
    window.lessons.go(1)
    window.lessons.begin(3)
    qtbot.waitUntil(lambda: window.settled)
    assert (window.lessons.lesson.number, window.lessons.index) == (3, 0)


@pytest.mark.parametrize("now", [1_795_481_410.6, 1_795_481_411.0])
def test_that_runs_begun_in_the_second_of_a_lesson_are_its_runs_after_a_restart_too(
    open_window, settings, monkeypatch, now
) -> None:
    """A run’s id has whole seconds, cut off: a time rounded up would leave the first run out."""
    monkeypatch.setattr(window_lessons, "time", type("Clock", (), {"time": lambda: now}))
    open_window().lessons.begin(1)
    assert float(settings.get(LESSON).split(":")[2]) <= now


def test_that_a_lesson_is_read_and_left_by_keys(open_window, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.settled)
    window.lessons.begin(2)
    panel = window.lessons.panel
    panel.close_button.setFocus(Qt.FocusReason.TabFocusReason)
    reached = []
    for _ in range(8):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        reached.append(QApplication.focusWidget())
        if reached[-1] is panel.next_button:
            break
    assert reached[-1] is panel.next_button, [type(each).__name__ for each in reached]
    qtbot.keyClick(panel.next_button, Qt.Key.Key_Space)
    assert window.lessons.index == 1
    assert panel.next_button.hasFocus()
    qtbot.keyClick(panel.next_button, Qt.Key.Key_Escape)
    assert window.lessons.lesson is None
    assert not panel.isVisible()
    assert not window.lessons.ring.isVisible()


def test_that_the_ring_stays_around_its_part_when_the_window_changes_its_size(
    open_window, qtbot
) -> None:
    window = open_window()
    window.resize(1400, 900)
    qtbot.waitUntil(lambda: window.settled)
    window.lessons.begin(2)
    lessons = window.lessons
    while lessons.ring.around is None:
        lessons.go(1)
    ring, panel = lessons.ring, lessons.panel

    def is_around() -> bool:
        part = ring.around
        wanted = QRect(part.mapTo(window, QPoint(0, 0)), part.size()).adjusted(-6, -6, 6, 6)
        return ring.isVisible() and ring.geometry() == wanted & window.rect()

    for width, height in ((1400, 900), (1250, 760), (1024, 700)):
        window.resize(width, height)
        lessons.look()
        qtbot.waitUntil(is_around)
    assert not panel.geometry().intersects(ring.geometry())


def test_that_nobody_is_told_to_train_on_cards_that_are_simulated(qtbot, monkeypatch) -> None:
    monkeypatch.delenv("GPU_STUDIO_SIMULATE", raising=False)
    real = window_lessons.LessonOffer()
    monkeypatch.setenv("GPU_STUDIO_SIMULATE", "2xL4")
    simulated = window_lessons.LessonOffer()
    qtbot.addWidget(real)
    qtbot.addWidget(simulated)
    assert "press Train" in real.words.text()
    assert "press Train" not in simulated.words.text()
    assert "nothing trains" in simulated.accessibleName()


def test_that_menus_and_tabs_that_lessons_point_at_are_there(open_window) -> None:
    window = open_window()
    window.lessons.begin(6)
    places = {place for lesson in lessons().values() for step in lesson.steps for place in step.at}
    menus = sorted(place for place in places if place.startswith("menu:"))
    assert menus == ["menu:Run"]
    bar, within = find_place(window, menus)
    assert bar is window.menuBar()
    assert bar.actionAt(within.center()).text().replace("&", "") == "Run"
    assert find_place(window, ["menu:Walk"]) is None
    tabs = {place.removeprefix("tab:") for place in places if place.startswith("tab:")}
    assert tabs - {"Placement"} <= set(PARTS)


def test_that_nobody_is_told_to_train_what_cannot_be_trained(open_window, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: not window.readiness.why_not)
    offer, facts = window.lessons.offer, window.services.facts
    assert "press Train" in offer.words.text()
    facts.error = "TensorFlow cannot be imported."
    facts.changed.emit()
    assert "Train" not in offer.words.text()
    assert offer.accessibleName() == offer.words.text()
    facts.error = ""
    facts.changed.emit()
    assert "press Train" in offer.words.text()


def test_that_who_resumes_a_run_is_not_told_that_a_plan_is_ready_to_train(
    open_window, runs, qtbot
) -> None:
    """Above the button Resume it said: press Train."""
    run = make_run(runs, Script(trained=1, epochs=3, ending="stopped"))
    window = open_window()
    qtbot.waitUntil(lambda: window.settled)
    offer, resuming = window.lessons.offer, window.resuming
    assert not offer.isHidden()
    saved = SavedCheckpoint(run.checkpoints / "step-00000020", epoch=1, step=20)
    resuming.begin(Resume(run, saved), window.document.plan)
    assert offer.isHidden()
    resuming.end()
    assert not offer.isHidden()
