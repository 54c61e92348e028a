"""The studies half of the Lab page, over run folders as a trainer leaves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_studies import PLAN, made_study, write_run, write_runs
from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from gpu_studio.contract import lock
from gpu_studio.runs.study_shelf import remember
from gpu_studio.ui.kit.action_set import ActionSet
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.kit.table import model_as_text
from gpu_studio.ui.lab.lab_page import LabPage
from gpu_studio.ui.lab.studies_section import StudiesSection
from gpu_studio.ui.lab.study_view import StudyView
from gpu_studio.ui.window.actions import ACTIONS


@pytest.fixture
def make(theme, settings, qtbot, runs_dir, tmp_path):
    """Show the section of the studies on a page, once it has read them."""
    window = QWidget()
    qtbot.addWidget(window)
    made: list[StudiesSection] = []

    def shown() -> StudiesSection:
        notice = Notice(window)
        section = StudiesSection(theme, notice, runs_dir, ActionSet(window, theme, ACTIONS))
        page = LabPage(theme, settings, (section,), window)
        page.resize(1100, 720)
        window.resize(1100, 720)
        window.show()
        made.append(section)
        qtbot.waitUntil(lambda: not section.is_looking)
        for entry in section.entries[:1]:
            page.choose("studies", entry.key)
        return section

    yield shown
    for section in made:
        section.close_parts()


def view_of(section: StudiesSection) -> StudyView:
    return section.view


def test_that_a_finished_study_shows_verdict_picture_parts_points_and_facts(
    make, runs_dir, tmp_path
):
    opened = made_study(tmp_path)
    write_runs(runs_dir, opened)
    section = make()
    (entry,) = section.entries
    assert (entry.title, entry.figure, entry.state, entry.running) == (
        "Scaling of digits, strong", "2.9 × on 4", "12 of 12 runs", False,
    )  # fmt: skip
    view = view_of(section)
    assert view.headline.text().startswith("Four devices: 2.9 times as fast as one device.")
    assert view.why.text().startswith("Amdahl's law with communication: s = 0.05")
    assert view.plan_button.isVisibleTo(view)
    assert not view.edit_button.isVisibleTo(view)
    assert not view.bar.isVisibleTo(view)
    assert view.facts.facts["devices"] == "1 to 4"
    assert view.facts.facts["held"] == "global batch 72"
    assert view.facts.facts["noise"] == "± 0.4 %"
    rows = model_as_text(view.few, range(4)).splitlines()
    assert rows[0].split("\t") == ["N", "samples/s", "×"]
    assert rows[4].split("\t")[0::2] == ["4", "2.88"]
    assert view.table.currentIndex().row() == 3
    assert "1 device: 10.0 ms a step, computing or idle 9.64 ms, input" in view.steps.description
    assert "2 devices: " in view.steps.description
    assert "communication" in view.steps.description


def test_that_more_of_the_why_is_a_press_away(make, runs_dir, tmp_path):
    write_runs(runs_dir, made_study(tmp_path))
    view = view_of(make())
    assert "Karp and Flatt" not in view.why.text()
    view.more.click()
    assert "Karp and Flatt" in view.why.text()
    assert view.more.text() == "Less"


def test_that_the_table_of_all_points_cuts_nothing_in_a_narrow_window(
    make, runs_dir, tmp_path, qtbot
):
    """The memory of each device was '…' in 39 pixels, and could not be scrolled to."""
    write_runs(runs_dir, made_study(tmp_path, "strategies", repeats=1))
    table = view_of(make()).whole
    table.setParent(None)
    qtbot.addWidget(table)
    table.resize(540, table.height())
    table.show()
    qtbot.waitExposed(table)
    for column in range(table.model().columnCount()):
        assert table.columnWidth(column) >= table.sizeHintForColumn(column), column
    assert table.horizontalScrollBar().maximum() > 0
    assert table.verticalScrollBar().maximum() == 0


def test_that_strategies_have_a_table_with_losses_and_the_memory_of_each_device(
    make, runs_dir, tmp_path
):
    opened = made_study(tmp_path, "strategies", repeats=1)
    write_runs(runs_dir, opened)
    view = view_of(make())
    assert view.whole.isVisibleTo(view)
    first = model_as_text(view.every, range(1)).splitlines()[1].split("\t")
    assert first[0] == "none"
    assert first[4] == "0.3667"
    assert first[5] == "CPU:0 6 MiB, CPU:1 6 MiB"
    assert view.picture.picture is not None
    assert view.picture.picture.by_name


def test_that_a_straggler_and_a_point_that_failed_are_named_first(make, runs_dir, tmp_path):
    opened = made_study(tmp_path)
    write_runs(runs_dir, opened, most=1)
    write_run(runs_dir, opened, opened.points[1], computing=[0.004, 0.009], step_seconds=0.01)
    write_run(runs_dir, opened, opened.points[3], failed="Out of memory on GPU:3.")
    view = view_of(make())
    lines = view.why.text().splitlines()
    assert lines[0] == (
        "2 devices: CPU:1 computes 9.00 ms in a profiled step, the others 4.00 ms. Every step "
        "waits for CPU:1."
    )
    assert lines[1] == "4 devices could not be measured: Out of memory on GPU:3."
    assert "failed" in model_as_text(view.few, range(4)).splitlines()[4]


def test_that_a_study_under_way_tells_its_run_its_epoch_and_the_time_left_and_goes_on(
    make, runs_dir, tmp_path, qtbot
):
    opened = made_study(tmp_path)
    write_runs(runs_dir, opened, most=3)
    live = write_run(runs_dir, opened, opened.points[3], ended=False)
    held = lock.take(live.lock_file)
    section = make()
    view = view_of(section)
    words = view.progress.text()
    assert words.startswith("3 of 12 runs · ")
    assert "4 devices, epoch 3 of" in words or "4 devices" in words
    assert "about" in words
    assert section.entries[0].running
    assert view.bar.value() >= 300
    held.release()
    write_run(runs_dir, opened, opened.points[3])
    section.look()
    qtbot.waitUntil(lambda: "4 of 12 runs · not being run" in view.progress.text())
    assert not section.entries[0].running


def test_that_only_what_has_changed_is_shown_anew(make, runs_dir, tmp_path, qtbot):
    write_runs(runs_dir, made_study(tmp_path), most=2)
    section = make()
    before = view_of(section).snapshot
    with qtbot.assertNotEmitted(section.changed):
        section.look()
        qtbot.waitUntil(lambda: not section.is_looking)
    assert view_of(section).snapshot is before


def test_that_a_study_without_runs_can_be_edited_and_a_broken_one_says_why(
    make, runs_dir, tmp_path, qtbot
):
    opened = made_study(tmp_path)
    remember(runs_dir, opened.path)
    section = make()
    view = view_of(section)
    assert view.headline.text() == "Nothing has been measured yet."
    assert view.edit_button.isVisibleTo(view)
    assert section.entries[0].figure == "not measured"
    opened.path.write_text("version = 1\nname = 'x'\nplan = 'digits.plan.toml'\nspeed = 3\n")
    section.look()
    qtbot.waitUntil(lambda: "cannot be read" in view.headline.text())
    assert "speed is not a key of a study" in view.why.text()
    assert section.entries[0].tone == "bad"


def test_that_changed_data_is_told_with_a_button_to_measure_anew(make, runs_dir, tmp_path, qtbot):
    (tmp_path / "mine.npz").write_bytes(b"one")
    plan = replace(PLAN, data=replace(PLAN.data, name=None, file="mine.npz"))
    opened = made_study(tmp_path, plan=plan)
    write_runs(runs_dir, opened, most=2)
    (tmp_path / "mine.npz").write_bytes(b"another")
    section = make()
    view = view_of(section)
    assert view.changed_note.text == (
        "mine.npz changed since 2 runs of this study read it. They still count."
    )
    with qtbot.waitSignal(view.anew_wanted):
        view.changed_note.button.click()


def test_that_an_empty_half_says_what_to_do(make):
    section = make()
    assert section.entries == []
    assert section.nothing.startswith("None yet. “New study” trains the open plan")
    assert section.new_button.isVisible()
    assert [action.objectName() for action in section.new_menu.actions()][:2] == [
        "new_study_scaling-strong",
        "new_study_scaling-weak",
    ]


def test_that_the_picture_becomes_files_and_names_the_point_under_the_pointer(
    make, runs_dir, tmp_path
):
    write_runs(runs_dir, made_study(tmp_path))
    chart = view_of(make()).picture
    image = QImage.fromData(chart.png())
    assert image.width() >= 1280
    drawing = chart.svg().decode()
    assert "<title>Speed-up</title>" in drawing
    assert "4 devices: 2.88" in drawing
    assert chart.accessibleName() == "Speed-up"
    assert "1 device: 1.00 ×" in chart.accessibleDescription()
    assert chart.point_at(QPointF(1, 1)) is None
    places = [(x, y) for x in range(0, chart.width(), 6) for y in range(0, chart.height(), 6)]
    found = {point.label for place in places if (point := chart.point_at(QPointF(*place)))}
    assert found == {"1 device", "2 devices", "3 devices", "4 devices"}


def test_that_everything_is_named_for_those_who_do_not_see_it(make, runs_dir, tmp_path):
    write_runs(runs_dir, made_study(tmp_path))
    section = make()
    view = view_of(section)
    named = (view.table, view.whole, view.bar, view.steps, view.picture, view.more)
    named += (section.run_button, section.stop_button, section.report_button, section.more)
    assert all(each.accessibleName() for each in named)
    assert isinstance(Path(section.caption), Path)
