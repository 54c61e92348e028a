"""What came of the runs that are selected: one with its figures, several over each other."""

from __future__ import annotations

import shutil

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from window_pages import with_runs

from gpu_studio.runs.results.comparison import ComparisonRow
from gpu_studio.runs.results.prediction import Prediction, write
from gpu_studio.ui.kit.theme import font
from gpu_studio.ui.runs.differs_card import IS_BEST_ROLE, MARK, ComparisonModel
from gpu_studio.ui.runs.lower_part import TOO_MANY
from gpu_studio.ui.runs.runs_model import COLOUR_ROLE, LOSS, RUN
from gpu_studio.ui.window.main_window import MainWindow

CTRL, SHIFT, LEFT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.MouseButton.LeftButton,
)
ROW_HEIGHT = 28
PLAN = 'version = 1\nname = "{}"\n[training]\nbatch_size = {}\n'


@pytest.fixture
def three(runs):
    """Runs of 2, 3 and 4 epochs, called `a`, `b` and `c`, that differ in their batch."""
    made = {}
    for place, name in enumerate("abc"):
        script = Script(
            name=name,
            ending="completed",
            epochs=2 + place,
            trained=2 + place,
            steps=20,
            devices=1,
            seed=place,
        )
        made[name] = make_run(runs, script)
        made[name].plan_file.write_text(PLAN.format(name, 256 + 256 * place))
        write(made[name], Prediction(bytes={"GPU:0": 600 * 1024 * 1024}))
    return made


@pytest.fixture
def window(open_window, three, qtbot) -> MainWindow:
    return with_runs(open_window(), qtbot, 3)


def click(qtbot, window: MainWindow, name: str, keys=Qt.KeyboardModifier.NoModifier) -> None:
    table = window.run_list.page.table
    (row,) = (
        place for place, row in enumerate(window.run_list.page.model.rows) if row.name == name
    )
    place = table.visualRect(window.run_list.page.model.index(row, RUN)).topLeft() + QPoint(20, 12)
    qtbot.mouseClick(table.viewport(), LEFT, keys, place)


def read(qtbot, window: MainWindow) -> None:
    outcome = window.run_list.page.outcome
    qtbot.waitUntil(lambda: not outcome.reader.waiting)


def labels(window: MainWindow) -> list[str]:
    return [row.label for row in window.run_list.page.outcome.differs.model.rows]


def test_that_below_a_few_rows_stands_what_to_select_while_nothing_is(
    window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    assert page.chosen == []
    assert page.outcome.hint.isVisible()
    assert "Select a run" in page.outcome.hint.words.text()
    assert page.card.height() < page.split.height() / 2
    qtbot.keyClick(page.table, Qt.Key.Key_Space)
    assert not page.outcome.hint.isVisible()


def test_that_no_row_is_out_of_sight_above_an_empty_part(window: MainWindow, qtbot) -> None:
    page = window.run_list.page
    whole = page.card.height_within(page.split.height())
    page.split.moveSplitter(whole - 2 * ROW_HEIGHT, 1)
    assert page.table.verticalScrollBar().maximum() > 0
    page.split.fit()
    assert page.outcome.hint.isVisible()
    qtbot.waitUntil(lambda: page.table.verticalScrollBar().maximum() == 0)


def test_that_a_long_table_has_the_page_until_a_run_is_selected_and_again_after_escape(
    window: MainWindow, qtbot, monkeypatch
) -> None:
    page = window.run_list.page
    monkeypatch.setattr(page.card, "height_within", lambda most: min(most, 2000))
    page.split.fit()
    assert page.chosen == []
    assert not page.outcome.isVisible()
    qtbot.waitUntil(lambda: page.card.height() == page.split.height())
    qtbot.keyClick(page.table, Qt.Key.Key_Space)
    assert [row.name for row in page.chosen] == [page.model.rows[0].name]
    assert page.outcome.isVisible()
    assert page.card.height() < page.split.height() / 2
    qtbot.keyClick(page.table, Qt.Key.Key_Escape)
    assert page.chosen == []
    qtbot.waitUntil(lambda: page.card.height() == page.split.height())


def test_that_the_row_that_is_underlined_is_meant_where_none_is_selected(
    window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert window.page == "train"
    assert window.shown_run.run.id == page.model.rows[0].id


def test_that_the_edge_is_moved_by_keys_remembered_and_let_go_by_a_double_click(
    window: MainWindow, open_window, qtbot
) -> None:
    page = window.run_list.page
    click(qtbot, window, "b")
    edge, before = page.split.handle(1), page.card.height()
    edge.setFocus()
    for _ in range(4):
        qtbot.keyClick(edge, Qt.Key.Key_Down)
    moved = page.card.height()
    assert moved == before + 4 * ROW_HEIGHT
    following = with_runs(open_window(), qtbot, 3)
    click(qtbot, following, "b")
    qtbot.waitUntil(lambda: abs(following.run_list.page.card.height() - moved) <= 1)
    qtbot.mouseDClick(edge, LEFT)
    assert page.card.height() == before


def test_that_one_run_shows_its_figures_its_plan_and_its_curve(
    window: MainWindow, three, qtbot
) -> None:
    click(qtbot, window, "b")
    read(qtbot, window)
    outcome = window.run_list.page.outcome
    assert outcome.summary.isVisible()
    told = {group.title: dict(group.rows) for group in outcome.summary.figures.groups}
    assert told["Result"]["test loss"] == "0.1310"
    assert told["Peak memory"]["GPU:0"].startswith(
        "586.9 MiB, 600 MiB predicted (\u22122 %), limit"
    )
    assert len(told["Checkpoints"]) == 3
    assert "batch_size = 512" in outcome.summary.plan.text.toPlainText()
    (name,) = outcome.curves.names
    assert name == window.run_list.page.chosen[0].title
    assert outcome.curves.title.text() == "Validation loss"
    assert len(outcome.curves.curve_called(name).series[0]) == 3
    qtbot.mouseClick(outcome.summary.plan.copy, LEFT)
    assert QGuiApplication.clipboard().text() == three["b"].plan_file.read_text()


def test_that_several_are_drawn_over_each_other_each_in_its_colour(
    window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    click(qtbot, window, "a")
    click(qtbot, window, "c", CTRL)
    read(qtbot, window)
    assert page.outcome.differs.isVisible()
    assert sorted(page.outcome.curves.names) == sorted(row.title for row in page.chosen)
    styles = [entry.style for entry in page.outcome.curves.legend.entries]
    assert len({style.dash for style in styles}) == 2
    coloured = {
        row.name: page.model.index(place, LOSS).data(COLOUR_ROLE)
        for place, row in enumerate(page.model.rows)
    }
    assert coloured["b"] is None
    assert sorted((coloured["a"], coloured["c"])) == [0, 1]
    click(qtbot, window, "b", CTRL)
    assert (
        page.model.index(page.model.row_of(page.chosen[0].id), LOSS).data(COLOUR_ROLE) is not None
    )
    assert page.compare.text() == "Compare 3"


def test_that_plans_come_first_and_the_best_is_marked_not_only_by_weight(
    window: MainWindow, qtbot
) -> None:
    click(qtbot, window, "a")
    click(qtbot, window, "c", SHIFT)
    read(qtbot, window)
    model = window.run_list.page.outcome.differs.model
    assert labels(window)[0] == "training.batch_size"
    assert "name" not in labels(window)
    marked = [
        model.index(row, column)
        for row in range(model.rowCount())
        for column in range(model.columnCount())
        if model.index(row, column).data(IS_BEST_ROLE)
    ]
    assert marked
    assert all(index.data().startswith(MARK) for index in marked)


def test_that_figures_of_three_runs_are_read_in_full_in_the_smallest_window(
    window: MainWindow, qtbot
) -> None:
    window.resize(1024, 680)
    click(qtbot, window, "a")
    click(qtbot, window, "c", SHIFT)
    read(qtbot, window)
    differs, metrics = window.run_list.page.outcome.differs, QFontMetrics(font("strong"))
    qtbot.mouseClick(differs.only, LEFT)
    table, model = differs.table, differs.model
    texts = [
        (column, model.index(row, column).data())
        for row in range(model.rowCount())
        for column in range(1, 4)
    ]
    assert any("samples/s" in text for _, text in texts)
    cut = [
        text
        for column, text in texts
        if metrics.horizontalAdvance(text) + 24 > table.columnWidth(column)
    ]
    assert cut == []


def test_that_what_all_share_is_left_out_until_it_is_asked_for(window: MainWindow, qtbot) -> None:
    click(qtbot, window, "a")
    click(qtbot, window, "b", CTRL)
    read(qtbot, window)
    differs = window.run_list.page.outcome.differs
    fewer = len(labels(window))
    qtbot.mouseClick(differs.only, LEFT)
    assert len(labels(window)) > fewer
    qtbot.mouseClick(differs.copy, LEFT)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == len(labels(window)) + 1
    assert all(line.count("\t") == 2 for line in lines)


def test_that_the_curve_and_the_axis_can_be_chosen(window: MainWindow, open_window, qtbot) -> None:
    click(qtbot, window, "b")
    read(qtbot, window)
    curves = window.run_list.page.outcome.curves
    (name,) = curves.names
    steps = list(curves.curve_called(name).series[0])
    assert steps == [20, 40, 60]
    curves.axis.setFocus()
    qtbot.keyClick(curves.axis, Qt.Key.Key_Space)
    qtbot.keyClick(curves.axis.menu, Qt.Key.Key_Down)
    qtbot.keyClick(curves.axis.menu, Qt.Key.Key_Down)
    qtbot.keyClick(curves.axis.menu, Qt.Key.Key_Return)
    assert list(curves.curve_called(name).series[0]) == [1, 2, 3]
    (loss,) = (
        action for action in curves.metrics.menu.actions() if action.text() == "Loss of each step"
    )
    loss.trigger()
    read(qtbot, window)
    assert curves.title.text() == "Loss of each step"
    assert len(curves.curve_called(name).series[0]) == 60
    curves.log.click()
    assert curves.canvas.backdrop.scale.ticks(0.0, 1.0, 3)[-1][1] == "10"


def test_that_the_crosshair_tells_the_value_of_each_run(window: MainWindow, qtbot) -> None:
    click(qtbot, window, "a")
    click(qtbot, window, "c", CTRL)
    read(qtbot, window)
    curves = window.run_list.page.outcome.curves
    assert all(entry.value == "" for entry in curves.legend.entries)
    curves.canvas.setFocus()
    qtbot.keyClick(curves.canvas, Qt.Key.Key_End)
    assert all(entry.value for entry in curves.legend.entries)
    qtbot.keyClick(curves.canvas, Qt.Key.Key_Escape)
    assert all(entry.value == "" for entry in curves.legend.entries)


def test_that_compare_gives_the_curves_the_page_and_the_table_back(
    window: MainWindow, qtbot
) -> None:
    page = window.run_list.page
    click(qtbot, window, "a")
    assert not page.compare.isEnabled()
    assert "two or more" in page.compare.toolTip()
    click(qtbot, window, "b", CTRL)
    before = page.outcome.height()
    qtbot.mouseClick(page.compare, LEFT)
    qtbot.waitUntil(lambda: page.outcome.height() > before)
    assert not page.table.isVisible()
    assert page.compare.text() == "Show all runs"
    qtbot.keyClick(window, Qt.Key.Key_E, CTRL | SHIFT)
    qtbot.waitUntil(lambda: page.outcome.height() == before)
    assert page.compare.text() == "Compare 2"


def test_that_the_table_comes_back_when_there_is_nothing_left_to_compare_or_one_searches(
    window: MainWindow, three, qtbot
) -> None:
    page = window.run_list.page
    page.select(three["a"].id, three["b"].id)
    qtbot.mouseClick(page.compare, LEFT)
    qtbot.keyClick(page.outcome.differs.table, Qt.Key.Key_Escape)
    assert page.table.isVisible()
    qtbot.mouseClick(page.compare, LEFT)
    qtbot.keyClick(window, Qt.Key.Key_F, CTRL)
    assert page.table.isVisible()
    qtbot.mouseClick(page.compare, LEFT)
    assert not page.table.isVisible()
    window.actions_["delete_run"].trigger()
    qtbot.waitUntil(lambda: len(page.model.rows) == 1)
    assert page.table.isVisible()


def test_that_a_run_deleted_meanwhile_is_simply_gone(window: MainWindow, three, qtbot) -> None:
    page = window.run_list.page
    page.select(three["a"].id, three["b"].id)
    shutil.rmtree(three["a"].path)
    page.reader.read()
    qtbot.waitUntil(lambda: [row.name for row in page.chosen] == ["b"])
    assert page.outcome.summary.isVisible()
    read(qtbot, window)
    assert page.outcome.summary.figures.groups[0].title == "Result"


def test_that_more_than_eight_are_too_many(open_window, runs, qtbot) -> None:
    for number in range(9):
        make_run(
            runs, Script(name=f"run {number}", epochs=1, trained=1, steps=10, ending="completed")
        )
    window = open_window()
    window.show_page("runs")
    page = window.run_list.page
    qtbot.waitUntil(lambda: len(page.model.rows) == 9)
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_A, CTRL)
    assert page.outcome.hint.words.text() == TOO_MANY
    assert not window.actions_["compare_runs"].isEnabled()
    assert window.actions_["delete_run"].isEnabled()


def test_that_many_runs_with_long_names_have_a_legend_of_several_lines_that_tells_them_all(
    open_window, runs, qtbot
) -> None:
    names = [
        f"the {each} of six runs"
        for each in ("first", "second", "third", "fourth", "fifth", "sixth")
    ]
    for name in names:
        make_run(
            runs, Script(name=name, ending="completed", epochs=2, trained=2, steps=20, devices=1)
        )
    window = open_window()
    window.resize(1024, 680)
    window.show_page("runs")
    page = window.run_list.page
    qtbot.waitUntil(lambda: len(page.model.rows) == 6)
    page.select(*(row.id for row in page.model.rows))
    legend = page.outcome.curves.legend
    qtbot.waitUntil(lambda: len(legend.entries) == 6 and legend.places() != [])
    assert {place.words.split()[1] for place in legend.places()} == {
        name.split()[1] for name in names
    }
    assert {place.words.split()[0] for place in legend.places()} == {
        f"#{number}" for number in range(1, 7)
    }
    assert legend.left_out == ()
    assert legend.places()[-1].line > 0


def test_that_a_run_whose_file_gives_it_a_name_without_end_is_shown(open_window, runs, qtbot):
    """Each length of its name was tried: 100,000 letters stopped the window for good."""
    name = "x" * 100_000
    run = make_run(runs, Script(name="long", ending="completed", epochs=1, trained=1, steps=5))
    told = run.path / "events.jsonl"
    told.write_text(told.read_text().replace('"plan":"long"', f'"plan":"{name}"'))
    window = open_window()
    window.show_page("runs")
    page = window.run_list.page
    qtbot.waitUntil(lambda: len(page.model.rows) == 1)
    page.select(page.model.rows[0].id)
    legend = page.outcome.curves.legend
    qtbot.waitUntil(lambda: len(legend.places()) == 1)
    assert "…" in legend.places()[0].words


def test_that_words_of_a_plan_stand_without_their_quotes(qapp) -> None:
    model = ComparisonModel()
    texts = ('"adam"', '"a \\"b\\""', "[1, 2]", '""')
    model.show("abcd", range(4), [ComparisonRow("training.optimizer", "", (None,) * 4, texts)], ())
    assert [model.index(0, column).data() for column in range(1, 5)] == [
        "adam",
        texts[1],
        "[1, 2]",
        '""',
    ]
