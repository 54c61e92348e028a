"""No edit is lost: drafts are saved while editing, belong to their plan, and survive a crash."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from patience import PATIENCE_S
from PySide6.QtGui import QAction, QTextCursor
from PySide6.QtWidgets import QMenu

from gpu_studio.contract import lock
from gpu_studio.plan import Plan, dumps, load, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.kit.settings import LAST_PLAN, RECENT_PLANS
from gpu_studio.ui.plan.drafts import Draft, Drafts, id_of, made, new_id
from gpu_studio.ui.plan.file_tabs import FileTab
from gpu_studio.ui.window import draft_keeper
from gpu_studio.ui.window.main_window import MainWindow

WINDOW = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from gpu_studio.ui.window import app
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.plan.edits.training import set_training

def edit():
    shown = app.QApplication.topLevelWidgets()
    window = next(each for each in shown if isinstance(each, MainWindow))
    window.document.replace(set_training(window.document.plan, epochs=400), "change epochs")
    window.plan_files.drafts.written.connect(lambda: print("plan written", flush=True))
    window.plan_files.change_to(Path(sys.argv[3]))
    window.plan_page.mending.text.insertPlainText("# mending it")
    window.repairs.kept.written.connect(lambda: print("text written", flush=True))

QTimer.singleShot(0, edit)
sys.exit(app.run(Path(sys.argv[1]), Path(sys.argv[2])))
"""

HALF = "\n[training.early_stopping]\npatience = "
TYPING = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor
from gpu_studio.ui.window import app
from gpu_studio.ui.window.main_window import MainWindow

def begin():
    shown = app.QApplication.topLevelWidgets()
    window = next(each for each in shown if isinstance(each, MainWindow))
    window.plan_files.drafts.written.connect(lambda: print("written", flush=True))
    window.inventory.changed.connect(lambda: type_half(window))
    type_half(window)

def type_half(window):
    tab = window.plan_page.workspace.open("File")
    if tab.written and window.document.half_typed is None:
        tab.text.moveCursor(QTextCursor.MoveOperation.End)
        tab.text.insertPlainText(sys.argv[3])

QTimer.singleShot(0, begin)
sys.exit(app.run(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch) -> None:
    monkeypatch.setattr(draft_keeper, "WAIT_MS", 1)


def change(window: MainWindow, epochs: int = 99) -> None:
    window.document.replace(set_training(window.document.plan, epochs=epochs), "change epochs")


def plan_at(path: Path, **values) -> Path:
    save(Plan(name=path.name.partition(".")[0], **values), path)
    return path


def drafts_of(window: MainWindow) -> list[Draft]:
    return window.plan_files.drafts.kept.all()


def recent(window: MainWindow) -> list[QAction]:
    menu = next(each for each in window.findChildren(QMenu) if each.title() == "Open recent")
    menu.aboutToShow.emit()
    return menu.actions()


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, texts, texts)
def test_that_a_draft_comes_back_as_it_was_written(
    tmp_path_factory, name: str, text: str, base: str
) -> None:
    drafts = Drafts(tmp_path_factory.mktemp("drafts") / "folder")
    draft = made(new_id(), None, name, text, base)
    drafts.write(draft)
    assert drafts.get(draft.id) == draft
    assert drafts.all() == [draft]
    drafts.remove(draft.id)
    assert drafts.all() == []


def test_that_drafts_are_their_owners_and_what_is_none_is_not_listed(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "drafts")
    drafts.write(made(id_of(Path("/a.plan.toml")), Path("/a.plan.toml"), "a", "text", "base"))
    [file] = (tmp_path / "drafts").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    for name, content in (
        ("x", "{"),
        ("y", "[" * 100_000),
        ("z", json.dumps({"id": "other"})),
        ("w", file.read_text()),
    ):
        file.with_name(f"{name}.draft.json").write_text(content)
    os.mkfifo(file.with_name("pipe.draft.json"))
    assert [draft.name for draft in drafts.all()] == ["a"]


@pytest.mark.parametrize("time", [1e308, -1e308, -1.0])
def test_that_a_draft_of_no_time_of_day_is_not_listed(tmp_path: Path, time: float) -> None:
    drafts = Drafts(tmp_path / "drafts")
    drafts.write(replace(made(new_id(), None, "a", "text", "base"), time=time))
    assert drafts.all() == []


def test_that_the_title_of_a_draft_fits_a_menu() -> None:
    assert len(made(new_id(), None, "x" * 100_000, "text", "base").title) == 80


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3_000])
def test_that_a_remembered_plan_that_nothing_can_be_called_does_not_keep_the_window_shut(
    open_window, settings, name: str
) -> None:
    path = Path("/", name)
    settings.set(RECENT_PLANS, (str(path),))
    settings.set(LAST_PLAN, str(path))
    before = Drafts(settings.folder / "drafts")
    before.write(made(id_of(path), path, "a", dumps(Plan()), ""))
    before.close()
    window = open_window()
    assert window.document.path == path
    assert window.plan_files.recent == ()


def test_that_two_windows_of_a_plan_have_a_draft_each_and_none_is_lost_with_the_other(
    tmp_path: Path,
) -> None:
    path = Path("/a.plan.toml")
    first, second, key = Drafts(tmp_path), Drafts(tmp_path), id_of(path)
    first.write(made(key, path, "first", "text", "base"))
    assert (second.get(key), second.all()) == (None, [])
    second.write(made(key, path, "second", "text", "base"))
    first.write(made(key, path, "first again", "text", "base"))
    assert [draft.name for draft in second.all()] == ["second"]
    second.remove(key)
    second.write(made(key, path, "second again", "text", "base"))
    first.close()
    third = Drafts(tmp_path)
    assert [draft.name for draft in third.all()] == ["first again"]
    second.close()
    [left, taken] = third.all()
    third.take_up(key, taken)
    third.write(made(key, path, "third", "text", "base"))
    assert {draft.name for draft in third.all()} == {left.name, "third"}
    third.remove(key)
    assert [draft.name for draft in third.all()] == [left.name]
    assert third.get(key) == left
    third.close()
    assert {file.suffix for file in tmp_path.iterdir()} == {".json"}


def test_that_a_lock_that_goes_while_it_is_taken_is_taken_again(
    tmp_path: Path, monkeypatch
) -> None:
    path = Path("/a.plan.toml")
    reserve, goes = lock.reserve, iter([True])

    def reserved(file: Path, seconds: float) -> lock.Lock:
        held = reserve(file, seconds)
        if next(goes, False):
            file.unlink()
        return held

    monkeypatch.setattr(lock, "reserve", reserved)
    first, second, key = Drafts(tmp_path), Drafts(tmp_path), id_of(path)
    first.write(made(key, path, "first", "text", "base"))
    assert second.get(key) is None


def test_that_a_draft_whose_id_is_of_another_file_is_none(tmp_path: Path) -> None:
    path = Path("/a.plan.toml")
    for other in ("../elsewhere", "a\0b"):
        draft = made(other, path, "a", "text", "base")
        (tmp_path / f"{id_of(path)}.draft.json").write_bytes(msgspec.json.encode(draft))
        assert Drafts(tmp_path).get(id_of(path)) is None


def test_that_a_plan_saved_over_another_leaves_no_draft_of_it(
    open_window, tmp_path: Path, settings, qtbot
) -> None:
    path = plan_at(tmp_path / "other.plan.toml")
    before = Drafts(settings.folder / "drafts")
    before.write(made(id_of(path), path, "other", dumps(Plan(name="older")), dumps(Plan())))
    before.close()
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    assert window.plan_files.save_to(path)
    assert drafts_of(window) == []


def test_that_what_another_window_left_is_not_forgotten_as_undo_goes_by_its_plan(
    open_window, tmp_path: Path, settings, qtbot
) -> None:
    path = plan_at(tmp_path / "one.plan.toml")
    other = Drafts(settings.folder / "drafts")
    other.write(made(id_of(path), path, "one", dumps(Plan(name="other")), dumps(Plan())))
    window = open_window(path)
    qtbot.waitUntil(lambda: window.inventory.machine is not None)
    window.plan_files.new_starter()
    other.close()
    window.document.undo_stack.undo()
    assert window.document.path == path
    assert [draft.text for draft in drafts_of(window)] == [dumps(Plan(name="other"))]


def test_that_a_second_window_of_a_plan_leaves_the_draft_of_the_first_alone(
    open_window, tmp_path: Path, qtbot
) -> None:
    path = plan_at(tmp_path / "one.plan.toml")
    first = open_window(path)
    with qtbot.waitSignal(first.plan_files.drafts.written):
        change(first)
    second = open_window(path)
    assert not second.document.dirty
    change(second)
    second.document.undo_stack.undo()
    [draft] = drafts_of(first)
    assert "epochs = 99" in draft.text


def test_that_an_edit_is_written_down_while_the_window_is_open(
    open_window, tmp_path: Path, qtbot
) -> None:
    window = open_window(plan_at(tmp_path / "kept.plan.toml"))
    with qtbot.waitSignal(window.plan_files.drafts.written):
        change(window)
    [draft] = drafts_of(window)
    assert (draft.path, draft.name) == (str(tmp_path / "kept.plan.toml"), "kept")
    assert "epochs = 99" in draft.text
    assert "epochs = 99" not in draft.base
    window.document.undo_stack.undo()
    assert drafts_of(window) == []


def test_that_a_saved_plan_has_no_draft(open_window, tmp_path: Path, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    with qtbot.waitSignal(window.plan_files.drafts.written):
        change(window)
    window.plan_files.save_to(tmp_path / "first.plan.toml")
    assert drafts_of(window) == []
    with qtbot.waitSignal(window.plan_files.drafts.written):
        change(window, 100)
    window.plan_files.save_to(tmp_path / "second.plan.toml")
    assert drafts_of(window) == []


def kill(process: subprocess.Popen[str]) -> None:
    """Kill the window, and wait for what it had asked: nobody has these processes any more."""
    window = psutil.Process(process.pid)
    window.suspend()  # it asks for nothing more meanwhile
    asked = window.children(recursive=True)
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    _, alive = psutil.wait_procs(asked, timeout=PATIENCE_S)
    assert not alive


@pytest.mark.slow
def test_that_an_edit_survives_the_killing_of_the_window(
    open_window, tmp_path: Path, runs, settings
) -> None:
    path, wrong = plan_at(tmp_path / "kept.plan.toml"), tmp_path / "wrong.plan.toml"
    wrong.write_text("epochs = ")
    environment = {**os.environ, "GPU_STUDIO_SETTINGS": str(settings.folder / "window.ini")}
    command = [sys.executable, "-c", WINDOW, str(runs), str(path), str(wrong)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert {process.stdout.readline() for _ in range(2)} == {"plan written\n", "text written\n"}
        kill(process)
    window = open_window()
    assert window.document.path == path
    assert window.document.plan.training.epochs == 400
    assert load(path).training.epochs != 400
    assert window.plan_page.is_repairing
    assert window.plan_page.mending.written == "# mending itepochs = "
    assert wrong.read_text() == "epochs = "
    assert "The unsaved text of “wrong.plan.toml”" in window.notice.text


def typed(window: MainWindow) -> FileTab:
    """The File tab, with an end of text that makes no plan of it."""
    tab = window.plan_page.workspace.open("File")
    assert isinstance(tab, FileTab)
    tab.text.moveCursor(QTextCursor.MoveOperation.End)
    tab.text.insertPlainText(HALF)
    return tab


@pytest.mark.whole(__file__)
@pytest.mark.slow
def test_that_half_typed_text_survives_the_killing_of_the_window(
    open_window, tmp_path: Path, runs, settings, qtbot
) -> None:
    path = plan_at(tmp_path / "half.plan.toml")
    held = path.read_text()
    environment = {**os.environ, "GPU_STUDIO_SETTINGS": str(settings.folder / "window.ini")}
    command = [sys.executable, "-c", TYPING, str(runs), str(path), HALF]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        kill(process)
    [file] = (settings.folder / "drafts").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    window = open_window()
    assert window.document.path == path
    assert window.document.plan == load(path)
    assert window.document.dirty
    tab = window.plan_page.workspace.editor("File")
    qtbot.waitUntil(tab.problem_text.isVisible)
    assert window.plan_page.workspace.current == "File"
    assert tab.written.endswith(HALF)
    assert "is cut off" in tab.problem_text.text()
    assert "is back on the File tab. It is no plan yet." in window.notice.text
    assert path.read_text() == held
    tab.text.moveCursor(QTextCursor.MoveOperation.End)
    tab.text.insertPlainText("7")
    assert window.document.half_typed is None
    assert window.document.plan.training.early_stopping.patience == 7


def test_that_half_typed_text_belongs_to_its_plan_and_is_asked_about_before_it_is_left(
    open_window, tmp_path: Path
) -> None:
    path, other = plan_at(tmp_path / "half.plan.toml"), plan_at(tmp_path / "other.plan.toml")
    window = open_window(path)
    text = typed(window).written
    window.plan_files.change_to(other)
    (question,) = window.findChildren(Question)
    assert "no plan yet" in question.accessibleDescription()
    question.buttons["Save"].click()
    assert window.document.path == other
    assert typed(window).written != text
    window.close()
    again = open_window(path)
    assert again.document.half_typed == text
    assert [draft.half_typed for draft in drafts_of(again) if draft.path == str(path)] == [text]
    assert load(other).name == "other"


def test_that_half_typed_text_is_taken_back_or_left_and_then_has_no_draft(
    open_window, tmp_path: Path, qtbot
) -> None:
    window = open_window(plan_at(tmp_path / "half.plan.toml"))
    whole = window.document.text
    with qtbot.waitSignal(window.plan_files.drafts.written):
        tab = typed(window)
    window.plan_files.save()  # the last whole plan: what is half typed is still in no file
    assert window.document.dirty
    tab.take_back.click()
    assert (tab.written, tab.problem_text.isVisible()) == (whole, False)
    assert not window.document.dirty
    assert drafts_of(window) == []
    with qtbot.waitSignal(window.plan_files.drafts.written):
        typed(window)
    change(window)  # elsewhere, in another tab
    assert HALF not in tab.written
    assert window.document.half_typed is None


def test_that_a_plan_without_a_name_is_called_by_its_file(open_window, tmp_path: Path) -> None:
    path = tmp_path / "nameless.plan.toml"
    path.write_text("version = 1\n[training]\nepochs = 3\n")
    window = open_window(path)
    change(window)
    window.close()
    again = open_window()
    assert "The unsaved changes of “nameless.plan.toml”" in again.notice.text
    again.close()
    between = open_window(plan_at(tmp_path / "other.plan.toml"))
    assert recent(between)[0].text().startswith("Unsaved: nameless.plan.toml – ")


def test_that_the_draft_of_one_plan_is_not_lost_when_another_is_opened(
    open_window, tmp_path: Path
) -> None:
    first, other = plan_at(tmp_path / "first.plan.toml"), plan_at(tmp_path / "other.plan.toml")
    window = open_window(first)
    change(window)
    window.close()
    between = open_window(other)
    assert not between.document.dirty
    assert "Unsaved: first – " in recent(between)[0].text()
    between.close()
    again = open_window()
    assert again.document.path == other
    recent(again)[0].trigger()
    assert again.document.path == first
    assert again.document.plan.training.epochs == 99
    assert again.document.dirty
    assert len(again.plan_page.workspace.open("Changes").model.rows) == 1
    again.document.undo_stack.undo()
    assert not again.document.dirty


def test_that_an_unsaved_plan_without_a_file_waits_in_the_menu(
    open_window, tmp_path: Path, qtbot
) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    change(window, 41)
    window.close()
    between = open_window(plan_at(tmp_path / "other.plan.toml"))
    [unsaved] = [each for each in recent(between) if each.text().startswith("Unsaved: ")]
    unsaved.trigger()
    assert between.document.path is None
    assert between.document.plan.training.epochs == 41
    assert len(between.plan_page.workspace.open("Changes").model.rows) == 1
    between.close()
    assert open_window().document.plan.training.epochs == 41


def test_that_what_is_left_unsaved_on_purpose_is_forgotten(
    open_window, tmp_path: Path, qtbot
) -> None:
    window = open_window(plan_at(tmp_path / "first.plan.toml"))
    with qtbot.waitSignal(window.plan_files.drafts.written):
        change(window)
    window.plan_files.change_to(plan_at(tmp_path / "other.plan.toml"))
    window.findChildren(Question)[0].buttons["Don’t save"].click()
    assert drafts_of(window) == []
    with qtbot.waitSignal(window.plan_files.drafts.written):
        window.document.undo_stack.undo()
    assert [draft.name for draft in drafts_of(window)] == ["first"]


@pytest.mark.parametrize("when", ["before the edit", "after the edit"])
def test_that_a_draft_comes_back_although_its_file_was_made_no_plan(
    open_window, tmp_path: Path, when: str
) -> None:
    path = plan_at(tmp_path / "first.plan.toml")
    window = open_window(path)
    if when == "before the edit":
        path.write_text("version = 1\nname = [")
        window.plan_files.disk.look()
        window.plan_files.disk.keep_mine()
    change(window)
    window.close()
    path.write_text("version = 1\nname = [")
    again = open_window()
    assert again.document.path == path
    assert again.document.plan.training.epochs == 99
    assert again.document.dirty
    assert path.read_text() == "version = 1\nname = ["


def test_that_a_draft_whose_file_is_gone_or_changed_comes_back_and_says_so(
    open_window, tmp_path: Path
) -> None:
    path = plan_at(tmp_path / "first.plan.toml")
    window = open_window(path)
    change(window)
    window.close()
    plan_at(path, training=Plan().training.__class__(batch_size=7))
    changed = open_window()
    assert changed.document.plan.training.epochs == 99
    assert changed.plan_files.disk.conflict == "changed"
    changed.close()
    path.unlink()
    gone = open_window()
    assert gone.document.plan.training.epochs == 99
    assert gone.plan_files.disk.conflict == "gone"
    gone.plan_files.save()
    assert load(path).training.epochs == 99
    assert gone.plan_files.disk.conflict == ""


def test_that_a_disk_that_takes_no_draft_is_told_once(open_window, tmp_path: Path, qtbot) -> None:
    window = open_window(plan_at(tmp_path / "first.plan.toml"))
    (window.settings.folder / "drafts").write_text("in the way")
    with qtbot.waitSignal(window.plan_files.failed) as told:
        change(window)
    assert "save the plan to a file" in told.args[0]
