"""The user's Python in the window: nothing of it runs, nor is asked about, until it is allowed."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

from own_code import HOSTILE, PLAN, allow, code, dialog_of, press, questions, untouched, window
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.contract.consent import allow_file, allowances
from gpu_studio.plan import load, loads, with_absolute_files
from gpu_studio.runs import catalogue
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.code_dialogs import AllowDialog, AllowedDialog, ShellDialog
from gpu_studio.ui.window.command_palette import CommandPalette
from gpu_studio.ui.window.run_control import CodeConsent

__all__ = ["code", "questions", "window"]

CTRL = Qt.KeyboardModifier.ControlModifier


def test_that_opening_a_plan_runs_nothing_asks_nothing_and_says_why(
    window, code, questions, qtbot
) -> None:
    for part in ("Model", "Data", "Training", "Strategy", "Layers", "File", "Changes"):
        window.plan_page.workspace.open(part)
        QApplication.processEvents()
    window.facts.retry()
    assert not window.facts.asking
    assert questions() == 0
    assert untouched(code)
    assert window.findChildren(AllowDialog) == []
    assert (
        window.plan_page.outlook.waiting.text
        == "Not looked into: netze für Bilder.py is not allowed yet."
    )
    train = window.actions_["train"]
    assert not train.isEnabled()
    assert "nothing of netze für Bilder.py has been run yet" in train.toolTip()
    assert not window.actions_["queue_plan"].isEnabled()
    assert "gpu-studio" not in train.toolTip()


def test_that_what_stands_in_the_way_has_a_button_that_asks_and_then_all_is_asked_at_once(
    window, code, questions, qtbot
) -> None:
    (concern,) = window.plan_page.outlook.obstacles.views.values()
    assert concern.button.text() == "Allow…"
    assert concern.button.accessibleName().startswith("Allow…, because model.python is")
    press(qtbot, concern.button)
    assert dialog_of(window).path == code
    allow(qtbot, window)
    qtbot.waitUntil(
        lambda: window.facts.facts is not None and window.facts.facts.model is not None,
    )
    assert questions() == 2
    assert window.actions_["train"].isEnabled()
    assert window.plan_page.outlook.obstacles.views == {}
    assert not window.actions_["allow_code"].isEnabled()
    assert untouched(code)


def test_that_it_is_allowed_by_keys_alone_from_the_palette(window, code, qtbot) -> None:
    qtbot.keyClick(window, Qt.Key.Key_K, CTRL)
    (palette,) = window.findChildren(CommandPalette)
    qtbot.keyClicks(palette.search, "allow plan python")
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    dialog = dialog_of(window)
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    while dialog.focusWidget() is not dialog.file:
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
    qtbot.keyClick(dialog.file, Qt.Key.Key_Space)
    assert window.actions_["train"].isEnabled()


def test_that_cancel_leaves_all_as_it_was(window, code, questions, qtbot) -> None:
    window.actions_["allow_code"].trigger()
    qtbot.keyClick(dialog_of(window), Qt.Key.Key_Escape)
    assert not window.actions_["train"].isEnabled()
    assert questions() == 0
    assert allowances().files == {}


def test_that_a_change_on_disk_is_noticed_when_the_window_is_used_again(
    window, code, qtbot
) -> None:
    allow_file(code, code.read_bytes())
    window.readiness.look_again()
    assert window.actions_["train"].isEnabled()
    other = QWidget()
    other.show()
    other.activateWindow()
    qtbot.waitUntil(lambda: not window.isActiveWindow())
    code.write_text(HOSTILE + "# more")
    window.activateWindow()
    qtbot.waitUntil(lambda: not window.actions_["train"].isEnabled())
    assert "has changed since it was allowed" in window.actions_["train"].toolTip()
    assert window.facts.withheld == (code,)
    assert window.facts.facts is None
    other.close()


def test_that_a_change_that_train_meets_is_asked_about_and_then_trained(
    window, code, runs, qtbot
) -> None:
    allow_file(code, code.read_bytes())
    window.readiness.look_again()
    code.write_text(HOSTILE + "# more")
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    assert catalogue.directories(runs) == []
    assert "it has changed since it was allowed" in dialog_of(window).text
    assert not window.actions_["train"].isEnabled()
    allow(qtbot, window)
    (run,) = catalogue.directories(runs)
    assert load(run.plan_file).model.python == f"{code}:build_model"
    assert untouched(code)


def test_that_a_question_that_rests_is_not_asked_after_the_file_has_changed(
    window, code, questions, qtbot
) -> None:
    allow_file(code, code.read_bytes())
    window.readiness.look_again()
    assert window.facts.asking
    code.write_text(HOSTILE + "# more")
    qtbot.waitUntil(lambda: window.facts.withheld == (code,))
    assert not window.facts.asking
    assert questions() == 0


def test_that_a_function_that_was_chosen_is_one_step_to_undo(window, code, qtbot) -> None:
    before = window.document.plan
    form = window.plan_page.workspace.open("Model").form.python
    window.activateWindow()
    (build, load_data) = form.menu().actions()
    load_data.trigger()
    assert window.document.plan.model.python == f"{code.name}:load"
    assert window.actions_["undo"].text() == "Undo: choose load"
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert window.document.plan == before
    assert form.function.control.text() == build.text().partition("\t")[0] == "build_model"


def test_that_two_files_are_asked_about_one_after_the_other(window, code, qtbot) -> None:
    data = code.with_name("daten.py")
    data.write_text(HOSTILE)
    window.document.replace(
        loads(PLAN.replace('name = "digits"', 'python = "daten.py:load"')), "own data"
    )
    assert [each.path for each in window.readiness.not_allowed] == [code, data]
    assert (
        "netze für Bilder.py and daten.py are not allowed yet"
        in window.plan_page.outlook.waiting.text
    )
    window.actions_["allow_code"].trigger()
    assert dialog_of(window).path == code
    allow(qtbot, window)
    qtbot.waitUntil(lambda: dialog_of(window).path == data)
    allow(qtbot, window)
    assert window.readiness.not_allowed == ()


def test_that_a_plan_for_the_queue_obeys_the_same(window, code, runs, qtbot) -> None:
    allow_file(code, code.read_bytes())
    window.readiness.look_again()
    code.write_text(HOSTILE + "# more")
    window.queue.add_plan()
    assert window.queue.queue.entries() == ()
    qtbot.keyClick(dialog_of(window), Qt.Key.Key_Escape)
    assert window.queue.queue.entries() == ()


def test_that_the_list_is_opened_from_the_menu_and_forbidding_is_seen_at_once(
    window, code, qtbot
) -> None:
    allow_file(code, code.read_bytes())
    window.readiness.look_again()
    window.actions_["allowed_code"].trigger()
    (dialog,) = window.findChildren(AllowedDialog)
    dialog.table.selectRow(0)
    qtbot.keyClick(dialog.table, Qt.Key.Key_Delete)
    assert allowances().files == {}
    assert not window.actions_["train"].isEnabled()
    assert window.facts.facts is None


def test_that_layers_are_not_timed_without_consent(window, code, questions) -> None:
    times = window.plan_page.workspace.open("Layers").times
    times.measure()
    assert not times.measuring
    assert times.error == "Not looked into: netze für Bilder.py is not allowed yet."
    assert questions() == 0


def test_that_a_pipe_in_the_place_of_the_file_holds_nothing_up(window, code) -> None:
    code.unlink()
    os.mkfifo(code)
    window.readiness.look_again()
    assert not window.actions_["train"].isEnabled()
    assert window.facts.withheld == ()
    window.facts.cancel()


def test_that_after_allowing_the_focus_is_beside_the_button_that_is_gone(
    window, code, qtbot
) -> None:
    form = window.plan_page.workspace.open("Model").form.python
    form.allow.setFocus()
    qtbot.keyClick(form.allow, Qt.Key.Key_Space)
    allow(qtbot, window)
    assert form.allow.isHidden()
    assert window.focusWidget() is form.file.control
    assert form.file.control.selectedText() == ""


def test_that_lines_of_shell_for_slurm_are_shown_whole_and_asked_about_once(qtbot) -> None:
    parent, done, theme = QWidget(), [], ThemeManager("dark")
    qtbot.addWidget(parent)
    consent = CodeConsent(SimpleNamespace(window=parent, theme=theme, readiness=None, notice=None))
    text = (
        'version = 1\nname = "two"\n[model]\nname = "mlp"\n[data]\nname = "digits"\n'
        '[distribution]\nstrategy = "multi_worker"\n[cluster]\nstart = "slurm"\n'
        '[cluster.slurm]\nsetup = ["module load cuda"]\nflags = ["--account=abc"]\n'
    )
    plan = with_absolute_files(loads(text), Path("/"))
    consent.obtain(plan, lambda: done.append("first"))
    (question,) = parent.findChildren(ShellDialog)
    assert question.code.toPlainText() == "module load cuda\n--account=abc"
    qtbot.keyClick(question, Qt.Key.Key_Return)
    assert done == [], "Return allows nothing"
    qtbot.waitUntil(lambda: parent.findChildren(ShellDialog) == [])
    consent.obtain(plan, lambda: done.append("first"))
    (question,) = parent.findChildren(ShellDialog)
    question.allow.click()
    assert done == ["first"]
    consent.obtain(plan, lambda: done.append("second"))
    assert done == ["first", "second"], "it was allowed, and is not asked again"
    qtbot.waitUntil(lambda: parent.findChildren(ShellDialog) == [])
