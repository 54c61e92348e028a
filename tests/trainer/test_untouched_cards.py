"""What a plan does not use is not touched: no model is made there, nothing passes through it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fake_cards import Make

pytestmark = pytest.mark.slow


def placed(first: str, rest: str = '"GPU:3"') -> tuple[str, ...]:
    names = {"dense": first, "dense_1": rest, "outputs": rest}
    layers = (f"distribution.placed.layers.{name}={device}" for name, device in names.items())
    return ("distribution.strategy=placed", "distribution.placed.micro_batches=2", *layers)


def distributed(strategy: str, devices: str, *settings: str) -> tuple[str, ...]:
    return (f"distribution.strategy={strategy}", f"distribution.devices={devices}", *settings)


JOBS = {
    "none": (),
    "placed": placed('"GPU:1"'),
    "split": placed('["GPU:1", "GPU:2"]'),
    "on the host": placed('"CPU:0"', '"CPU:0"'),
    "another card": placed('"GPU:4"', '"GPU:4"'),
    "whole card": distributed("one_device", '["GPU:4"]'),
    "one_device": distributed("one_device", '["GPU:2"]'),
    "central_storage": distributed(
        "central_storage", '["GPU:1", "GPU:2"]', 'distribution.parameter_device="GPU:2"'
    ),
    "mirrored": distributed("mirrored", '["GPU:2", "GPU:3"]'),
}
USED = {
    "none": {"GPU:0"},
    "placed": {"GPU:1", "GPU:3"},
    "split": {"GPU:1", "GPU:2", "GPU:3"},
    "on the host": set(),
    "another card": {"GPU:4"},
    "whole card": {"GPU:4"},
    "one_device": {"GPU:2"},
    "central_storage": {"GPU:1", "GPU:2"},
    "mirrored": {"GPU:2", "GPU:3"},
}


CARD_MIB = 80 * 1024
"""As large as real cards, of whose memory the same share is more."""


@pytest.fixture
def done(fake_cards: Make, tmp_path: Path) -> dict[str, Any]:
    from card_jobs import answers

    fake_cards(count=2, memory_mib=CARD_MIB)
    return answers(JOBS, tmp_path)


@pytest.mark.whole("tests/trainer/test_strategies_on_cards.py")
def test_that_a_card_that_the_plan_does_not_use_holds_nothing_and_losses_are_the_same(
    done: dict[str, Any],
) -> None:
    """From the making of the model to its evaluation, and on from another strategy's checkpoint.

    A slice and a whole card give out no more than is asked; TensorFlow would give a piece of up to
    twice that.
    """
    from card_jobs import ASKED, GIVEN

    assert done.pop(GIVEN) == [ASKED, ASKED]
    holding = {
        name: {card for card, held in each["held"].items() if held} for name, each in done.items()
    }
    assert holding == USED
    for name, each in done.items():
        assert each["losses"] == pytest.approx(done["none"]["losses"], abs=1e-5), name
    model, slots = (done["placed"]["where"][what] for what in ("model", "slots"))
    assert model == ["GPU:1"] * 2 + ["GPU:3"] * 4
    assert sorted(slots) == sorted(model * 2)
    assert set(done["whole card"]["where"]["slots"]) == {"GPU:4"}
    assert set(done["central_storage"]["where"]["slots"]) == {"GPU:2"}
