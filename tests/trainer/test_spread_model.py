"""A model whose weights fit only where they are spread over four slices, all its life long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import warm_python
from fake_cards import CONTEXT_MIB
from training_runs import Finished, trained

from gpu_studio.common.figures import MIB
from gpu_studio.contract import events
from gpu_studio.plan import Plan, loads, with_settings
from gpu_studio.runs.questions.checkpoint_question import AskOptions, chosen, evaluate, save_model
from gpu_studio.runs.resume import choose

if TYPE_CHECKING:
    from fake_cards import Make

pytestmark = pytest.mark.slow

SLICE_MIB = 8
PLAN = f"""
version = 1
name = "spread"
[[devices.carve]]
device = "GPU:1"
slices_mib = [{SLICE_MIB}, {SLICE_MIB}, {SLICE_MIB}, {SLICE_MIB}]
[model]
name = "mlp"
options = {{ hidden = [{", ".join(["512"] * 13)}] }}
[data]
name = "synthetic"
options = {{ shape = [64], samples = 120, classes = 4 }}
[training]
epochs = 1
batch_size = 32
optimizer = "sgd"
[distribution]
strategy = "placed"
[distribution.placed]
layers = {{ dense = "GPU:1", dense_4 = "GPU:2", dense_7 = "GPU:3", dense_10 = "GPU:4" }}
"""


def sound(run: Finished) -> Finished:
    assert run.code == 0, run.log
    held: dict[str, int] = {}
    for row in (row for each in run.of(events.Memory) for row in each.devices):
        held[row.device] = max(row.peak, held.get(row.device, 0))
    assert held["GPU:0"] == 0
    for number in range(1, 5):
        # 3 of the 12 large layers, and what a step needs besides.
        assert 3 * MIB < held[f"GPU:{number}"] <= SLICE_MIB * MIB
    return run


def told_test_loss(run: Finished) -> float | None:
    return run.one(events.Finished).metrics["test_loss"]


@pytest.fixture
def plan() -> Plan:
    return loads(PLAN)


def test_that_it_is_made_trained_resumed_evaluated_saved_and_loaded_within_the_limits(
    fake_cards: Make, plan: Plan, tmp_path: Path
) -> None:
    cards = fake_cards(count=2, memory_mib=1024)
    first = sound(trained(plan, tmp_path / "runs"))
    assert first.one(events.Model).parameters * 4 > SLICE_MIB * MIB
    longer = with_settings(plan, ("training.epochs=2",))
    second = sound(trained(longer, tmp_path / "runs", resume=choose(first.directory)))
    asking = AskOptions(warm_python.command("gpu_studio.trainer.ask"))
    found = evaluate(second.directory, chosen(second.directory), asking)
    assert found.device == "GPU:1, GPU:2, GPU:3, GPU:4"
    assert found.metrics["loss"] == pytest.approx(told_test_loss(second), rel=1e-6)
    file = tmp_path / "spread.keras"
    save_model(second.directory, chosen(second.directory), file, asking)
    loaded = with_settings(plan, ("model.name=", f'model.file="{file}"'))
    sound(trained(loaded, tmp_path / "runs"))
    assert cards.most_taken_mib(0) <= CONTEXT_MIB < cards.most_taken_mib(1)
