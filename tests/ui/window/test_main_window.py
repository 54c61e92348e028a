from __future__ import annotations

from pathlib import Path

import pytest
from made_machines import TWO_CARDS
from made_runs import Script, make_run
from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QToolButton
from real_runs import fake_trainer

from gpu_studio.common.figures import duration
from gpu_studio.contract import lock
from gpu_studio.plan import Plan, load, save, starter
from gpu_studio.plan.edits.training import set_training
from gpu_studio.runs import catalogue
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.kit.settings import LAST_PLAN, RECENT_PLANS, THEME, Settings
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.window.frame import Rail
from gpu_studio.ui.window.main_window import MainWindow, Settling
from gpu_studio.ui.window.plan_files import RecentMenu
from gpu_studio.ui.window.services import PAGES

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.plan.toml"
    save(set_training(starter(TWO_CARDS), epochs=3), path)
    return path


def files(*paths: Path) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


def drag(window: MainWindow, mime: QMimeData) -> bool:
    """Drag over the window; whether it would take it."""
    event = QDragEnterEvent(
        QPoint(300, 300),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(window, event)
    return event.isAccepted()


def drop(window: MainWindow, mime: QMimeData) -> None:
    event = QDropEvent(
        QPointF(300, 300),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    # Qt delivers a drop only where the drag was taken; the window must not rely on that.
    window.dropEvent(event)


def test_that_the_pages_are_reached_by_keyboard(open_window, qtbot) -> None:
    window = open_window()
    assert window.page == "plan"
    for key, page in (
        (Qt.Key.Key_1, "devices"),
        (Qt.Key.Key_3, "train"),
        (Qt.Key.Key_4, "runs"),
        (Qt.Key.Key_5, "lab"),
        (Qt.Key.Key_2, "plan"),
    ):
        qtbot.keyClick(window, key, CTRL)
        assert window.page == page
        [checked] = [
            each.text()
            for each in window.findChild(Rail).findChildren(QToolButton)
            if each.isChecked()
        ]
        assert checked.lower() == page


def test_that_the_machine_and_the_tensorflow_in_use_are_named(open_window, qtbot) -> None:
    window = open_window(machine=TWO_CARDS)
    assert window.status_line.machine_text == "16 cores · 2 NVIDIA cards"
    qtbot.waitUntil(lambda: window.status_line.tensorflow_text.startswith("TensorFlow 2."))


@pytest.mark.slow
def test_that_training_from_the_keyboard_starts_a_run_and_shows_it(
    open_window, runs, qtbot
) -> None:
    window = open_window(trainer=fake_trainer("--epochs", "2"))
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    assert window.page == "train"
    (run,) = catalogue.directories(runs)
    assert load(run.plan_file).name == "digits on four logical CPUs"
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")
    qtbot.waitUntil(lambda: "finished" in window.status_line.run_text)
    took = duration(window.shown_run.history.seconds)  # as the Train page has it
    assert window.status_line.run_text.endswith(f"finished after {took}")
    assert not window.actions_["stop"].isEnabled()
    qtbot.waitUntil(lambda: window.runs.launched == [])


def test_that_a_run_is_paused_resumed_and_stopped_by_the_actions(open_window, qtbot) -> None:
    window = open_window(trainer=fake_trainer("--hold-at", "3"))
    assert "No run is shown" in window.actions_["pause"].toolTip()
    window.actions_["train"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "running")
    qtbot.keyClick(window, Qt.Key.Key_P, CTRL)
    qtbot.waitUntil(lambda: window.shown_run.state == "paused")
    assert window.actions_["pause"].text() == "Resume"
    qtbot.waitUntil(lambda: "paused" in window.status_line.run_text)
    window.actions_["pause"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "running")
    window.actions_["stop"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "stopped")
    assert window.shown_run.history.finished.reason == "stopped"


def test_that_closing_the_window_stops_no_run(open_window, runs, qtbot) -> None:
    window = open_window(trainer=fake_trainer("--hold-at", "3"))
    window.actions_["train"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "running")
    assert window.close()
    (run,) = catalogue.directories(runs)
    assert lock.held(run.lock_file)
    again = open_window()
    assert again.page == "train"
    qtbot.waitUntil(lambda: again.shown_run.state == "running")
    assert again.shown_run.run == run


def test_that_a_second_run_is_started_and_the_first_not_forgotten(open_window, runs, qtbot) -> None:
    window = open_window(trainer=fake_trainer("--hold-at", "3"))
    window.actions_["train"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "running")
    first = window.shown_run.run
    window.show_page("plan")
    qtbot.waitUntil(window.actions_["train"].isEnabled)
    window.actions_["train"].trigger()
    assert window.shown_run.run != first
    assert "is still training too" in window.notice.text


def test_that_train_pressed_twice_in_a_breath_starts_one_run(open_window, runs, qtbot) -> None:
    window = open_window(trainer=fake_trainer("--hold-at", "3"))
    for _ in range(3):
        qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    assert len(catalogue.directories(runs)) == 1
    assert "just being started" in window.actions_["train"].toolTip()
    qtbot.waitUntil(window.actions_["train"].isEnabled)


def test_that_a_window_opened_for_a_plan_shows_that_and_not_the_live_run(
    open_window, runs, plan_file, qtbot
) -> None:
    run = make_run(runs, Script(name="live", epochs=2, trained=1))
    held = lock.take(run.lock_file)
    try:
        window = open_window(plan_file)
        assert window.page == "plan"
        assert window.document.path == plan_file
        assert open_window().page == "train"
    finally:
        held.release()


def test_that_a_plan_is_opened_by_dropping_its_file(open_window, plan_file, qtbot) -> None:
    window = open_window()
    window.show_page("devices")
    assert drag(window, files(plan_file))
    drop(window, files(plan_file))
    assert window.document.path == plan_file
    assert window.page == "plan"


def test_that_what_is_no_plan_is_refused_while_it_is_dragged(
    open_window, plan_file, tmp_path
) -> None:
    window = open_window()
    text = QMimeData()
    text.setText("hello")
    for mime in (text, files(tmp_path / "picture.png"), files(plan_file, plan_file)):
        assert not drag(window, mime)
        drop(window, mime)
        assert window.document.path is None


def test_that_a_plan_that_cannot_be_read_is_told_of_and_changes_nothing(
    open_window, tmp_path, qtbot
) -> None:
    window = open_window()
    before = window.document.plan
    bad = tmp_path / "bad.plan.toml"
    bad.write_text("[training]\nepoch = 3\n")
    drop(window, files(bad))
    assert "did you mean epochs?" in window.notice.text
    assert window.notice.isVisible()
    assert window.document.plan == before
    qtbot.keyClick(window.notice, Qt.Key.Key_Escape)
    assert not window.notice.isVisible()


def test_that_a_missing_plan_at_the_start_leaves_a_window_with_a_starter(
    open_window, tmp_path, qtbot
) -> None:
    window = open_window(tmp_path / "gone.plan.toml")
    assert "missing" in window.notice.text
    qtbot.waitUntil(lambda: window.document.plan is not None)


def chosen(window: MainWindow, path: Path) -> None:
    """Choose a file in the dialog that is open."""
    (dialog,) = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.done(0)


def test_that_plans_are_opened_and_saved_by_dialogs_that_block_nothing(
    open_window, plan_file, tmp_path, qtbot
) -> None:
    window = open_window()
    qtbot.keyClick(window, Qt.Key.Key_O, CTRL)
    chosen(window, plan_file)
    assert window.document.path == plan_file
    qtbot.waitUntil(lambda: window.findChildren(QFileDialog) == [])
    other = tmp_path / "other.plan.toml"
    window.actions_["save_plan_as"].trigger()
    chosen(window, other)
    assert window.document.path == other
    assert load(other) == window.document.plan


def test_that_a_plan_that_cannot_be_saved_says_why(open_window, tmp_path) -> None:
    window = open_window()
    window.plan_files.save_to(tmp_path / "nowhere" / "a.plan.toml")
    assert "could not be saved" in window.notice.text
    assert "No such file" in window.notice.text
    assert window.document.path is None


def test_that_the_next_start_has_the_last_plan_with_its_unsaved_changes(
    open_window, plan_file, settings
) -> None:
    window = open_window(plan_file)
    changed = set_training(window.document.plan, epochs=77)
    window.document.replace(changed, "change epochs")
    window.close()
    assert settings.get(LAST_PLAN) == str(plan_file)
    again = open_window()
    assert again.document.plan == changed
    assert again.document.path == plan_file
    assert again.document.dirty
    again.plan_files.save()
    again.close()
    third = open_window()
    assert third.document.plan == changed
    assert not third.document.dirty


def test_that_an_unsaved_starter_comes_back_only_if_it_was_changed(open_window, qtbot) -> None:
    first = open_window()
    qtbot.waitUntil(lambda: first.document.plan is not None)
    changed = set_training(first.document.plan, epochs=5)
    first.document.replace(changed, "change epochs")
    first.close()
    second = open_window()
    assert second.document.plan == changed
    second.actions_["new_starter"].trigger()
    (question,) = second.findChildren(Question)
    question.buttons["Don’t save"].click()
    second.close()
    third = open_window(machine=TWO_CARDS)
    qtbot.waitUntil(lambda: third.document.plan == starter(TWO_CARDS))


def test_that_a_last_plan_that_is_gone_gives_a_starter(open_window, plan_file, qtbot) -> None:
    open_window(plan_file).close()
    plan_file.unlink()
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    assert window.document.path is None


def test_that_recent_plans_of_all_windows_stand_in_the_menu_the_last_first(
    open_window, plan_file, tmp_path, settings
) -> None:
    other, elsewhere = tmp_path / "a&b.plan.toml", tmp_path / "elsewhere.plan.toml"
    save(Plan(), other)
    save(Plan(), elsewhere)
    settings.set(RECENT_PLANS, (str(tmp_path / "gone.plan.toml"),))
    window = open_window(plan_file)
    another = Settings(tmp_path / "settings" / "window.ini")
    another.set(RECENT_PLANS, (str(elsewhere), *another.get(RECENT_PLANS)))
    window.plan_files.open(other)
    first, second, third = window.findChild(RecentMenu).actions()
    assert first.text().endswith("a&&b.plan.toml")
    assert second.text().endswith("elsewhere.plan.toml")
    third.trigger()
    assert window.document.path == plan_file


def test_that_opening_another_plan_can_be_undone(open_window, plan_file, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    before = window.document.plan
    window.plan_files.open(plan_file)
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert window.document.plan == before


def test_that_undo_is_offered_for_what_a_message_tells_of_where_no_plan_is_seen(
    open_window, plan_file, qtbot
) -> None:
    window, done = open_window(), []
    qtbot.waitUntil(lambda: window.document.plan is not None)
    window.plan_files.open(plan_file)
    opened = window.document.plan
    undo = window.actions_["undo"]
    window.show_page("runs")
    assert not undo.isEnabled()
    window.notice.say("A run was deleted.", label="Undo", action=lambda: done.append("undone"))
    assert (undo.isEnabled(), undo.text()) == (True, "Undo")
    undo.trigger()
    assert (done, window.document.plan) == (["undone"], opened)
    assert not undo.isEnabled()
    window.show_page("plan")
    window.notice.say("A run was deleted.", label="Undo", action=lambda: done.append("undone"))
    undo.trigger()
    assert window.document.plan != opened
    assert done == ["undone"]


def test_that_the_colours_are_chosen_and_remembered(open_window, settings, theme) -> None:
    window = open_window()
    window.actions_["theme_dark"].trigger()
    assert theme.tokens.name == "dark"
    assert settings.get(THEME) == "dark"
    assert window.actions_["theme_dark"].isChecked()
    assert not window.actions_["theme_light"].isChecked()


def test_that_size_is_remembered(open_window) -> None:
    window = open_window()
    # Lower than the screen of the tests, whose width is less than the window's smallest.
    window.resize(1024, 701)
    window.close()
    assert open_window().height() == 701


def test_that_an_invalid_plan_is_not_launched_by_any_way(open_window, runs, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    window.document.replace(set_training(window.document.plan, epochs=0), "spoil")
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    assert window.page == "plan"
    window.runs.train()
    assert "training.epochs" in window.notice.text
    assert not runs.exists() or catalogue.directories(runs) == []


def test_that_a_folder_for_runs_that_cannot_be_written_is_told_until_a_run_is_started(
    open_window, runs, qtbot
) -> None:
    runs.write_text("a file stands where the folder should be")
    window = open_window(trainer=fake_trainer())
    window.actions_["train"].trigger()
    assert "could not be started" in window.notice.text
    assert window.page == "plan"
    runs.unlink()
    window.actions_["train"].trigger()
    assert window.page == "train"
    assert window.notice.isHidden()


def test_that_nothing_is_cut_in_the_smallest_window(open_window, qtbot) -> None:
    window = open_window()
    window.resize(1, 1)
    assert window.size().toTuple() == (1024, 680)
    for page in PAGES:
        window.show_page(page)
        assert window.centralWidget().minimumSizeHint().width() <= 1024
        assert window.minimumSizeHint().height() <= 680, page


def test_that_a_fresh_window_has_a_new_plan_and_keeps_the_draft_of_the_one_before(
    open_window, plan_file: Path, qtbot
) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    with qtbot.waitSignal(window.plan_files.drafts.written):
        window.document.replace(set_training(window.document.plan, epochs=77), "change epochs")
    window.close()
    fresh = open_window(fresh=True)
    qtbot.waitUntil(lambda: fresh.document.plan is not None)
    assert fresh.document.plan.training.epochs != 77
    assert not fresh.document.dirty
    assert [draft.text.count("epochs = 77") for draft in fresh.plan_files.drafts.others] == [1]


def test_that_a_window_closed_before_it_is_shown_takes_no_step_of_its_start(qtbot) -> None:
    taken: list[int] = []
    parent = QObject()
    settling = Settling(Inventory(parent=parent), [lambda: taken.append(1)], parent)
    settling.close()
    settling.begin()
    assert settling.done
    assert not settling.findChild(QTimer).isActive()
    assert taken == []
