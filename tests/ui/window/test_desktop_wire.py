"""Messages of D-Bus as bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.ui.window.notifier import (
    CALL,
    LONGEST,
    Message,
    WireError,
    Writer,
    address_of,
    call,
    decode,
    length_of,
)

TARGET = ("org.example.Service", "/org/example", "org.example.Interface")
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@given(TEXTS, st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1))
def test_that_what_is_written_is_read_back(text: str, number: int, signed: int) -> None:
    body = Writer().unsigned(number).text(text).signed(signed).text(text).data
    data = call(7, TARGET, "Do", "usis", bytes(body))
    assert length_of(data) == len(data)
    assert decode(data) == Message(CALL, 0, TARGET[2], "Do", (number, text, signed, text))


@given(st.lists(TEXTS, max_size=5), st.dictionaries(TEXTS, TEXTS, max_size=4), st.integers(0, 9))
def test_that_lists_say_how_long_they_are_from_their_first_value_on(
    texts, hints, before: int
) -> None:
    writer = Writer()
    writer.data += bytes(before)
    writer.texts(texts)
    assert _ends_with(writer, before, 4)
    begun = len(writer.data)
    writer.hints(hints)
    assert _ends_with(writer, begun, 8)


def _ends_with(writer: Writer, before: int, size: int) -> bool:
    place = before + -before % 4
    (length,) = struct.unpack_from("<I", writer.data, place)
    begun = place + 4 + -(place + 4) % size
    return begun + length == len(writer.data)


def test_that_a_text_with_a_nul_is_sent_without_it() -> None:
    assert decode(call(1, TARGET, "Do", "s", bytes(Writer().text("a\0b").data))).values == ("a b",)


@given(st.binary(max_size=80))
def test_that_bytes_which_are_no_message_are_refused(data: bytes) -> None:
    try:
        length = length_of(data)
        assert length is None or length >= 16
        decode(data)
    except WireError:
        pass


@given(st.integers(0, 200))
def test_that_a_cut_message_is_refused_or_waited_for(at: int) -> None:
    data = call(7, TARGET, "Do", "s", bytes(Writer().text("words").data))
    cut = data[: min(at, len(data) - 1)]
    length = length_of(cut) if cut[:1] else None
    assert length in (None, len(data))
    with pytest.raises(WireError):
        decode(cut)


def test_that_a_message_of_the_other_byte_order_is_read() -> None:
    fields = b"\x03\x01s\0" + struct.pack(">I", 2) + b"Do\0" + bytes(5) + b"\x08\x01g\0\x01u\0"
    head = struct.pack(">cBBBIII", b"B", 4, 0, 1, 4, 9, len(fields))
    data = head + fields + bytes(-len(fields) % 8) + struct.pack(">I", 77)
    assert decode(data) == Message(4, 0, "", "Do", (77,))


def test_that_values_which_nobody_needs_are_left_out_and_too_long_a_message_refused() -> None:
    body = bytes(Writer().unsigned(3).texts(["x"]).data)
    assert decode(call(1, TARGET, "Do", "uas", body)).values == (3,)
    with pytest.raises(WireError):
        length_of(struct.pack("<cBBBIII", b"l", 1, 0, 1, LONGEST, 1, 0))


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        ("unix:path=/run/user/1000/bus", ("/run/user/1000/bus", False)),
        ("unix:path=/a%20b,guid=12", ("/a b", False)),
        ("tcp:host=x,port=1;unix:abstract=/tmp/dbus-x,guid=1", ("/tmp/dbus-x", True)),
        ("tcp:host=x", ("", False)),
        ("nonsense", ("", False)),
        ("", ("", False)),
    ],
)
def test_that_the_bus_is_found_where_the_session_says(
    addresses: str, found: tuple[str, bool]
) -> None:
    assert address_of(addresses, "/nowhere") == found


def test_that_without_an_address_the_bus_of_the_user_is_taken_if_there_is_one(tmp_path) -> None:
    (tmp_path / "bus").touch()
    assert address_of("", str(tmp_path)) == (str(tmp_path / "bus"), False)
    assert address_of("tcp:host=x", str(tmp_path)) == ("", False)
