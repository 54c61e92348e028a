"""What CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER do, in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.identity import Identity, Variables, effect

CARDS = (
    Identity("GPU-aa", "0000:01:00.0", "H100"),
    Identity("GPU-bb", "0000:02:00.0", "A100"),
    Identity("", "0000:03:00.0", "lost"),
)


def left(visible: str | None) -> list[str]:
    return [card.bus_id for card in effect(Variables(visible), CARDS).left]


def test_that_without_the_variable_every_card_is_left():
    found = effect(Variables(None, "PCI_BUS_ID"), CARDS)

    assert found.left == CARDS
    assert found.words[0] == "CUDA_VISIBLE_DEVICES is not set: programs see every card."
    assert found.mistake == ""


def test_that_the_cards_left_are_told_by_their_new_numbers():
    found = effect(Variables("GPU-bb,0"), CARDS)

    assert found.words[0] == (
        'CUDA_VISIBLE_DEVICES="GPU-bb,0": CUDA device 0 is A100 at 0000:02:00.0, '
        "CUDA device 1 is H100 at 0000:01:00.0; 1 of 3 is hidden."
    )


@pytest.mark.parametrize("value", ["", "-1", " -1 "])
def test_that_hiding_every_card_on_purpose_is_no_mistake(value):
    found = effect(Variables(value), CARDS)

    assert (found.left, found.mistake) == ((), "")
    assert "hides every card" in found.words[0]


@pytest.mark.parametrize(
    ("value", "remains", "mistake"),
    [
        ("0,7,1", ["0000:01:00.0"], '"7" names no card of this machine'),
        ("0,0", [], '"0" names a card a second time'),
        ("1,GPU-bb", [], '"GPU-bb" names a card a second time'),
        ("0,,1", ["0000:01:00.0"], "an entry between commas is empty"),
        ("all", [], '"all" names no card'),
        ("9" * 500, [], f'"{"9" * 80}" names no card'),
    ],
)
def test_that_a_mistake_is_named_with_what_cuda_does_about_it(value, remains, mistake):
    assert left(value) == remains
    assert effect(Variables(value), CARDS).mistake.startswith(mistake)


def test_that_what_stands_behind_minus_one_is_no_mistake():
    assert left("0,-1,7") == ["0000:01:00.0"]
    assert effect(Variables("0,-1,7"), CARDS).mistake == ""


def test_that_a_part_of_a_card_is_left_to_cuda():
    found = effect(Variables("MIG-3f1a"), CARDS)

    assert (found.left, found.mistake, found.only_cuda_knows) == ((), "", True)
    assert "names a part of a card (MIG)" in found.words[0]


def test_that_the_order_is_told_where_there_is_more_than_one_card():
    assert "as nvidia-smi does" in effect(Variables(None, "PCI_BUS_ID"), CARDS).words[1]
    assert "is not set" in effect(Variables(None, None), CARDS).words[1]
    assert '"FASTEST_FIRST"' in effect(Variables(None, "FASTEST_FIRST"), CARDS).words[1]
    assert len(effect(Variables(None, None), CARDS[:1]).words) == 1
    assert effect(Variables("0"), ()).words == ()


@given(
    st.text(max_size=20)
    | st.lists(st.sampled_from(["0", "1", "-1", "GPU-a", "GPU-bb", ""])).map(",".join)
)
def test_that_whatever_the_variable_says_it_is_explained(value):
    found = effect(Variables(value), CARDS)

    assert found.words[0].startswith("CUDA_VISIBLE_DEVICES=")
    assert set(found.left) <= set(CARDS)
    assert all(word.endswith((".", "order.")) for word in found.words)
