"""What will happen: the devices, the figures, and what to see to."""

from __future__ import annotations

import sys
from dataclasses import replace

import msgspec
import pytest
from edited_part import KNOWN, Reported, click, in_window
from made_machines import ONE_LARGE_CARD, TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import FACTS
from made_plans import on_everything
from made_topologies import without_peers
from plan_part import OnMachine
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLabel, QScrollArea

from gpu_studio.common import figures
from gpu_studio.contract.consent import allow_folder
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts
from gpu_studio.plan import (
    CardUser,
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    Training,
)
from gpu_studio.ui.machine.checkup import Checkup, Diagnosis
from gpu_studio.ui.plan.outlook import MEANINGS, facts, prospects
from gpu_studio.ui.plan.outlook_card import OutlookCard

MIRRORED = Plan(
    "made",
    DeviceSettings(),
    ModelSettings("mlp"),
    Data("digits"),
    Training(batch_size=64),
    Distribution("mirrored"),
)


@pytest.fixture
def reader() -> Reported:
    return Reported()


@pytest.fixture
def card(qtbot, theme, reader) -> OutlookCard:
    card = OutlookCard(theme)
    card.set_facts(reader)
    return in_window(qtbot, card)


def tell(reader: Reported, *facts: PlanFacts, **state: object) -> None:
    """Tell the reader, let the card take it up in the next turn, and Qt show what is new in it."""
    reader.tell(*facts, **state)
    QApplication.processEvents()
    QApplication.processEvents()


def words(card: OutlookCard) -> str:
    return " ".join(label.text() for label in card.findChildren(QLabel) if label.isVisible())


def buttons(card: OutlookCard) -> dict[str, object]:
    views = [*card.obstacles.views.values(), *card.warnings.views.values()]
    return {view.button.text(): view.button for view in views if view.button.isVisible()}


def test_that_devices_and_batch_are_said_without_tensorflow(card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    assert list(card.rows) == ["GPU:0", "GPU:1", "CPU:0"]
    assert [row.prospect.share for row in card.rows.values()] == [
        "32 samples",
        "32 samples",
        "no replica",
    ]
    assert "64 samples" in words(card)
    assert "steps" not in words(card)
    assert not card.parts.isVisible()


def test_that_what_is_waited_for_is_said_and_can_be_cancelled(qtbot, card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(reader, busy=True, waiting="building the model")
    assert "Building the model…" in words(card)
    click(qtbot, card.waiting.button)
    tell(reader, error="TensorFlow is not installed")
    assert "TensorFlow is not installed." in words(card)
    click(qtbot, card.waiting.button)
    assert reader.asked == ["cancel", "retry"]
    tell(reader, FACTS)
    assert not card.waiting.isVisible()


def test_that_each_device_shows_what_is_predicted_against_its_limit(card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(reader, FACTS)
    for memory in predict(MIRRORED, TWO_CARDS, FACTS):
        prospect = card.rows[memory.device].prospect
        assert prospect.total == memory.total
        assert prospect.most == memory.limit_bytes
        assert {part.name: part.bytes for part in prospect.parts} == {
            name: part.bytes for name, part in memory.parts
        }
        assert figures.size(memory.total) in prospect.amount
    assert "1 × 13 steps" in words(card)


def test_that_answers_which_come_together_fill_the_card_once_and_the_newest_stands(
    card, reader, monkeypatch
):
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(reader)
    filled, real = [], card.figures.show_rows
    monkeypatch.setattr(card.figures, "show_rows", lambda rows: (filled.append(rows), real(rows)))
    for answer in (KNOWN, FACTS, KNOWN, FACTS):
        reader.tell(answer)
    tell(reader, FACTS)
    assert len(filled) == 1
    assert len(card.parts.lines) == len(predict(MIRRORED, TWO_CARDS, FACTS)[0].parts)


def test_that_the_formula_of_a_part_is_told_on_hover_and_on_focus(card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(reader, FACTS)
    memory = predict(MIRRORED, TWO_CARDS, FACTS)[0]
    assert len(card.parts.lines) == len(memory.parts)
    for line, (name, wanted) in zip(card.parts.lines, memory.parts, strict=True):
        assert (
            line.toolTip() == line.accessibleDescription() == f"{MEANINGS[name]}\n{wanted.formula}"
        )
        line.setFocus(Qt.FocusReason.TabFocusReason)
        assert card.parts.formula.text() == f"{name}: {wanted.formula}"


def test_that_the_parts_are_those_of_the_device_that_has_the_focus(qtbot, card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(reader, FACTS)
    assert card.parts.title.text().startswith("GPU:0")
    card.rows["GPU:1"].setFocus(Qt.FocusReason.TabFocusReason)
    assert card.parts.title.text().startswith("GPU:1")
    qtbot.keyClick(card.rows["GPU:1"], Qt.Key.Key_Tab)
    assert card.rows["CPU:0"].hasFocus()
    assert "weights on CPU:0" in card.parts.lines[0].accessibleName()


def crowded(*free: int) -> Machine:
    """Two cards of which grace holds all but so many MiB."""
    grace = (CardUser(4711, 20_000, "python", "grace"),)
    cards = zip(TWO_CARDS.cards, free, strict=True)
    held = [
        replace(card, used_mib=(card.usable_mib or 0) - room, users=grace) for card, room in cards
    ]
    return replace(TWO_CARDS, cards=tuple(held))


def test_that_what_others_hold_is_in_the_bar_the_figure_and_the_warning_with_every_way_out(
    qtbot, card, reader
):
    plan = replace(
        MIRRORED, training=Training(batch_size=200_000), distribution=Distribution("one_device")
    )
    waiting = QAction("Add to queue")
    card.warnings.queue = waiting
    held = OnMachine(card, plan, crowded(812, 20_000))
    tell(reader, replace(FACTS, data=replace(FACTS.data, train=10**6)))
    prospect = card.rows["GPU:0"].prospect
    assert prospect.over
    assert prospect.amount.endswith(" of 75 MiB free")
    assert prospect.held > 0.5
    assert "; CUDA and its libraries get 2" in card.rows["GPU:0"].accessibleDescription()
    assert "others hold" in card.rows["GPU:0"].accessibleDescription()
    view = card.warnings.views["too much memory"]
    assert "held by python 4711 of grace (19.5 GiB)" in words(card)
    ways = [view.button, *view.others]
    assert [way.text() for way in ways] == ["Use GPU 1", "Batch 32,768", "Wait in the queue"]
    with qtbot.waitSignal(waiting.triggered):
        click(qtbot, ways[2])
    click(qtbot, ways[1])
    assert held.plan.training.batch_size == 32_768
    held.show(plan)
    click(qtbot, card.warnings.views["too much memory"].button)
    assert held.plan.devices.visible == ("GPU:1",)
    assert "too much memory" not in card.warnings.views


def test_that_a_slice_with_little_room_for_cudnn_is_marked_warned_of_and_mended(
    qtbot, card, reader
):
    plan = replace(
        MIRRORED,
        devices=DeviceSettings(carve=(Carve("GPU:0", (400,)),)),
        distribution=Distribution("one_device", devices=("GPU:0",)),
    )
    held = OnMachine(card, plan, TWO_CARDS)
    tell(reader, FACTS)
    assert "little room for cuDNN" not in card.warnings.views
    one, *others = FACTS.model.graph.layers
    graph = replace(FACTS.model.graph, layers=(replace(one, kind="Conv2D"), *others))
    tell(reader, replace(FACTS, model=replace(FACTS.model, graph=graph)))
    prospect = card.rows["GPU:0"].prospect
    assert (prospect.over, prospect.lacks) == (False, "may lack room for cuDNN")
    assert sum(prospect.shares) + prospect.lacking > 1.0
    assert "which may lack room for cuDNN" in card.rows["GPU:0"].accessibleDescription()
    assert "without cuDNN's workspaces" in card.parts.formula.text()
    view = card.warnings.views["little room for cuDNN"]
    larger = next(way for way in (view.button, *view.others) if way.text().startswith("Give "))
    click(qtbot, larger)
    assert held.plan.devices.carve[0].slices_mib[0] > 512
    assert "little room for cuDNN" not in card.warnings.views
    prospect = card.rows["GPU:0"].prospect
    assert (prospect.lacks, prospect.lacking) == ("", 0.0)
    assert "without cuDNN's workspaces" in card.rows["GPU:0"].accessibleDescription()


def test_that_a_slice_that_is_too_small_is_warned_of_and_mended(qtbot, card, reader):
    plan = replace(
        MIRRORED,
        devices=DeviceSettings(carve=(Carve("GPU:0", (1, 1)),)),
        training=Training(batch_size=4096),
    )
    held = OnMachine(card, plan, TWO_CARDS)
    tell(reader, replace(FACTS, data=replace(FACTS.data, train=100_000)))
    over = [row for row in card.rows.values() if row.prospect.over]
    assert over
    assert "too much" in over[0].accessibleDescription()
    view = card.warnings.views["too much memory"]
    larger, smaller = view.button, *view.others
    assert larger.text().startswith("Slices of ")
    assert smaller.text().startswith("Batch ")
    click(qtbot, smaller)
    assert held.plan.training.batch_size < 4096
    assert not any(row.prospect.over for row in card.rows.values())
    held.show(plan)
    click(qtbot, card.warnings.views["too much memory"].button)
    assert min(held.plan.devices.carve[0].slices_mib) > 1
    assert not any(row.prospect.over for row in card.rows.values())


def test_that_problems_come_first_and_are_mended_one_after_the_other_by_keys(qtbot, card, reader):
    broken = replace(MIRRORED, training=Training(batch_size=0, optimizer="adm", epochs=0))
    held = OnMachine(card, broken, TWO_CARDS)
    assert card.heading.text() == "3 things stand in the way."
    assert not card.warnings.isVisible()
    next(iter(card.obstacles.views.values())).button.setFocus()
    for left in (2, 1, 0):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
        assert len(card.obstacles.views) == left
    assert held.plan.training == Training(batch_size=2, optimizer="adam", epochs=1)
    assert not card.heading.isVisible()


def test_that_workers_that_one_card_cannot_serve_are_told_with_a_way_out(qtbot, card, reader):
    held = OnMachine(
        card, replace(MIRRORED, distribution=Distribution("multi_worker")), ONE_LARGE_CARD
    )
    assert card.heading.text() == "One thing stands in the way."
    click(qtbot, buttons(card)["Use 1 worker"])
    assert held.plan.cluster is not None
    assert not card.heading.isVisible()


def test_that_what_keras_refuses_stands_in_the_way_with_its_advice(card, reader):
    held = OnMachine(card, MIRRORED, TWO_CARDS)
    model = ModelFacts(model_error="The shapes do not match", advice=("Take the model cnn.",))
    held.show(MIRRORED, PlanFacts(FACTS.data, model))
    assert card.heading.text() == "One thing stands in the way."
    assert "The shapes do not match" in words(card)
    assert "Take the model cnn." in words(card)
    held.show(MIRRORED, PlanFacts(data_error="There is no such file"))
    assert "There is no such file" in words(card)


@pytest.mark.parametrize("width", [378, 290])  # of a window of 1280 and 1024 pixels
def test_that_a_word_without_a_place_to_break_pushes_nothing_out_of_the_card(card, reader, width):
    card.resize(width, 300)
    held = OnMachine(card, MIRRORED, TWO_CARDS)
    long = ModelFacts(model_error="m" * 90, advice=("n" * 90,))
    held.show(MIRRORED, PlanFacts(FACTS.data, long))
    QApplication.processEvents()
    (area,) = card.findChildren(QScrollArea)
    assert area.widget().width() <= area.viewport().width()


def test_that_why_nothing_is_known_pushes_nothing_out_of_the_card(card, reader):
    card.setFixedWidth(290)
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(reader, error=f"TensorFlow's process ended without an answer ({'M' * 40}).")
    assert "without an answer" in words(card)
    (area,) = card.findChildren(QScrollArea)
    assert area.widget().width() <= area.viewport().width()


def test_that_want_of_memory_for_a_look_is_a_warning_that_can_be_tried_again(qtbot, card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    tell(
        reader,
        PlanFacts(
            FACTS.data, ModelFacts(model_error="Out of memory on CPU:0.", of_the_moment=True)
        ),
    )
    assert not card.heading.isVisible()
    assert "The plan could not be looked at: Out of memory on CPU:0." in words(card)
    click(qtbot, buttons(card)["Try again"])
    assert reader.asked == ["retry"]


def test_that_a_look_before_which_a_script_would_train_is_offered_by_that_name(
    qtbot, card, reader, tmp_path
):
    (tmp_path / "train.py").write_text("model.fit(x, epochs=1)\nmodel.fit(x, epochs=2)\n")
    allow_folder(tmp_path)
    script = str(tmp_path / "train.py:fit_2")
    sources = {"model": ModelSettings(python=script), "data": Data(python=script)}
    OnMachine(card, replace(MIRRORED, **sources, distribution=Distribution()), TWO_CARDS)
    why = "What train.py gives call 2 of fit is known once call 1 has trained."
    tell(reader, PlanFacts(data_error=why, of_the_moment=True))
    click(qtbot, buttons(card)["Train and look"])
    assert reader.asked == ["train and retry"]


def test_that_the_views_of_what_stays_are_kept_with_their_focus(card, reader):
    held = OnMachine(card, on_everything(ONE_LARGE_CARD), ONE_LARGE_CARD)
    view = card.warnings.views["shared hardware"]
    rows = dict(card.rows)
    view.button.setFocus()
    held.show(replace(held.plan, training=replace(held.plan.training, batch_size=63)))
    assert card.warnings.views["shared hardware"] is view
    assert view.button.hasFocus()
    assert card.rows == rows
    tell(reader, KNOWN)
    assert card.rows == rows


def test_that_two_warnings_with_one_way_out_are_said_once(card, reader):
    held = OnMachine(card, replace(MIRRORED, training=Training(batch_size=64)), WITHOUT_CARDS)
    tell(reader, FACTS)
    assert [view.button.text() for view in card.warnings.views.values()] == ["Use one device"]
    assert held.changes == []


def test_that_cards_that_cannot_reach_each_other_are_warned_of_once_the_links_are_known(
    card, reader
):
    OnMachine(card, MIRRORED, TWO_CARDS)
    assert "cannot read each other's memory" not in words(card)
    topology = without_peers()
    nodes = tuple(replace(node, uuid=f"GPU-{place}") for place, node in enumerate(topology.nodes))
    card.set_topology(replace(topology, nodes=nodes))
    assert "cannot read each other's memory" in words(card)
    assert "Use central storage" in buttons(card)


def test_that_everything_that_takes_the_focus_has_a_name_of_its_own(card, reader):
    OnMachine(card, replace(MIRRORED, training=Training(batch_size=63)), TWO_CARDS)
    tell(reader, FACTS)
    focusable = [*card.rows.values(), *card.parts.lines, *buttons(card).values()]
    names = [widget.accessibleName() for widget in focusable]
    assert all(names)
    assert len(set(names)) == len(names)


def test_that_rows_are_painted_with_and_without_figures(card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    plain = card.rows["GPU:0"].grab().toImage()
    tell(reader, FACTS)
    QApplication.processEvents()
    assert card.rows["GPU:0"].grab().toImage() != plain
    assert card.parts.lines[0].grab().toImage() != card.parts.lines[3].grab().toImage()


def test_that_a_placed_plan_is_one_replica_with_layers_on_its_devices():
    plan = replace(MIRRORED, distribution=Distribution("placed"))
    assert dict(facts(plan, TWO_CARDS))["replicas"] == "1"
    on_cpus = DeviceSettings(carve=(Carve("CPU:0", (0, 0)),))
    layers = {"one": ("CPU:0",), "two": ("CPU:1",)}
    placed = Plan(devices=on_cpus, distribution=Distribution("placed", placed=Placed(2, layers)))
    assert dict(facts(placed, WITHOUT_CARDS))["replicas"] == "1"
    mirrored = Plan(devices=on_cpus, distribution=Distribution("mirrored"))
    assert dict(facts(mirrored, WITHOUT_CARDS))["replicas"] == "2, on the same cores"
    assert dict(facts(plan, TWO_CARDS))["micro-batches"] == "1"
    assert [each.share for each in prospects(plan, TWO_CARDS)] == [
        "all layers",
        "no layer",
        "no layer",
    ]
    layers = {"one": ("GPU:1",), "two": ("GPU:0", "GPU:1")}
    plan = replace(plan, distribution=replace(plan.distribution, placed=Placed(4, layers)))
    assert [each.share for each in prospects(plan, TWO_CARDS)][:2] == [
        "1 layer",
        "2 layers",
    ]


def test_that_of_many_problems_the_first_are_shown_and_all_are_counted(card, reader):
    carve = Carve("CPU:0", tuple(range(1, 41)))
    OnMachine(
        card,
        replace(MIRRORED, devices=DeviceSettings(carve=(carve,)), training=Training(batch_size=64)),
        WITHOUT_CARDS,
    )
    assert card.heading.text() == "40 things stand in the way."
    assert len(card.obstacles.views) == 9
    assert "32 more come after these." in words(card)


def test_that_links_are_taken_from_the_checkup_as_it_answers(qtbot, card, reader):
    OnMachine(card, MIRRORED, TWO_CARDS)
    topology = without_peers()
    nodes = tuple(replace(node, uuid=f"GPU-{place}") for place, node in enumerate(topology.nodes))
    answer = msgspec.json.encode(Diagnosis(topology=replace(topology, nodes=nodes))).decode()
    checkup = Checkup(command=(sys.executable, "-S", "-c", f"print({answer!r})"))
    checkup.follow_topology(card.set_topology)
    checkup.glance()
    qtbot.waitUntil(lambda: "cannot read each other's memory" in words(card))
    checkup.close()
