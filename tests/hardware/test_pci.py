"""NVIDIA cards as the kernel lists them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pci_folders import listed_device

from gpu_studio.hardware.host import PciCard, bus_order, pci_cards, plain_bus_id


def test_that_cards_are_listed_in_the_order_of_their_addresses(tmp_path):
    for bus_id in ("0001:01:00.0", "0000:c1:00.0", "0000:2d:00.0"):
        listed_device(tmp_path, bus_id)

    assert [card.bus_id for card in pci_cards(tmp_path)] == [
        "0000:2d:00.0",
        "0000:c1:00.0",
        "0001:01:00.0",
    ]


@pytest.mark.parametrize(
    ("status", "asleep"), [("suspended", True), ("active", False), ("unsupported", False)]
)
def test_that_a_suspended_card_is_asleep(tmp_path, status, asleep):
    listed_device(tmp_path, "0000:01:00.0", status=status)

    assert pci_cards(tmp_path) == [PciCard("0000:01:00.0", asleep)]


@pytest.mark.parametrize(
    ("vendor", "kind", "is_card"),
    [
        ("0x10de", "0x030000", True),
        ("0x10de", "0x030200", True),
        ("0x10de", "0x040300", False),
        ("0x1002", "0x030000", False),
    ],
)
def test_that_only_nvidia_s_displays_are_cards(tmp_path, vendor, kind, is_card):
    listed_device(tmp_path, "0000:01:00.0", vendor=vendor, kind=kind)

    assert len(pci_cards(tmp_path)) == is_card


def test_that_a_device_that_vanishes_while_it_is_read_is_no_card(tmp_path):
    (tmp_path / "0000:01:00.0").mkdir()

    assert pci_cards(tmp_path) == []


def test_that_a_machine_that_lists_nothing_has_no_card():
    assert pci_cards(Path("/nowhere")) == []


@pytest.mark.parametrize(
    ("told", "plain"),
    [
        ("00000000:2D:00.0", "0000:2d:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("0000:2d:00.0", "0000:2d:00.0"),
        ("odd", "odd"),
    ],
)
def test_that_addresses_are_written_as_the_kernel_writes_them(told, plain):
    assert plain_bus_id(told) == plain


@given(st.integers(0, 2**32 - 1), st.integers(0, 255), st.integers(0, 31))
def test_that_both_spellings_of_an_address_are_sorted_alike(domain, bus, device):
    address = f"{domain:08X}:{bus:02X}:{device:02X}.0"

    assert (
        bus_order(plain_bus_id(address)) == bus_order(address) == (False, [domain, bus, device, 0])
    )


def test_that_what_is_no_address_comes_last():
    assert sorted(["", "ffff:ff:1f.7"], key=bus_order) == ["ffff:ff:1f.7", ""]
