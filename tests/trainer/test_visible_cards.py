"""The cards that a plan shows TensorFlow, by index or UUID and in an order of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_cards import CONTEXT_MIB
from training_runs import small_plan, trained

from gpu_studio.common.practice import identity
from gpu_studio.contract import events
from gpu_studio.plan import Carve, DeviceSettings

if TYPE_CHECKING:
    from fake_cards import Make

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "visible",
    [("GPU:2", identity(0)[0]), ("GPU:0", identity(2)[0])],
    ids=["first, by its index", "second, by its UUID"],
)
def test_that_a_slice_is_of_the_very_card_that_was_named(
    fake_cards: Make, visible: tuple[str, ...], tmp_path: Path
) -> None:
    """The third card is carved, and one of its slices trains."""
    cards = fake_cards(3, 1024)
    (third,) = (name for name in visible if name in ("GPU:2", identity(2)[0]))
    slices = {0: "GPU:1", 1: "GPU:2"}[visible.index(third)]  # the second slice, by its position
    plan = small_plan(
        "training.epochs=1",
        "distribution.strategy=one_device",
        f'distribution.devices=["{slices}"]',
    )
    shown = DeviceSettings(visible=visible, carve=(Carve(third, (64, 64)),))
    run = trained(replace(plan, devices=shown), tmp_path)
    assert run.code == 0, run.log
    told = {device.name: device for device in run.one(events.Devices).logical}
    assert (told[slices].physical, told[slices].uuid) == (third, identity(2)[0])
    held = {row.device: row.peak > 0 for row in run.of(events.Memory)[-1].devices}
    assert [name for name, some in held.items() if some] == [slices]
    taken = [cards.most_taken_mib(card) - CONTEXT_MIB for card in range(3)]
    assert taken == [0, -CONTEXT_MIB, 64]
