"""Cards found by the names that plans give them."""

from __future__ import annotations

import pytest
from plan_samples import TWO_CARDS

from gpu_studio.plan import Card, Machine

FIRST, SECOND = TWO_CARDS.cards


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("GPU:0", FIRST),
        ("GPU:1", SECOND),
        ("GPU-5d0f", FIRST),
        ("GPU-5d1", SECOND),
        ("GPU-5d", None),
        ("GPU-", None),
        ("GPU:2", None),
        ("CPU:0", None),
        ("", None),
    ],
)
def test_that_a_card_is_found_by_number_or_by_what_only_its_uuid_begins_with(name, card):
    assert TWO_CARDS.card(name) == card


def test_that_a_whole_uuid_is_found_where_another_begins_with_it():
    machine = Machine((Card(0, "GPU-ab", "long"), Card(1, "GPU-a", "short")))

    assert machine.card("GPU-a") == machine.cards[1]


def test_that_a_card_asleep_is_not_found_by_no_uuid():
    assert Machine((Card(0, "", "asleep", asleep=True),)).card("") is None


def test_that_what_the_driver_keeps_is_neither_usable_nor_free():
    card = Card(0, "GPU-1", "card", total_mib=1000, used_mib=300, reserved_mib=100)

    assert (card.usable_mib, card.free_mib) == (900, 600)


def test_that_memory_that_is_not_known_stays_unknown():
    assert Card(0, "GPU-1", "card").usable_mib is None
    assert Card(0, "GPU-1", "card", total_mib=1000).free_mib is None
