"""Whether code that was built for some capabilities runs on a card of another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.doctor.card_checks import fit

WHEEL = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")
TOOLKIT = (12, 5, 1)


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ((3, 5), "too_old"),
        ((5, 2), "too_old"),
        ((6, 0), "native"),
        ((6, 1), "native"),
        ((7, 5), "native"),
        ((8, 6), "native"),
        ((8, 9), "native"),
        ((9, 0), "native"),
        ((10, 0), "too_new"),
        ((12, 0), "too_new"),
    ],
)
def test_that_the_wheel_of_tensorflow_2_21_runs_on_just_these_cards(card, expected):
    assert fit(card, WHEEL, TOOLKIT) == expected


def test_that_a_later_toolkit_knows_later_cards():
    assert fit((12, 0), (*WHEEL, "compute_120"), (12, 8)) == "native"
    assert fit((12, 1), (*WHEEL, "compute_120"), (12, 9)) == "native"
    assert fit((12, 0), WHEEL, (12, 8)) == "compiled"


def test_that_ptx_is_told_with_machine_code_and_is_compiled_for_later_cards_only():
    assert fit((9, 0), ("compute_90",), TOOLKIT) == "native"
    assert fit((8, 0), ("compute_70",), TOOLKIT) == "compiled"
    assert fit((8, 9), ("compute_90",), TOOLKIT) == "too_old"


def test_that_machine_code_of_one_major_version_does_not_run_on_the_next():
    assert fit((9, 0), ("sm_80",), TOOLKIT) == "too_new"


def test_that_letters_behind_a_number_are_read_over_and_nonsense_is_unknown():
    assert fit((9, 0), ("sm_90a",), TOOLKIT) == "native"
    assert fit((9, 0), ("", "gfx90a", "sm_x", "sm_9"), TOOLKIT) == "unknown"


CARDS = st.tuples(st.integers(3, 13), st.integers(0, 9))


@given(CARDS, CARDS)
def test_that_code_for_a_card_itself_always_runs_and_more_code_never_hurts(card, other):
    own = f"sm_{card[0]}{card[1]}"

    assert fit(card, (own,), TOOLKIT) == "native"
    assert fit(card, (own, f"sm_{other[0]}{other[1]}"), TOOLKIT) == "native"
