"""Which card a GPU of TensorFlow's is, from what CUDA tells of the ordinal in its name."""

from __future__ import annotations

from gpu_studio.trainer.cuda_driver import NO_CARD, CardIdentity, identities, identity

CARDS = [
    {"ordinal": 0, "uuid": "GPU-b", "bus_id": "0000:2D:00.0", "name": "NVIDIA L4"},
    {"ordinal": 2, "uuid": "GPU-a", "bus_id": "0000:0A:00.0", "name": "NVIDIA H100"},
    {"ordinal": 3},
]
PART = "MIG-0a1b2c3d-0000-4000-8000-0123456789ab"


def test_that_the_card_is_found_by_the_number_in_the_name_and_not_by_its_place() -> None:
    found = identity("/physical_device:GPU:2", "NVIDIA H100", CARDS, None)
    assert found == CardIdentity("GPU-a", "0000:0a:00.0")
    assert identity("/physical_device:GPU:1", "NVIDIA H100", CARDS, None) == NO_CARD


def test_that_what_cuda_does_not_tell_is_not_known() -> None:
    assert identity("/physical_device:GPU:3", "NVIDIA L4", CARDS, None) == NO_CARD
    assert (
        identity("/physical_device:GPU:0", "", [{"ordinal": 0, "uuid": "", "bus_id": ""}], None)
        == NO_CARD
    )


def test_that_nothing_is_told_where_the_two_call_the_card_differently() -> None:
    assert identity("/physical_device:GPU:0", "NVIDIA H100", CARDS, None) == NO_CARD


def test_that_a_part_of_a_card_goes_by_its_own_uuid_and_not_by_the_cards() -> None:
    assert identity("/physical_device:GPU:0", "NVIDIA L4", CARDS, PART).uuid == PART
    assert identity("/physical_device:GPU:0", "NVIDIA L4", CARDS, "MIG-0a1b").uuid == "GPU-b"
    assert identity("/physical_device:GPU:0", "NVIDIA L4", CARDS, "GPU-b,GPU-a").uuid == "GPU-b"


def test_that_cuda_is_not_asked_where_there_is_no_card() -> None:
    assert identities({}) == {}
