"""The card and the tabs of model, data and training, with the real TensorFlow's answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from edited_part import Held
from plan_samples import a_plan

from gpu_studio.plan import Named, Training
from gpu_studio.ui.plan.data_tab import DataTab
from gpu_studio.ui.plan.model_tab import ModelTab
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.training_card import TrainingCard
from gpu_studio.ui.plan.training_tab import TrainingTab

pytestmark = pytest.mark.slow


def test_that_the_layers_the_data_and_the_curve_are_those_of_the_real_model(qtbot, theme) -> None:
    plan = replace(a_plan(), training=Training(epochs=2, batch_size=100, schedule=Named("cosine")))
    reader = FactsReader()
    model, data, training, card = (
        ModelTab(theme),
        DataTab(theme),
        TrainingTab(theme),
        TrainingCard(theme),
    )
    for part in (model, data, training, card):
        qtbot.addWidget(part)
        Held(part, plan)
        part.set_facts(reader)
        part.show()
    try:
        reader.follow(plan)
        assert model.bar.words.text().endswith("…")
        assert model.bar.button.text() == "Cancel"
        qtbot.waitUntil(lambda: not reader.asking)
    finally:
        reader.close()
    assert reader.error == ""
    assert reader.facts is not None
    assert reader.facts.graph is not None
    assert [layer.name for layer in reader.facts.graph.layers] == [
        "flatten",
        "dense",
        "dense_1",
        "dense_2",
        "outputs",
    ]
    assert reader.facts.graph.parameters == 335_114
    assert card.model_detail.text() == "28 × 28 × 1 → 256 → 256 → 256 → 10"
    assert model.totals.text().startswith("335,114 parameters · 1.3 MiB · 67")
    assert [row.kind for row in model.layers.rows if row.parameters] == ["Dense"] * 4
    assert "15 batches of 100 samples, the last of 55" in data.lines.text
    assert data.lines.text.count("✔") == 2
    assert len(data.pictures.samples) == 12
    assert training.optimizer.curve.words.endswith("over 30 steps")
