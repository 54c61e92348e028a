"""The tools of the log: levels, search, newest, copy, save."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit

from gpu_studio.contract import events
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train.details_card import DetailsCard
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.log_pane import places, step


@pytest.fixture
def live(qtbot, qapp, runs_dir):
    live = LiveRun(make_run(runs_dir, Script(trained=4.2, ending="failed")))
    with qtbot.waitSignal(live.ended):
        live.start()
    yield live
    live.close()


@pytest.fixture
def card(qtbot, live):
    card = DetailsCard(ThemeManager("dark"))
    qtbot.addWidget(card)
    card.resize(1100, 260)
    card.show()
    card.activateWindow()
    card.restart(live)
    card.refresh(live)
    return card


def lines(card) -> list[str]:
    return card.log.shown.toPlainText().splitlines()


def test_that_only_lines_of_a_level_and_graver_ones_are_shown(card) -> None:
    everything = lines(card)
    card.log.set_level("warning")
    assert [line.split("  ", 1)[1][:1] for line in lines(card)] == ["⚠", "✘"]
    card.log.set_level("error")
    assert len(lines(card)) == 1
    card.log.level.choices.actions()[0].trigger()
    assert lines(card) == everything


def test_that_lines_of_the_process_have_levels_too(card, live) -> None:
    with live.run.log_file.open("a") as file:
        file.write("WARNING:tensorflow:careful\n")
    card.log.choose("output")
    card.log.set_level("warning")
    assert lines(card) == ["WARNING:tensorflow:careful"]


def test_that_words_are_found_one_place_after_another_and_round_again(qtbot, card) -> None:
    card.log.search()
    qtbot.keyClicks(card.log.find_bar.field, "EPOCH 2")
    found = card.log.find_bar.found
    count = card.log.shown.toPlainText().lower().count("epoch 2")
    assert found.text() == f"1 of {count}"
    assert card.log.shown.textCursor().selectedText() == "epoch 2"
    qtbot.keyClick(card.log.find_bar.field, Qt.Key.Key_Return)
    assert found.text() == f"2 of {count}"
    card.log.find_next(back=True)
    card.log.find_next(back=True)
    assert found.text() == f"{count} of {count}"
    card.log.find_next()
    assert found.text() == f"1 of {count}"
    assert not card.log.follow.isChecked()


def test_that_words_that_are_not_there_are_said_not_to_be(qtbot, card) -> None:
    card.log.search()
    qtbot.keyClicks(card.log.find_bar.field, "nowhere")
    assert card.log.find_bar.found.text() == "not found"
    card.log.find_bar.field.clear()
    assert card.log.find_bar.found.text() == ""


def test_that_escape_closes_the_search_and_find_next_opens_it(qtbot, card) -> None:
    card.log.find_next()
    assert card.log.find_bar.isVisible()
    qtbot.keyClick(card.log.find_bar.field, Qt.Key.Key_Escape)
    assert not card.log.find_bar.isVisible()


@given(
    text=st.text(st.sampled_from("abAB İ\n😀ß"), max_size=40),
    words=st.text(st.sampled_from("abAB😀"), min_size=1, max_size=3),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_each_place_is_selected_once_in_turn(qapp, text, words) -> None:
    view = QPlainTextEdit(text)
    wanted = list(places(text, words))
    assert [text[place : place + len(words)].lower() for place in wanted] == [words.lower()] * len(
        wanted
    )
    told, seen = [], []
    for _ in wanted:
        told.append(step(view, words, back=False))
        seen.append((view.textCursor().selectionStart(), view.textCursor().selectedText().lower()))
    assert sorted(told) == [(place + 1, len(wanted)) for place in range(len(wanted))]
    assert len(set(seen)) == len(wanted)
    assert {chosen for _start, chosen in seen} <= {words.lower()}
    view.deleteLater()


def test_that_the_newest_line_is_jumped_to(card, live, qtbot) -> None:
    card.resize(1100, 100)
    view, bar = card.log.shown, card.log.shown.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.triggerAction(bar.SliderAction.SliderToMinimum)
    assert not view.following
    card.log.to_newest()
    assert (view.following, bar.value()) == (True, bar.maximum())


def test_that_all_lines_or_the_selected_ones_are_copied(card) -> None:
    card.log.copy()
    assert QGuiApplication.clipboard().text() == "\n".join(lines(card))
    step(card.log.shown, "GPU:2", back=False)
    card.log.copy()
    assert QGuiApplication.clipboard().text() == "GPU:2"


def test_that_the_lines_that_are_shown_are_saved_for_their_owner_only(
    qtbot, card, tmp_path
) -> None:
    card.log.set_level("warning")
    card.log.save.trigger()
    (dialog,) = card.findChildren(QFileDialog)
    assert dialog.windowTitle() == "Save the log as text"
    path = tmp_path / "log.txt"
    with qtbot.waitSignal(card.log_file.reported) as told:
        dialog.fileSelected.emit(str(path))
    dialog.done(0)
    assert path.read_text().splitlines() == lines(card)
    assert path.stat().st_mode & 0o777 == 0o600
    assert told.args[1] == "plain"


def test_that_a_log_that_cannot_be_written_is_told_of(qtbot, card, tmp_path) -> None:
    with qtbot.waitSignal(card.log_file.reported) as told:
        card.log_file._write(tmp_path / "not" / "there.txt", "x")
    assert "Write it to another place" in told.args[0]


def test_that_a_message_of_a_mebibyte_is_cut_on_the_screen(card, live) -> None:
    live.log.add(events.Log(message="z" * 1_000_000))
    card.refresh(live)
    assert len(lines(card)[-1]) < 5000
