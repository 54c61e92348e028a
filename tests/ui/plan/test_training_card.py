from __future__ import annotations

from dataclasses import replace

import pytest
from edited_part import FOUR_CORES, KNOWN, Held, Reported, in_window, type_in
from plan_samples import a_plan
from PySide6.QtCore import Qt

from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Data, ModelSettings, Named, Training
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.training_card import TrainingCard


@pytest.fixture
def card(qtbot, theme) -> TrainingCard:
    card: TrainingCard = in_window(qtbot, TrainingCard(theme))
    return card


@pytest.fixture
def held(card: TrainingCard) -> Held:
    return Held(card, a_plan())


def test_that_the_most_used_fields_reach_the_plan(card, held, qtbot) -> None:
    type_in(qtbot, card.epochs, "12")
    type_in(qtbot, card.batch_size, "64")
    type_in(qtbot, card.learning_rate, "0.01")
    card.optimizer.setFocus()
    qtbot.keyClicks(card.optimizer, "sgd")
    assert held.plan.training == Training(
        epochs=12, batch_size=64, learning_rate=0.01, optimizer="sgd"
    )
    fields = {change.field for change in held.changes if change.field}
    assert fields == {"training.epochs", "training.batch_size", "training.learning_rate"}


def test_that_another_optimizer_leaves_the_options_of_the_old_one_behind(card, held, qtbot) -> None:
    held.show(replace(a_plan(), training=Training(optimizer="adam", options={"beta_1": 0.8})))
    card.optimizer.setFocus()
    qtbot.keyClick(card.optimizer, Qt.Key.Key_Down)
    assert held.plan.training == Training(optimizer="adamw")


def test_that_the_plan_is_told_in_words_until_the_facts_are_there(card, held) -> None:
    reader = Reported()
    card.set_facts(reader)
    reader.tell(busy=True, waiting="starting TensorFlow")
    assert card.model.text() == "mlp"
    assert card.model_detail.text() == "dense layers, one after another"
    assert card.figures.text == "Starting TensorFlow…"
    reader.tell(KNOWN)
    assert card.model_detail.text() == "28 × 28 × 1 → 256 → 10"
    assert card.data_detail.text() == "1,150 samples, 28 × 28 × 1"
    assert card.figures.text == "203,530 parameters · 795.0 KiB · 407 kFLOP a sample"


def test_that_a_short_line_of_data_is_what_is_shown_and_no_value_is_cut(card, held) -> None:
    options = {"shape": [64, 64, 3], "samples": 8192}
    held.show(replace(a_plan(), data=Data(name="synthetic", options=options)))
    reader = Reported()
    card.set_facts(reader)
    card.data_detail.setFixedWidth(card.data_detail.fontMetrics().horizontalAdvance("M" * 12))
    assert card.data_detail.shown == "shape [64, 64, 3]"
    reader.tell(KNOWN)
    assert card.data_detail.shown == "1,150 samples"


def test_that_what_went_wrong_is_told_with_a_sign(card, held) -> None:
    reader = Reported()
    card.set_facts(reader)
    reader.tell(PlanFacts(data_error="there is no file a.npz"))
    assert card.figures.text == "✘ There is no file a.npz."
    reader.tell()
    assert card.figures.text == "The model's size is not known yet."


def test_that_the_labels_say_what_the_numbers_mean(card, held) -> None:
    held.show(replace(a_plan(), training=Training(batch_scope="replica", schedule=Named("cosine"))))
    assert card.labels["batch_size"].text() == "batch a replica"
    assert card.labels["learning_rate"].text() == "learning rate, cosine"


def test_that_a_wrong_value_from_a_file_is_signed_at_its_field(card, held, qtbot) -> None:
    held.show(replace(a_plan(), training=Training(epochs=0, optimizer="adm")))
    assert (card.epochs.value(), card.optimizer.currentText()) == (0, "adm")
    assert card.labels["epochs"].text() == "✘ epochs"
    assert "from 1 to 1,000,000" in card.epochs.toolTip()
    assert "did you mean adam?" in card.optimizer.toolTip()
    type_in(qtbot, card.epochs, "3")
    assert card.labels["epochs"].text() == "epochs"
    assert card.epochs.toolTip() == "times through the training samples"


def test_that_a_file_is_called_by_its_name_so_that_its_shapes_stay_in_sight(
    card: TrainingCard, held: Held
) -> None:
    python = "/home/somebody/with/very/long/folders/models.py:build_model"
    held.show(
        replace(
            held.plan,
            model=ModelSettings(python=python),
            data=Data(folder="/data/of/everybody/flowers/"),
        )
    )
    assert (card.model.text(), card.data.text()) == ("models.py:build_model", "flowers")
    card.grab()
    assert card.model.toolTip() == python


@pytest.mark.parametrize(("width", "words"), [(280, "in the script"), (340, "as in the script")])
def test_that_a_narrow_field_says_in_fewer_words_that_its_number_is_in_the_script(
    card, held, width, words
) -> None:
    left = Training(optimizer="compiled", as_in_script=("batch_size",))
    held.show(replace(a_plan(), training=left))
    card.setFixedWidth(width)
    card.layout().activate()
    assert card.batch_size.lineEdit().placeholderText() == words
    held.show(a_plan())
    assert card.batch_size.lineEdit().placeholderText() == ""


@pytest.mark.parametrize(
    ("width", "words"), [(337, "epochs, as in the script"), (300, "epochs, in the script")]
)
def test_that_a_number_known_from_the_script_is_marked_so_where_the_card_is_narrow(
    card, held, width, words
) -> None:
    plan = a_plan()
    card.show_view(PlanView(plan, FOUR_CORES, of_script=("epochs",)))
    card.setFixedWidth(width)
    card.layout().activate()
    assert card.labels["epochs"].shown == words
    held.show(plan)
    assert card.labels["epochs"].shown == "epochs"
