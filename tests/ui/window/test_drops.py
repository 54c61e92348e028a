"""Files dropped on the window.

Said while they are dragged, always copied, used for what they are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel

from gpu_studio.placement.plan_facts import DataFacts, PlanFacts
from gpu_studio.plan import Plan, save
from gpu_studio.plan.values import Phase
from gpu_studio.ui.window.frame import DropSign
from gpu_studio.ui.window.main_window import MainWindow

BOTH = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
LEFT, NO_KEYS = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def files(*paths: Path) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


def drag(window: MainWindow, mime: QMimeData) -> QDragEnterEvent:
    event = QDragEnterEvent(QPoint(300, 300), BOTH, mime, LEFT, NO_KEYS)
    event.setDropAction(Qt.DropAction.MoveAction)  # as a file manager proposes
    QApplication.sendEvent(window, event)
    return event


def drop(window: MainWindow, mime: QMimeData) -> QDropEvent:
    event = QDropEvent(QPointF(300, 300), BOTH, mime, LEFT, NO_KEYS)
    event.setDropAction(Qt.DropAction.MoveAction)
    window.dropEvent(event)
    return event


def sign(window: MainWindow) -> DropSign:
    [found] = window.findChildren(DropSign)
    return found


@pytest.fixture
def window(open_window, tmp_path: Path) -> MainWindow:
    save(Plan(name="mine"), tmp_path / "mine.plan.toml")
    made: MainWindow = open_window(tmp_path / "mine.plan.toml")
    return made


def test_that_a_drop_copies_although_the_other_program_would_move(window, tmp_path) -> None:
    save(Plan(name="other"), tmp_path / "other.plan.toml")
    dragged = drag(window, files(tmp_path / "other.plan.toml"))
    assert (dragged.isAccepted(), dragged.dropAction()) == (True, Qt.DropAction.CopyAction)
    assert sign(window).isVisible()
    assert sign(window).text() == "Open other.plan.toml"
    dropped = drop(window, files(tmp_path / "other.plan.toml"))
    assert (dropped.isAccepted(), dropped.dropAction()) == (True, Qt.DropAction.CopyAction)
    assert window.document.plan.name == "other"
    assert not sign(window).isVisible()


@pytest.mark.parametrize(
    ("name", "words", "field", "value"),
    [
        ("net.keras", "Use net.keras as the model", "model.file", "net.keras"),
        ("images", "Use images as the data", "data.folder", "images"),
        ("numbers.npz", "Use numbers.npz as the data", "data.file", "numbers.npz"),
        ("models.py", "Use models.py as the model", "model.python", "models.py:build_model"),
    ],
)
def test_that_a_file_or_folder_becomes_the_model_or_the_data(
    window, tmp_path, name, words, field, value
) -> None:
    path = tmp_path / name
    path.mkdir() if name == "images" else path.write_text("def build_model(): ...\n")
    window.show_page("devices")
    assert drag(window, files(path)).isAccepted()
    assert sign(window).text() == words
    drop(window, files(path))
    part, key = field.split(".")
    assert getattr(getattr(window.document.plan, part), key) == value
    assert (window.page, window.plan_page.workspace.current) == ("plan", part.capitalize())
    window.document.undo_stack.undo()
    assert not window.document.dirty


def test_that_a_script_is_trained_on_the_devices_of_the_open_plan(window, tmp_path) -> None:
    script = tmp_path / "churn.py"
    script.write_text("def build(): ...\nbuild().fit(x, y, epochs=9, callbacks=[stop])\n")
    before = window.document.plan
    assert drag(window, files(script)).isAccepted()
    assert sign(window).text() == "Train what churn.py trains, on these devices"
    drop(window, files(script))
    plan = window.document.plan
    assert plan.model.python == plan.data.python == "churn.py:fit"
    assert plan.training.callbacks[0].name == "churn.py:fit"
    assert (plan.name, plan.training.epochs, plan.devices) == ("churn", 9, before.devices)
    assert window.page == "plan"
    window.document.undo_stack.undo()
    assert window.document.plan == before


def test_that_a_script_is_opened_as_a_plan_without_a_file(window, tmp_path) -> None:
    script = tmp_path / "churn.py"
    text = "model.fit(x, y, epochs=9)\n"
    script.write_text(text)
    window.plan_files.change_to(script)
    assert window.document.plan.model.python == f"{script}:fit"
    assert (window.document.plan.training.epochs, window.document.path) == (9, None)
    assert not window.plan_files.save_to(script)  # whatever is chosen as the plan's file
    assert window.plan_files.save_to(tmp_path / "churn.plan.toml")
    assert script.read_text() == text


def test_that_a_weight_of_a_class_is_changed_beside_those_that_the_script_gives(
    window, tmp_path, monkeypatch
) -> None:
    script = tmp_path / "churn.py"
    script.write_text("model.fit(x, y, class_weight=weights())\n")
    window.plan_files.change_to(script)
    data = DataFacts("churn.py", "classes", 2, 9, fit={"class_weight": {"0": 3.0, "1": 2.0}})
    monkeypatch.setattr(window.facts, "facts_so_far", lambda _plan: PlanFacts(data))
    window.facts.changed.emit()
    window.plan_page.workspace.open("Training")
    losses = window.plan_page.workspace.editor("Training").loss
    losses.weights.rows["1"].control.edited.emit(5.0)
    training = window.document.plan.training
    assert (training.class_weight, training.as_in_script) == ({"0": 3.0, "1": 5.0}, ())


def test_that_what_is_as_in_the_script_is_shown_once_it_is_known(
    window, tmp_path, qtbot, monkeypatch
) -> None:
    script = tmp_path / "churn.py"
    script.write_text("def main(epochs=9):\n  model.fit(x, y, epochs=epochs)\n")
    window.plan_files.change_to(script)
    page, facts = window.plan_page, window.services.facts
    card, plan = page.training, window.document.plan
    page.workspace.open("Training")
    row = page.workspace.editor("Training").run.rows["training.epochs"]
    shown = card.epochs.text(), row.control.text(), card.labels["epochs"].text()
    assert shown == ("", "", "epochs, as in the script")
    places = [each.lineEdit().placeholderText() for each in (card.epochs, row.control)]
    assert places == ["in the script", "as in the script"]  # the card's field is narrow
    said = (row.hint.text(), card.epochs.toolTip())
    assert all(each.startswith("as in the script · times") for each in said), said
    facts.facts = PlanFacts(DataFacts("churn.py", "classes", 2, 9, fit={"epochs": 9}))
    facts.changed.emit()
    assert (card.epochs.text(), row.control.text()) == ("9", "9")
    assert window.document.plan == plan
    card.epochs.setFocus()
    card.epochs.selectAll()
    qtbot.keyClicks(card.epochs, "1")
    training = window.document.plan.training
    assert (training.epochs, training.as_in_script) == (1, ())
    assert (card.epochs.text(), card.labels["epochs"].text()) == ("1", "epochs")
    assert row.hint.text().startswith("times")
    left = page.workspace.editor("Training").run.left
    left.control.setText("")
    qtbot.keyClicks(left.control, "epochs")
    assert window.document.plan.training.as_in_script == ("epochs",)
    assert card.epochs.text() == "9"
    later = replace(window.document.plan.training, phases=(Phase(8, 0.1), Phase(9, 0.1)))
    known = facts.facts
    monkeypatch.setattr(facts, "facts_so_far", lambda _plan: known)
    window.document.replace(replace(window.document.plan, training=later), "add phases")
    assert "training.phases[1].after" in {each.field for each in window.readiness.problems}
    assert "training.phases[0].after" not in {each.field for each in window.readiness.problems}


def test_that_code_is_for_the_data_where_they_are_in_sight(window, tmp_path) -> None:
    (tmp_path / "mine.py").write_text("def load(): ...\n")
    window.plan_page.workspace.open("Data")
    drop(window, files(tmp_path / "mine.py"))
    assert window.document.plan.data.python == "mine.py:load"


def test_that_what_cannot_be_used_is_refused_with_what_can(window, tmp_path) -> None:
    before = window.document.plan
    for mime, words in (
        (files(tmp_path / "picture.png"), "Drop a plan"),
        (files(tmp_path / "a.toml", tmp_path / "b.toml"), "one file or folder at a time"),
    ):
        assert not drag(window, mime).isAccepted()
        assert words in sign(window).text()
        move = QDragMoveEvent(QPoint(310, 300), BOTH, mime, LEFT, NO_KEYS)
        window.dragMoveEvent(
            move
        )  # Qt itself would look for whom the drag entered last, perhaps a window of before
        assert not move.isAccepted()
        assert not drop(window, mime).isAccepted()
        assert window.document.plan == before
    drag(window, files(tmp_path / "picture.png"))
    window.dragLeaveEvent(QDragLeaveEvent())
    assert not sign(window).isVisible()


def test_that_the_batches_that_a_script_s_data_come_in_are_the_plan_s_wherever_they_are_told(
    window, tmp_path
) -> None:
    script = tmp_path / "churn.py"
    script.write_text("model.fit(batches(), epochs=2)\n")
    window.plan_files.change_to(script)
    page, facts = window.plan_page, window.services.facts
    card, plan = page.training, window.document.plan
    page.workspace.open("Training")
    row = page.workspace.editor("Training").run.rows["training.batch_size"]
    assert (plan.training.batch_size, card.batch_size.text()) == (32, "32")
    facts.facts = PlanFacts(DataFacts("churn.py", "classes", 2, 0, streamed="9 batches of 16"))
    facts.changed.emit()
    QApplication.processEvents()
    told = {each.text() for each in page.outlook.findChildren(QLabel)}
    assert {"16 samples, as the data come", "2 × 9 steps"} <= told
    assert (card.batch_size.text(), row.control.text()) == ("16", "16")
    assert not any((card.batch_size.isEnabled(), row.control.isEnabled(), row.back.isVisible()))
    assert card.labels["batch_size"].text() == "global batch, as the data come"
    assert window.document.plan == plan
    facts.facts = PlanFacts(DataFacts("churn.py", "classes", 2, 99))
    facts.changed.emit()
    QApplication.processEvents()
    assert (card.batch_size.text(), row.control.text()) == ("32", "32")
    assert card.batch_size.isEnabled()
    assert row.control.isEnabled()
