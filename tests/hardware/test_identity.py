"""Which card is which: joined by UUID and PCI address, whatever the order in which each counts."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.identity import Identity, Seen, find, join, same

UPPER, LOWER = "00000000:2D:00.0", "0000:2d:00.0"


def test_that_one_card_under_three_names_is_one_record():
    nvml, cuda = [Seen(1, "GPU-a", UPPER, "H100")], [Seen(0, "GPU-a", LOWER.upper())]

    assert join(nvml, cuda, [Seen(0, bus_id=LOWER)]) == (Identity("GPU-a", LOWER, "H100", 1, 0, 0),)


def test_that_cards_are_never_joined_by_their_position():
    records = join([Seen(0, "GPU-a", "0000:01:00.0")], [], [Seen(0, bus_id="0000:02:00.0")])

    assert [(one.nvml_index, one.tensorflow_index) for one in records] == [(0, None), (None, 0)]
    assert [one.tensorflow_name for one in records] == ["", "GPU:0"]


def test_that_cards_without_uuid_and_address_stay_apart():
    assert len(join([Seen(0)], [Seen(0)], [Seen(0)])) == 3


def test_that_two_devices_of_one_view_at_one_address_are_two_records():
    records = join([Seen(0, "GPU-a", LOWER)], [Seen(0, "", LOWER), Seen(1, "", LOWER)], [])

    assert [(one.nvml_index, one.cuda_ordinal) for one in records] == [(None, 1), (0, 0)]


def test_that_uuids_that_differ_are_not_overruled_by_an_address():
    assert not same(Seen(0, "GPU-a", LOWER), Seen(0, "GPU-b", LOWER))
    assert same(Seen(0, "GPU-a", LOWER), Seen(0, "", UPPER))


@st.composite
def machines(draw):
    """Cards by their number on the bus, and the order in which each of the three counts them."""
    count = draw(st.integers(0, 8))
    orders = [draw(st.permutations(range(count))) for _ in range(3)]
    return count, [order[: draw(st.integers(0, count))] for order in orders]


def address(card: int) -> str:
    return f"0000:{card + 1:02x}:00.0"


def views(orders):
    nvml, cuda, tensorflow = orders
    return (
        [
            Seen(index, f"GPU-{card}", f"0000{address(card).upper()}")
            for index, card in enumerate(nvml)
        ],
        [Seen(index, f"GPU-{card}", address(card)) for index, card in enumerate(cuda)],
        [Seen(index, "", address(card)) for index, card in enumerate(tensorflow)],
    )


@given(machines())
def test_that_whatever_the_orders_each_card_has_one_record_with_all_its_numbers(machine):
    _, (nvml, cuda, tensorflow) = machine
    records = join(*views(machine[1]))

    assert [one.bus_id for one in records] == sorted(map(address, {*nvml, *cuda, *tensorflow}))
    for one in records:
        card = int(one.bus_id[5:7], 16) - 1
        assert one.nvml_index == (nvml.index(card) if card in nvml else None)
        assert one.cuda_ordinal == (cuda.index(card) if card in cuda else None)
        assert one.tensorflow_index == (tensorflow.index(card) if card in tensorflow else None)


SEEN = st.builds(
    Seen,
    st.integers(0, 3),
    st.sampled_from(["", "GPU-a", "GPU-b"]),
    st.sampled_from(["", UPPER, LOWER, "0000:01:00.0"]),
)


@given(*[st.lists(SEEN, max_size=4, unique_by=lambda one: one.number)] * 3)
def test_that_no_card_is_lost_or_told_twice_even_if_the_three_contradict_each_other(
    nvml, cuda, tensorflow
):
    records = join(nvml, cuda, tensorflow)

    for view, cards in (
        ("nvml_index", nvml),
        ("cuda_ordinal", cuda),
        ("tensorflow_index", tensorflow),
    ):
        numbers = Counter(getattr(one, view) for one in records)
        del numbers[None]
        assert numbers == Counter(card.number for card in cards)


def test_that_a_record_is_found_by_any_of_its_names():
    records = join([Seen(0, "GPU-a", UPPER), Seen(1, "GPU-b")], [], [])

    assert find(records, Seen(9, bus_id=LOWER)) is find(records, Seen(9, "GPU-a"))
    assert find(records, Seen(9, "GPU-c")) is None
