"""Exported scripts on cards: what the plan does not use is not touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from exported_scripts import epochs_in, write_script
from script_jobs import printed_by

from gpu_studio.plan import loads, with_settings

if TYPE_CHECKING:
    from fake_cards import Make

pytestmark = pytest.mark.slow

PLAN = """
version = 1
[[devices.carve]]
device = "GPU:0"
slices_mib = [2, 128, 128]
[model]
name = "mlp"
options = { hidden = [512, 512] }
[data]
name = "digits"
[training]
batch_size = 256
optimizer = "adam"
"""
PLACED = [
    "distribution.strategy=placed",
    'distribution.placed.layers.dense="GPU:1"',
    'distribution.placed.layers.dense_1="GPU:2"',
]
ONE_DEVICE = ["distribution.strategy=one_device", 'distribution.devices=["GPU:3"]']


def test_that_a_script_makes_trains_and_saves_on_the_cards_of_its_plan_only(
    fake_cards: Make, tmp_path: Path
) -> None:
    """The first slice has less room than one weight of the model."""
    fake_cards(2, 1024)
    scripts = []
    for name, settings in (("placed", PLACED), ("one_device", ONE_DEVICE)):
        (tmp_path / name).mkdir()
        scripts.append(write_script(with_settings(loads(PLAN), settings), tmp_path / name))
    printed = printed_by(scripts, tmp_path)
    # XLA, which would compile for a real card, knows none of those that are not there.
    assert ["XLA could not compile" in each for each in printed] == [False, True]
    (placed,), (one_device,) = map(epochs_in, printed)
    assert placed == pytest.approx(one_device, abs=1e-5)
    held = [[line for line in each.splitlines() if line.startswith("held")] for each in printed]
    assert held == [["held GPU:1", "held GPU:2"], ["held GPU:1", "held GPU:2", "held GPU:3"]]
