from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from edited_part import DIGITS, GRAPH, KNOWN, Held, Reported, click, in_window, type_in
from plan_samples import a_plan
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget

from gpu_studio.placement.plan_facts import (
    ArrayFacts,
    DataFacts,
    GraphLayer,
    Learnt,
    ModelFacts,
    ModelGraph,
    PlanFacts,
    paired,
)
from gpu_studio.plan import ModelSettings, dumps, loads
from gpu_studio.ui.plan.facts_words import model_in_short, shape_in_words, totals, widths
from gpu_studio.ui.plan.model_tab import ModelTab


@pytest.fixture
def tab(qtbot, theme) -> ModelTab:
    tab: ModelTab = in_window(qtbot, ModelTab(theme))
    return tab


@pytest.fixture
def held(tab: ModelTab) -> Held:
    return Held(tab, a_plan())


def cells(tab: ModelTab) -> list[list[str]]:
    model = tab.layers
    return [
        [model.text(row, column) for column in range(model.columnCount())] for row in model.rows
    ]


def test_that_every_option_is_a_control_with_its_default_and_an_edit_is_one_step(
    tab, held, qtbot
) -> None:
    rows = tab.form.options.rows
    assert list(rows) == ["hidden", "activation", "dropout"]
    assert rows["hidden"].hint.text() == "units of each hidden layer · default 256, 256, 256"
    assert rows["hidden"].back.isHidden()
    type_in(qtbot, rows["hidden"].control, "64, 32")
    type_in(qtbot, rows["dropout"].control, "0.25")
    assert held.plan.model == ModelSettings("mlp", options={"hidden": [64, 32], "dropout": 0.25})
    assert {change.field for change in held.changes} == {
        "model.options.hidden",
        "model.options.dropout",
    }
    assert rows["dropout"].control.hasFocus()


def test_that_an_option_goes_back_to_its_default_and_the_focus_stays(tab, held, qtbot) -> None:
    row = tab.form.options.rows["hidden"]
    type_in(qtbot, row.control, "5")
    click(qtbot, row.back)
    assert held.plan.model.options == {}
    assert row.control.text() == "256, 256, 256"
    assert row.control.hasFocus()
    assert held.changes[-1].field == ""


def test_that_a_value_that_the_option_refuses_is_marked_and_not_applied(tab, held, qtbot) -> None:
    control = tab.form.options.rows["dropout"].control
    type_in(qtbot, control, "1.5")
    assert held.plan.model.options == {}
    assert control.property("wrong") is True
    assert "below 1" in control.toolTip()


def test_that_another_model_brings_its_options_and_leaves_the_old_ones(tab, held, qtbot) -> None:
    choice = tab.form.sources["name"].control
    choice.setFocus()
    qtbot.keyClick(choice, Qt.Key.Key_T)
    assert held.plan.model == ModelSettings("transformer")
    assert set(tab.form.options.rows) == {
        "width",
        "heads",
        "depth",
        "feed_forward",
        "dropout",
        "vocabulary",
    }
    assert choice.hasFocus()
    control = tab.form.options.rows["heads"].control
    control.setFocus()
    qtbot.keyClick(control, Qt.Key.Key_Down)
    assert held.plan.model.options == {"heads": 3}
    assert "a multiple of model.options.heads" in tab.form.options.rows["width"].problem.text()


def test_that_options_unknown_to_the_model_and_wrong_ones_are_shown_with_what_is_wrong(
    tab, held, qtbot
) -> None:
    held.show(
        loads(
            '[model]\nname = "mlp"\noptions = { hidden = "many", units = [1, '
            '2] }\n[data]\nname = "digits"\n'
        )
    )
    rows = tab.form.options.rows
    assert rows["hidden"].control.text() == '"many"'
    assert "whole numbers" in rows["hidden"].problem.text()
    assert rows["units"].control.text() == "[1, 2]"
    assert "not an option of mlp" in rows["units"].problem.text().lower()
    click(qtbot, rows["units"].back)
    assert held.plan.model.options == {"hidden": "many"}
    assert held.changes[-1].text == "remove units"


def test_that_a_file_or_a_function_is_typed(tab, held, qtbot) -> None:
    click(qtbot, tab.form.kinds.buttons["file"])
    assert held.plan.model == ModelSettings(file="")
    assert tab.form.sources["name"].isHidden()
    type_in(qtbot, tab.form.sources["file"].control, "a.keras")
    assert held.plan.model == ModelSettings(file="a.keras")
    click(qtbot, tab.form.kinds.buttons["python"])
    type_in(qtbot, tab.form.sources["python"].control, "m.py")
    assert 'as "models.py:build_model"' in tab.form.sources["python"].problem.text()
    type_in(qtbot, tab.form.python.function.control, "build")
    assert held.plan.model == ModelSettings(python="m.py:build")
    assert tab.form.sources["python"].problem.isHidden()


def test_that_a_chosen_file_beside_the_plan_is_called_relatively(
    tab, qtbot, tmp_path: Path, monkeypatch
) -> None:
    held = Held(tab, loads('[model]\nfile = "old.keras"\n[data]\nname = "digits"\n'), tmp_path)
    chosen = tmp_path / "models" / "new.keras"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(chosen), ""))
    [button] = [
        each
        for each in tab.findChildren(QWidget)
        if each.accessibleName() == "choose the file of the model"
    ]
    click(qtbot, button)
    assert held.plan.model == ModelSettings(file="models/new.keras")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    click(qtbot, button)
    assert len(held.changes) == 1


def test_that_a_plan_with_two_models_or_none_says_so_and_shows_both(tab, held) -> None:
    held.show(loads_unchecked(ModelSettings("mlp", "a.keras")))
    assert not tab.form.sources["name"].isHidden()
    assert not tab.form.sources["file"].isHidden()
    assert "keep one of them" in tab.form.kind_row.problem.text()
    held.show(loads_unchecked(ModelSettings()))
    assert "Missing" in tab.form.kind_row.problem.text()


def loads_unchecked(model: ModelSettings):
    from dataclasses import replace

    return replace(a_plan(), model=model)


def test_that_the_layers_are_listed_with_what_each_costs_and_all_together(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    assert cells(tab)[1] == ["trained", "dense", "Dense", "256", "200,960", "785 KiB", "401 k"]
    assert (
        tab.totals.text() == totals(GRAPH) == "203,530 parameters · 795.0 KiB · 407 kFLOP a sample"
    )
    assert tab.bar.isHidden()
    assert tab.table.isVisible()


def test_that_operations_that_were_not_counted_are_no_figure(tab, held) -> None:
    layers = tuple(replace(each, flops_forward=0.0) for each in GRAPH.layers)
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(replace(KNOWN, model=replace(KNOWN.model, graph=replace(GRAPH, layers=layers))))
    assert cells(tab)[1] == ["trained", "dense", "Dense", "256", "200,960", "785 KiB", "–"]
    assert tab.totals.text() == "203,530 parameters · 795.0 KiB"


BASE = ModelGraph(
    "own",
    (
        GraphLayer("base/one", "Dense", (), (8,), 72, 72),
        GraphLayer("base/norm", "BatchNormalization", ("base/one",), (8,), 32, 16),
        GraphLayer("base/relu", "ReLU", ("base/norm",), (8,)),
        GraphLayer("base/two", "Dense", ("base/relu",), (8,), 72, frozen=True, made_frozen=True),
        GraphLayer("head", "Dense", ("base/two",), (10,), 90, 90),
    ),
)


class OfAnOwnModel(Reported):
    """Follows whatever plan the part holds."""

    held: Held

    @property
    def model(self) -> ModelSettings:
        return self.held.plan.model


@pytest.fixture
def layers(tab, held) -> Reported:
    """The reader of a tab that shows a model with a base, of which a layer is frozen."""
    reader = OfAnOwnModel()
    reader.held = held
    tab.set_facts(reader)
    reader.tell(PlanFacts(DIGITS, ModelFacts(BASE)))
    return reader


def ticks(tab: ModelTab) -> list[Any]:
    """Whether each layer is ticked; None where there is no box."""
    check = Qt.ItemDataRole.CheckStateRole
    found = [tab.layers.index(row, 0).data(check) for row in range(len(tab.layers.rows))]
    return [None if each is None else each == Qt.CheckState.Checked.value for each in found]


def choose(tab: ModelTab, *rows: int) -> None:
    """Select these rows as clicks with Ctrl held do; the last one is current."""
    flag = QItemSelectionModel.SelectionFlag
    tab.table.clearSelection()
    for row in rows:
        place = tab.layers.index(row, 1)
        tab.table.selectionModel().setCurrentIndex(place, flag.Select | flag.Rows)


def test_that_layers_with_something_to_train_are_ticked_where_they_are_trained(
    tab, held, layers
) -> None:
    assert ticks(tab) == [True, True, None, False, True]
    assert totals(BASE).startswith("266 parameters (178 trained, 72 frozen, 16 not trainable) · ")
    assert [tab.layers.text(row, 0) for row in BASE.layers] == [
        *("trained", "trained", "nothing", "frozen", "trained")
    ]
    tip = tab.layers.index(1, 4).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "16 can be trained, 16 cannot, such as averages"
    layers.tell(PlanFacts(DIGITS, ModelFacts(BASE, own_steps=("train_step", "compute_loss"))))
    assert tab.totals.text().endswith(" · trained by its own train_step and compute_loss")
    held.show(
        loads(dumps(held.plan).replace("[data]", 'frozen = ["base/[on]*", "!*/two"]\n[data]'))
    )
    assert ticks(tab) == [False, False, None, True, True]


def test_that_space_freezes_and_thaws_the_selected_layers_in_one_step(
    tab, held, layers, qtbot
) -> None:
    choose(tab, 0, 1, 2)
    qtbot.keyClick(tab.table, Qt.Key.Key_Space)
    assert held.plan.model.frozen == ()  # the current layer has nothing to train
    choose(tab, 2, 0, 1)
    qtbot.keyClick(tab.table, Qt.Key.Key_Space)
    assert held.plan.model.frozen == ("base",)
    assert held.changes[-1].text == "freeze 2 layers"
    assert ticks(tab) == [False, False, None, False, True]
    choose(tab, 3)
    qtbot.keyClick(tab.table, Qt.Key.Key_Space)
    assert held.plan.model.frozen == ("base", "!base/two")
    assert held.changes[-1].text == "train base/two"


def test_that_a_click_on_a_box_concerns_the_selection_only_if_it_is_within(
    tab, held, layers, qtbot
) -> None:
    choose(tab, 0, 1)
    tab.layers.setData(tab.layers.index(4, 0), 0, Qt.ItemDataRole.CheckStateRole)
    assert held.plan.model.frozen == ("head",)
    tab.layers.setData(tab.layers.index(0, 0), 0, Qt.ItemDataRole.CheckStateRole)
    assert held.plan.model.frozen == ("head", "base")


def test_that_ticking_goes_on_while_the_frozen_model_is_being_asked_about(
    tab, held, layers
) -> None:
    tab.layers.setData(tab.layers.index(4, 0), 0, Qt.ItemDataRole.CheckStateRole)
    layers.tell(busy=True, waiting="starting TensorFlow")
    assert tab.table.isEnabled()
    assert not tab.totals.isEnabled()
    held.show(replace(held.plan, model=ModelSettings("lenet")))
    layers.tell(busy=True, waiting="starting TensorFlow")
    assert not tab.table.isEnabled()


def test_that_weights_and_patterns_are_typed_or_chosen(
    tab, held, qtbot, tmp_path, monkeypatch
) -> None:
    held.base = tmp_path
    held.show()
    rows = tab.beginning.rows
    type_in(qtbot, rows["model.frozen"].control, "base/*, !base/two")
    assert held.plan.model.frozen == ("base/*", "!base/two")
    type_in(qtbot, rows["model.weights"].control, "old.h5")
    assert "give a file of model.save_weights" in rows["model.weights"].problem.text()
    chosen = str(tmp_path / "a.weights.h5")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (chosen, ""))
    buttons = tab.beginning.findChildren(QPushButton)
    click(
        qtbot,
        next(each for each in buttons if each.accessibleName() == "choose the file of weights"),
    )
    assert held.plan.model.weights == "a.weights.h5"


def test_that_a_wait_is_told_and_can_be_cancelled_and_the_old_layers_stay_greyed(
    tab, held, qtbot
) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    reader.tell(busy=True, waiting="starting TensorFlow")
    assert tab.bar.words.text() == "Starting TensorFlow…"
    assert not tab.table.isEnabled()
    assert len(cells(tab)) == 3
    click(qtbot, tab.bar.button)
    reader.tell()
    click(qtbot, tab.bar.button)
    assert reader.asked == ["cancel", "retry"]


@pytest.mark.parametrize(
    ("facts", "error", "words"),
    [
        (None, "the process ended", "The process ended."),
        (PlanFacts(KNOWN.data, ModelFacts(model_error="it cannot", advice=("Take mlp",))), "",
         "It cannot. Take mlp."),
        (PlanFacts(data_error="no such file"), "", "No such file."),
    ],
)  # fmt: skip
def test_that_an_error_is_told_and_can_be_tried_again(
    tab, held, qtbot, facts, error: str, words: str
) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(facts, error=error)
    assert tab.bar.words.text() == words
    click(qtbot, tab.bar.button)
    assert reader.asked == ["retry"]
    if facts is not None:
        assert cells(tab) == []


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((256, 256, 256, 10), "28 × 28 × 1 → 256 → 256 → 256 → 10"),
        ((512, *[128] * 20, 64, 10), "28 × 28 × 1 → 512 → 128 → … → 64 → 10"),
        ((1, 2, 3, 4, 5, 6, 7, 8), "28 × 28 × 1 → 1 → 2 → … → 6 → 7 → 8"),
        ((1, *[2] * 9, 3, 4, 5, 6), "28 × 28 × 1 → 1 → 2 → … → 4 → 5 → 6"),
    ],
)
def test_that_of_a_long_chain_the_equal_ones_are_left_out_first(
    sizes: tuple[int, ...], words: str
) -> None:
    layers = tuple(
        GraphLayer(f"dense_{n}", "Dense", (), (each,), 1, 1) for n, each in enumerate(sizes)
    )
    assert widths(replace(GRAPH, layers=layers)) == words


def test_that_pictures_between_convolutions_are_told_by_their_shapes() -> None:
    shapes = ((28, 28, 16), (14, 14, 32), (7, 7, 64), (128,), (10,))
    layers = tuple(
        GraphLayer(f"layer_{n}", "Conv2D", (), each, 1, 1) for n, each in enumerate(shapes)
    )
    assert widths(replace(GRAPH, layers=layers)) == "28 × 28 × 1 → … → 10"


def test_that_the_shapes_of_a_model_are_a_chain() -> None:
    assert widths(GRAPH) == "28 × 28 × 1 → 256 → 10"
    assert shape_in_words((28, None, 3)) == "28 × any × 3"


LEFT, RIGHT = ArrayFacts(("left",), (28,)), ArrayFacts(("right",), (3,), "int32")
HEAD, TAIL = ArrayFacts(("head",), (), "int32", ids=10), ArrayFacts(("tail",), (1,))
ENDS = {
    "inputs": (
        ArrayFacts(("right",), (3,), "int32", name="r"),
        ArrayFacts((1,), (28,), name="left"),
    ),
    "outputs": (ArrayFacts((0,), (1,), name="tail"), ArrayFacts((1,), (10,), name="head")),
}


def several() -> PlanFacts:
    data = DataFacts("pairs", "classes", None, 90, inputs=(LEFT, RIGHT), targets=(HEAD, TAIL))
    learners = {
        "head": Learnt("classes", True, "sparse_categorical_crossentropy", ("accuracy",)),
        "tail": Learnt("values", True, "mean_squared_error", ("mean_absolute_error",)),
    }
    return PlanFacts(data, ModelFacts(GRAPH, learners=learners, **ENDS))


def test_that_each_input_and_output_stands_beside_what_the_data_have_for_it(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(several())
    model = tab.pairings
    shown = [[model.text(row, column) for column in range(5)] for row in model.rows]
    assert shown == [
        ["x/right", "3, int32", "r", "3, int32", ""],
        ["x/left", "28, float32", "left", "28, float32", ""],
        ["y/tail", "1, float32", "tail", "1, float32", "mean squared error"],
        ["y/head", "one number, int32", "head", "10, float32", "sparse categorical crossentropy"],
    ]
    assert tab.ends.isVisible()
    assert tab.ends_heading.isVisible()
    assert model_in_short(several().model) == "2 inputs → 2 outputs"
    assert model_in_short(KNOWN.model) == widths(GRAPH)


def test_that_one_input_and_one_output_need_no_table_of_their_own(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    assert not tab.ends.isVisible()
    assert not tab.ends_heading.isVisible()


def test_that_arrays_without_names_meet_the_ends_of_the_model_in_order() -> None:
    first, second, third = (ArrayFacts((place,), (place + 1,)) for place in range(3))
    ends = ArrayFacts((0,), (1,), name="a"), ArrayFacts((1,), (2,), name="b")
    assert paired((first, second), ends) == ((first, ends[0]), (second, ends[1]))
    assert paired((first,), ends) == ((first, ends[0]), (None, ends[1]))
    assert paired((first, second, third), ends)[-1] == (third, None)
