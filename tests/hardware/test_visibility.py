"""What CUDA_VISIBLE_DEVICES leaves of the cards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.identity import left_visible, why_hidden

CARDS = [{"uuid": "GPU-aa11"}, {"uuid": "GPU-aa22"}, {"uuid": "GPU-bb33"}, {"uuid": ""}]


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (None, [0, 1, 2, 3]),
        ("0,1,2,3", [0, 1, 2, 3]),
        ("2,0", [2, 0]),
        (" 2 , 0 ", [2, 0]),
        ("GPU-bb", [2]),
        ("GPU-bb33,0", [2, 0]),
        ("3", [3]),
        ("", []),
        ("-1", []),
        ("0,-1,1", [0]),
        ("0,7,1", [0]),
        ("GPU-aa", []),
        ("0,0", []),
        ("0,GPU-aa11", []),
        ("NoDevFiles", []),
        ("MIG-GPU-bb33/1/0", []),
        ("9" * 40, []),
        ("²", []),
    ],
)
def test_that_cards_are_left_as_cuda_leaves_them(value, left):
    assert left_visible(CARDS, value) == [CARDS[index] for index in left]


@given(st.text(max_size=30))
def test_that_whatever_the_variable_says_the_cards_left_are_some_of_those_there(value):
    left = left_visible(CARDS, value)

    assert all(card in CARDS for card in left)
    assert len({card["uuid"] for card in left}) == len(left)


def test_that_hidden_cards_are_counted():
    assert (
        why_hidden(CARDS, "")
        == 'CUDA_VISIBLE_DEVICES="" hides all 4 cards of this machine from CUDA'
    )
    assert (
        why_hidden(CARDS[:1], "-1")
        == 'CUDA_VISIBLE_DEVICES="-1" hides the card of this machine from CUDA'
    )
