from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from edited_part import DIGITS, FOUR_CORES, GRAPH, KNOWN, Held, Reported, click, in_window, type_in
from hypothesis import given
from hypothesis import strategies as st
from plan_samples import a_plan
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.common.shown_values import DataSample, Value
from gpu_studio.placement.plan_facts import (
    ArrayFacts,
    DataFacts,
    Learnt,
    ModelFacts,
    PlanFacts,
    sample_in_words,
)
from gpu_studio.plan import Data, Training
from gpu_studio.ui.kit.table import rows_as_text
from gpu_studio.ui.plan.data_tab import PICTURE, DataTab, SampleGrid, picture
from gpu_studio.ui.plan.facts_words import (
    PairingsModel,
    batches,
    data_lines,
    fit_of,
    pairings_of,
    what_fits,
)

LINE = DataFacts("line", "values", None, 9, x_shape=(1,))


@pytest.fixture
def tab(qtbot, theme) -> DataTab:
    tab: DataTab = in_window(qtbot, DataTab(theme))
    return tab


@pytest.fixture
def held(tab: DataTab) -> Held:
    return Held(tab, a_plan())


def test_that_the_shares_kept_aside_are_typed(tab, held, qtbot) -> None:
    type_in(qtbot, tab.fractions.rows["data.validation_fraction"].control, "0,25")
    type_in(qtbot, tab.fractions.rows["data.test_fraction"].control, "0")
    assert held.plan.data == Data("digits", validation_fraction=0.25, test_fraction=0.0)
    assert held.changes[-1].field == "data.test_fraction"


def test_that_a_share_out_of_bounds_from_a_file_is_shown_with_what_is_wrong(tab, held) -> None:
    held.show(replace(a_plan(), data=Data("digits", validation_fraction=1.5)))
    row = tab.fractions.rows["data.validation_fraction"]
    assert row.control.text() == "1.5"
    assert "below 1" in row.problem.text()


def test_that_options_of_made_up_data_are_controls(tab, held, qtbot) -> None:
    held.show(replace(a_plan(), data=Data("synthetic")))
    rows = tab.form.options.rows
    type_in(qtbot, rows["shape"].control, "8, 8, 3")
    type_in(qtbot, rows["samples"].control, "500")
    assert held.plan.data.options == {"shape": [8, 8, 3], "samples": 500}


def test_that_a_folder_is_chosen_by_its_dialog(
    tab, held, qtbot, tmp_path: Path, monkeypatch
) -> None:
    click(qtbot, tab.form.kinds.buttons["folder"])
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    [button] = [
        each
        for each in tab.findChildren(QWidget)
        if each.accessibleName() == "choose the folder of the data"
    ]
    click(qtbot, button)
    assert held.plan.data == Data(folder=str(tmp_path))
    assert tab.form.sources["folder"].problem.text() == ""


def test_that_the_options_of_a_folder_of_images_are_controls(tab, held, qtbot) -> None:
    click(qtbot, tab.form.kinds.buttons["folder"])
    assert (
        tab.form.sources["folder"].control.placeholderText()
        == "a folder with a folder of images, or of texts, for each class; or of images with masks"
    )
    type_in(qtbot, tab.form.sources["folder"].control, "pets/")
    rows = tab.form.options.rows
    assert list(rows) == ["holds", "size", "colours", "scale"]
    type_in(qtbot, rows["size"].control, "32, 48")
    qtbot.keyClicks(rows["colours"].control, "grey")
    assert held.plan.data == Data(folder="pets/", options={"size": [32, 48], "colours": "grey"})
    click(qtbot, rows["size"].back)
    assert held.plan.data.options == {"colours": "grey"}
    click(qtbot, tab.form.kinds.buttons["name"])
    assert held.plan.data.options == {}
    assert "size" not in tab.form.options.rows


def test_that_the_scale_of_the_bytes_in_a_file_is_a_control(tab, held, qtbot) -> None:
    held.show(replace(a_plan(), data=Data(file="mine.npz")))
    assert list(tab.form.options.rows) == ["scale"]
    qtbot.keyClicks(tab.form.options.rows["scale"].control, "none")
    assert held.plan.data == Data(file="mine.npz", options={"scale": "none"})


def test_that_an_option_that_no_folder_has_is_told_and_can_be_removed(tab, held, qtbot) -> None:
    held.show(replace(a_plan(), data=Data(folder="pets", options={"size": [9], "crop": [1]})))
    rows = tab.form.options.rows
    assert "give a list of 2 whole numbers" in rows["size"].problem.text().lower()
    assert (
        "an image folder has holds, size, colours and scale" in rows["crop"].problem.text().lower()
    )
    click(qtbot, rows["crop"].back)
    assert held.plan.data.options == {"size": [9]}


def test_that_what_the_data_hold_is_told_and_changes_with_the_batch(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    assert "1,000 training · 100 validation · 50 test" in tab.lines.text
    assert "32 batches of 32 samples, the last of 8" in tab.lines.text
    assert "✔ Shapes in fit: the model takes 28 × 28 × 1." in tab.lines.text
    assert "✔ Shapes out fit: the model gives 10, for 10 classes." in tab.lines.text
    held.show(replace(a_plan(), training=Training(batch_size=500)))
    assert "2 batches of 500 samples" in tab.lines.text


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("cats", "dogs"), "one of 2 classes (cats, dogs), int32"),
        (tuple("abcdefgh"), "one of 8 classes (a, b, c, d, e, f and 2 more), int32"),
        ((), "one of 10 classes, int32"),
    ],
)
def test_that_classes_are_told_by_their_names(names: tuple[str, ...], words: str) -> None:
    told = dict(
        data_lines(
            a_plan(), FOUR_CORES, replace(DIGITS, classes=len(names) or 10, class_names=names)
        )
    )
    assert told["a target"] == words


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"highest": 1.0, "pixels": True}, "28 × 28 × 1, float32 in 0…1, bytes divided by 255"),
        ({"lowest": -2.125, "highest": 255.0}, "28 × 28 × 1, float32 in -2.12…255"),
        ({}, "28 × 28 × 1, float32"),
        (
            {"x_dtype": "int32", "largest_token": 19, "highest": 9.0},
            "28 × 28 × 1, int32 ids up to 19",
        ),
    ],
)
def test_that_it_is_told_which_numbers_a_model_gets(known: dict[str, Any], words: str) -> None:
    assert dict(data_lines(a_plan(), FOUR_CORES, replace(DIGITS, **known)))["a sample"] == words


def test_that_texts_are_called_texts_and_what_a_step_of_its_own_takes_is_left_to_it() -> None:
    texts = replace(DIGITS, x_shape=(), x_dtype="string")
    assert dict(data_lines(a_plan(), FOUR_CORES, texts))["a sample"] == "one text"
    own = ModelFacts(GRAPH, own_steps=("train_step",))
    assert what_fits(texts, own) == ((True, "The model's own train_step is given all of them."),)
    aligned = Learnt("values", True, "ctc", (), compiled=True)
    strips = ModelFacts(replace(GRAPH, input_shape=(), output_shape=(12, 6)), learnt=aligned)
    assert what_fits(texts, strips)[1] == (
        True,
        "Shapes out: ctc is given 12 × 6, for one of 10 classes.",
    )
    pictures = ArrayFacts(("a",), (8, 8, 1), scaled=True)
    nested = replace(DIGITS, inputs=(pictures,), targets=(ArrayFacts(("b",)),))
    model = PairingsModel()
    said = "8 × 8 × 1, float32 in 0…1, bytes divided by 255"
    assert [
        [model.text(row, column) for column in range(3)] for row in pairings_of(nested, own)
    ] == [
        ["x/a", said, "its own train_step"],
        ["y/b", "one number, float32", "its own train_step"],
    ]
    assert dict(data_lines(a_plan(), FOUR_CORES, nested))["x/a"] == said
    assert sample_in_words(nested) == f"x/a {said}"


def test_that_data_that_are_not_here_yet_say_so() -> None:
    [(_, samples), *_] = data_lines(a_plan(), FOUR_CORES, replace(DIGITS, here=False, bytes=2**20))
    assert samples.endswith("1 MiB, which the first run downloads")
    [(_, samples), *_] = data_lines(a_plan(), FOUR_CORES, replace(DIGITS, here=False, bytes=0))
    assert samples.endswith(" · the first run downloads them")


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_that_the_batches_hold_every_sample_once(train: int, batch: int) -> None:
    plan = replace(a_plan(), training=Training(batch_size=batch))
    cut = batches(plan, FOUR_CORES, replace(DIGITS, train=train))
    assert (cut.count - 1) * cut.size + cut.last == train
    assert 0 < cut.last <= cut.size


@pytest.mark.parametrize(
    ("data", "graph", "wanted"),
    [
        (DIGITS, replace(GRAPH, input_shape=(32, 32, 3)), (False, True)),
        (DIGITS, replace(GRAPH, output_shape=(9,)), (True, False)),
        (DIGITS, replace(GRAPH, input_shape=(None, None, 1)), (True, True)),
        (LINE, replace(GRAPH, input_shape=(1,), output_shape=(1,)), (True, True)),
    ],
)  # fmt: skip
def test_that_shapes_are_held_against_each_other(
    data: DataFacts, graph, wanted: tuple[bool, bool]
) -> None:
    assert tuple(good for good, _ in fit_of(data, graph)) == wanted


def test_that_shapes_that_do_not_fit_are_told_in_words_and_red(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(PlanFacts(DIGITS, ModelFacts(replace(GRAPH, input_shape=(32, 32, 3)))))
    assert (
        "✘ Shapes in do not fit: samples are 28 × 28 × 1, the model takes 32 × 32 × 3."
        in tab.lines.text
    )


def test_that_pictures_are_shown_and_rows_where_there_are_none(tab, held) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(KNOWN)
    assert [sample.label for sample in tab.pictures.samples] == ["7"]
    assert tab.pictures.height() >= PICTURE
    assert tab.table.isHidden()
    rows = tuple(DataSample(values=(Value("1 2.25"), Value(f"{place}.5"))) for place in range(2))
    reader.tell(PlanFacts(replace(DIGITS, preview=rows)))
    assert tab.pictures.isHidden()
    assert rows_as_text(tab.table) == "Input\tTarget\n1 2.25\t0.5\n1 2.25\t1.5"


def test_that_each_array_of_a_sample_is_shown_under_its_path_and_drawn_where_it_can_be(
    tab, held, theme
) -> None:
    reader = Reported()
    tab.set_facts(reader)
    mask = Value("2 × 2", pixels=bytes((0, 255, 255, 0)), height=2, width=2, channels=1)
    pulse = Value("0 1 0", curves=(bytes((0, 255, 0)),))
    inputs = tuple(ArrayFacts((name,)) for name in ("pulse", "words"))
    shown = DataSample(values=(pulse, Value("a cat"), mask))
    nested = replace(DIGITS, inputs=inputs, targets=(ArrayFacts(("mask",)),), preview=(shown,))
    reader.tell(PlanFacts(nested))
    assert rows_as_text(tab.table) == "x/pulse\tx/words\ty/mask\n\ta cat\t"
    cells = [tab.table.samples.index(0, column) for column in range(3)]
    drawn = [cell.data(Qt.ItemDataRole.DecorationRole) for cell in cells]
    assert drawn[1] is None
    curve, picture = drawn[0].toImage(), drawn[2].toImage()
    assert picture.width() == picture.height() == 48
    assert (picture.pixelColor(5, 5), picture.pixelColor(40, 5)) == (
        QColor("black"),
        QColor("white"),
    )
    colours = {
        curve.pixelColor(x, y).name() for x in range(curve.width()) for y in range(curve.height())
    }
    assert theme.tokens.device_colour(0) in colours
    assert tab.table.height() > 48


def test_that_a_wait_an_error_and_a_new_try_are_told(tab, held, qtbot) -> None:
    reader = Reported()
    tab.set_facts(reader)
    reader.tell(busy=True)
    assert tab.bar.words.text() == "Reading the data…"
    reader.tell(PlanFacts(data_error="There is no file a.npz", advice=("Choose another",)))
    assert tab.bar.words.text() == "There is no file a.npz. Choose another."
    click(qtbot, tab.bar.button)
    assert reader.asked == ["retry"]


@pytest.mark.parametrize(("side", "scale"), [(2, 32), (28, 2), (40, 1), (64, 1)])
def test_that_a_small_image_grows_by_whole_pixels(qapp, side: int, scale: int) -> None:
    image = picture(DataSample("", bytes(range(256)) * 16, side, side, 1))
    assert image.width() == image.height() == side * scale


def test_that_a_large_image_is_made_to_fit_and_colours_stay(qapp) -> None:
    assert picture(DataSample("", bytes(3 * 200 * 100), 100, 200, 3)).width() == PICTURE
    red = picture(DataSample("", bytes((255, 0, 0, 0, 0, 255)), 1, 2, 3))
    assert (red.pixelColor(0, 0), red.pixelColor(40, 0)) == (QColor("red"), QColor("blue"))


def test_that_a_grid_takes_the_rows_that_its_width_asks_for(qtbot, theme) -> None:
    grid = SampleGrid(theme)
    qtbot.addWidget(grid)
    grid.set_samples([DataSample(str(place), bytes(4), 2, 2, 1) for place in range(12)])
    assert grid.heightForWidth(12 * (PICTURE + 8)) * 4 == grid.heightForWidth(3 * (PICTURE + 8)) > 0
    grid.resize(300, 400)
    assert not grid.grab().toImage().isNull()


def test_that_how_samples_are_kept_aside_is_chosen(tab, held, qtbot) -> None:
    form = tab.fractions
    held.show(replace(a_plan(), data=Data(file="own.npz")))
    assert not form.groups.isVisible()
    form.split.control.setFocus()
    for _ in range(3):
        qtbot.keyClick(form.split.control, Qt.Key.Key_Down)
    assert held.plan.data.split == "grouped"
    assert held.changes[-1].text == "change split"
    assert form.split.hint.text().startswith("Whole groups")
    type_in(qtbot, form.groups.control, "patient")
    assert held.plan.data == Data(file="own.npz", split="grouped", groups="patient")
    click(qtbot, form.split.back)
    assert held.plan.data == Data(file="own.npz")


def test_that_a_way_that_the_data_cannot_be_split_in_is_told_where_it_is_chosen(tab, held) -> None:
    held.show(replace(a_plan(), data=Data("digits", split="grouped")))
    assert (
        "only an .npz file, a table or a Python function says" in tab.fractions.split.problem.text()
    )


def test_that_the_columns_of_a_table_are_ticked_in_a_list(tab, held, qtbot, tmp_path) -> None:
    (tmp_path / "homes.csv").write_text("size;rooms;price & tax\n1;2;3\n")
    held.show(replace(a_plan(), data=Data(table=str(tmp_path / "homes.csv"))))
    rows = tab.form.options.rows
    for name, column in (("inputs", 1), ("inputs", 0), ("targets", 2)):
        menu = rows[name].menu()
        assert [action.text() for action in menu.actions()] == ["size", "rooms", "price && tax"]
        menu.popup(tab.mapToGlobal(tab.rect().center()))
        menu.setActiveAction(menu.actions()[column])
        qtbot.keyClick(menu, Qt.Key.Key_Space)
        assert menu.isVisible()
        menu.close()
    assert held.plan.data.options == {"inputs": ["size", "rooms"], "targets": ["price & tax"]}
    assert rows["inputs"].control.text() == "size, rooms"
    menu = rows["inputs"].menu()
    menu.actions()[0].trigger()
    menu.actions()[1].trigger()
    assert held.plan.data.options == {"inputs": [], "targets": ["price & tax"]}
    type_in(qtbot, rows["weight"].control, "size")
    assert held.plan.data.options["weight"] == "size"


def test_that_without_a_readable_table_columns_are_typed(tab, held, qtbot) -> None:
    held.show(replace(a_plan(), data=Data(table="/nowhere/homes.csv")))
    row = tab.form.options.rows["targets"]
    assert not row.pick.isEnabled()
    type_in(qtbot, row.control, '["a, b"]')
    assert held.plan.data.options == {"targets": ["a, b"]}
    assert row.control.text() == '["a, b"]'
