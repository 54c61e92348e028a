"""The whole machine asked, with a driver of our own."""

from __future__ import annotations

import os

import pynvml
import pytest
from fake_nvml import FakeCard, FakeNvml, installed
from pci_folders import listed_device

from gpu_studio.hardware.probe import probe

FAR = FakeCard("GPU-far", bus_id=b"00000000:C1:00.0", total=24_576)
NEAR = FakeCard("GPU-near", bus_id=b"00000000:2D:00.0")


@pytest.fixture(autouse=True)
def _no_cards_hidden(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def no_devices(tmp_path):
    """A kernel that lists no PCI device, as on WSL2."""
    return tmp_path


def test_that_cards_are_numbered_in_the_order_of_the_bus_and_not_of_nvml(no_devices):
    with installed(FakeNvml([FAR, NEAR])):
        answer = probe(no_devices)

    assert [(card["index"], card["uuid"]) for card in answer["cards"]] == [
        (0, "GPU-near"),
        (1, "GPU-far"),
    ]
    assert answer["why_no_cards"] == ""


@pytest.mark.parametrize("place", [0, 1, 2])
def test_that_a_lost_card_without_an_address_keeps_the_number_that_the_driver_gives_it(
    no_devices, place
):
    lost = FakeCard(
        "GPU-lost", errors={"nvmlDeviceGetHandleByIndex_v2": pynvml.NVML_ERROR_GPU_IS_LOST}
    )
    listed = [NEAR, FAR]
    listed.insert(place, lost)
    with installed(FakeNvml(listed)):
        cards = probe(no_devices)["cards"]

    wanted = ["" if each is lost else each.uuid for each in listed]
    assert [card["uuid"] for card in cards] == wanted
    assert cards[place]["why_unknown"] == "lost: the driver no longer answers for it"


def test_that_a_lost_card_keeps_its_place_where_the_kernel_lists_it(tmp_path):
    lost = FakeCard(
        "GPU-lost", errors={"nvmlDeviceGetHandleByIndex_v2": pynvml.NVML_ERROR_GPU_IS_LOST}
    )
    for bus_id in ("0000:01:00.0", "0000:2d:00.0", "0000:c1:00.0"):
        listed_device(tmp_path, bus_id)
    with installed(FakeNvml([NEAR, lost, FAR])):
        cards = probe(tmp_path)["cards"]

    assert [(card["uuid"], card["bus_id"]) for card in cards] == [
        ("", "0000:01:00.0"), ("GPU-near", "0000:2d:00.0"), ("GPU-far", "0000:c1:00.0"),
    ]  # fmt: skip
    assert [card.get("lost", False) for card in cards] == [True, False, False]


def test_that_the_host_is_told_too(no_devices):
    with installed(FakeNvml([])):
        answer = probe(no_devices)

    assert answer["cpu_cores"] == len(os.sched_getaffinity(0))
    assert answer["memory_mib"] > 0
    assert isinstance(answer["cpu_name"], str)


def test_that_a_driver_without_cards_says_so(no_devices):
    with installed(FakeNvml([])):
        answer = probe(no_devices)

    assert answer["cards"] == []
    assert answer["why_no_cards"] == "the NVIDIA driver finds no card in this machine"


def test_that_a_driver_that_does_not_start_says_why(no_devices):
    with installed(FakeNvml([NEAR], {"nvmlInitWithFlags": pynvml.NVML_ERROR_DRIVER_NOT_LOADED})):
        answer = probe(no_devices)

    assert answer["cards"] == []
    assert answer["why_no_cards"] == "the NVIDIA driver is installed but not loaded"


def test_that_hidden_cards_are_left_out_with_the_reason(no_devices, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with installed(FakeNvml([FAR, NEAR])):
        answer = probe(no_devices)

    assert answer["cards"] == []
    assert (
        answer["why_no_cards"]
        == 'CUDA_VISIBLE_DEVICES="" hides all 2 cards of this machine from CUDA'
    )


def test_that_cards_are_numbered_as_the_variable_orders_them(no_devices, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,GPU-near")
    with installed(FakeNvml([FAR, NEAR])):
        cards = probe(no_devices)["cards"]

    assert [(card["index"], card["uuid"]) for card in cards] == [(0, "GPU-far"), (1, "GPU-near")]


def test_that_a_card_asleep_is_listed_and_not_asked(tmp_path):
    listed_device(tmp_path, "0000:2d:00.0", status="suspended")
    listed_device(tmp_path, "0000:c1:00.0")
    with installed(FakeNvml([FAR, NEAR])) as library:
        cards = probe(tmp_path)["cards"]

    assert library.asked == ["0000:c1:00.0"]
    assert cards[0] == {
        "index": 0,
        "uuid": "",
        "name": "NVIDIA card, asleep",
        "bus_id": "0000:2d:00.0",
        "asleep": True,
        "why_unknown": "asleep: it was not woken to ask",
    }
    assert cards[1]["uuid"] == "GPU-far"


def test_that_nvml_is_not_even_started_while_every_card_sleeps(tmp_path):
    listed_device(tmp_path, "0000:2d:00.0", status="suspended")
    with installed(FakeNvml([NEAR], {"nvmlInitWithFlags": pynvml.NVML_ERROR_UNKNOWN})):
        answer = probe(tmp_path)

    assert [card["asleep"] for card in answer["cards"]] == [True]
    assert answer["why_no_cards"] == ""


def test_that_cards_asleep_are_listed_also_if_the_driver_does_not_answer(tmp_path):
    listed_device(tmp_path, "0000:2d:00.0", status="suspended")
    listed_device(tmp_path, "0000:c1:00.0")
    with installed(FakeNvml([FAR], {"nvmlInitWithFlags": pynvml.NVML_ERROR_UNKNOWN})):
        cards = probe(tmp_path)["cards"]

    assert [card["bus_id"] for card in cards] == ["0000:2d:00.0"]
