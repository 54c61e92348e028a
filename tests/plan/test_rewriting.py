from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.plan import Carve, Distribution, ModelSettings, Named, Plan, dumps, loads
from gpu_studio.plan.rewriting import rewritten
from gpu_studio.plan.values import Callback

BY_HAND = """\
# What I try tonight.
version = 1
name = "digits"   # short

[model]
name = "mlp"
options = { hidden = [64, 32] }  # small

[training]
batch_size = 256   # fits
epochs = 2

# Four slices, one for each of us.
[[devices.carve]]
device = "GPU:0"
slices_mib = [
  1024,  # mine
  1024,
]
"""


def test_that_a_text_that_says_the_same_stays_to_the_letter() -> None:
    assert rewritten(BY_HAND, loads(BY_HAND)) == BY_HAND


def test_that_only_the_changed_line_changes() -> None:
    plan = loads(BY_HAND)
    changed = replace(plan, training=replace(plan.training, epochs=30))
    assert rewritten(BY_HAND, changed) == BY_HAND.replace("epochs = 2", "epochs = 30")


def test_that_a_default_that_is_left_out_stays_left_out_until_it_is_changed() -> None:
    plan = loads(BY_HAND)
    text = rewritten(BY_HAND, replace(plan, distribution=Distribution("mirrored")))
    assert "[distribution]" in text
    assert "seed" not in text
    assert "# mine" in text
    assert loads(text).distribution.strategy == "mirrored"


def test_that_options_and_slices_are_written_as_in_other_plans() -> None:
    plan = loads(BY_HAND)
    devices = replace(plan.devices, carve=(Carve("GPU:0", (512,)), Carve("CPU:0", (0, 0))))
    training = replace(
        plan.training,
        schedule=Named("cosine", {"alpha": 0.1}),
        callbacks=(Callback("csv_logger", {"separator": ";"}), Callback("terminate_on_nan")),
    )
    changed = replace(plan, devices=devices, training=training, model=ModelSettings("cnn"))
    text = rewritten(BY_HAND, changed)
    assert loads(text) == changed
    assert text.count("[[devices.carve]]") == 2
    assert '[[training.callbacks]]\nname = "csv_logger"\noptions = {separator = ";"}\n' in text
    assert "# fits" in text
    assert 'schedule = {alpha = 0.1, name = "cosine"}' in text


@pytest.mark.parametrize("text", ["", "not toml", "version = 1\nepochs = 3"])
def test_that_a_text_that_is_no_plan_is_written_anew(text: str) -> None:
    assert rewritten(text, Plan(name="new")) == dumps(Plan(name="new"))
