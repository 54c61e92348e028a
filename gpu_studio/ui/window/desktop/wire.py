"""D-Bus messages as bytes, as far as notifications need them.

See the D-Bus Specification 0.43, "Message Protocol". PySide's QtDBus cannot send an unsigned
number, which the call that shows a notification begins with. Another program's connection would not
do either, because desktops remove a notification when its sender leaves the bus.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
_PATH, _INTERFACE, _MEMBER, _REPLY_SERIAL, _DESTINATION, _SIGNATURE = 1, 2, 3, 5, 6, 8
_FIXED = 16
LONGEST = 1 << 24
"""Bytes of the longest message that is read; the specification allows eight times as many."""


class WireError(ValueError):
    """Bytes that are no message of D-Bus."""


class Writer:
    """Values one after another, each at a multiple of its own size, little-endian."""

    def __init__(self) -> None:
        self.data = bytearray()

    def align(self, size: int) -> Writer:
        """Fill up to a multiple of `size`."""
        self.data += bytes(-len(self.data) % size)
        return self

    def unsigned(self, value: int) -> Writer:
        """A `u`."""
        self.align(4).data += struct.pack("<I", value)
        return self

    def signed(self, value: int) -> Writer:
        """An `i`."""
        self.align(4).data += struct.pack("<i", value)
        return self

    def text(self, value: str) -> Writer:
        """An `s`, or an `o`; what D-Bus refuses in one is replaced."""
        raw = value.replace("\0", " ").encode("utf-8", "replace")
        self.unsigned(len(raw)).data += raw + b"\0"
        return self

    def signature(self, value: str) -> Writer:
        """A `g`."""
        self.data += bytes([len(value)]) + value.encode() + b"\0"
        return self

    def texts(self, values: Sequence[str]) -> Writer:
        """An `as`."""
        place = self._begin(4)
        for value in values:
            self.text(value)
        return self._end(place, 4)

    def hints(self, values: Mapping[str, str]) -> Writer:
        """An `a{sv}` whose values are all `s`."""
        place = self._begin(8)
        for name, value in values.items():
            self.align(8).text(name).signature("s").text(value)
        return self._end(place, 8)

    def field(self, code: int, kind: str, value: str) -> Writer:
        """A field of a header: a `(yv)`."""
        self.align(8).data.append(code)
        self.signature(kind)
        return self.signature(value) if kind == "g" else self.text(value)

    def _begin(self, size: int) -> int:
        place = len(self.unsigned(0).data) - 4
        self.align(size)
        return place

    def _end(self, place: int, size: int) -> Writer:
        begun = place + 4 + -(place + 4) % size
        struct.pack_into("<I", self.data, place, len(self.data) - begun)
        return self


def call(
    serial: int, target: tuple[str, str, str], member: str, signature: str = "", body: bytes = b""
) -> bytes:
    """A call of `member` at `target`: the service, the path of the object, the interface."""
    service, path, interface = target
    fields = Writer().field(_PATH, "o", path).field(_DESTINATION, "s", service)
    fields.field(_INTERFACE, "s", interface).field(_MEMBER, "s", member)
    if signature:
        fields.field(_SIGNATURE, "g", signature)
    head = struct.pack("<cBBBIII", b"l", CALL, 0, 1, len(body), serial, len(fields.data))
    return head + bytes(fields.align(8).data) + body


@dataclass(frozen=True, slots=True)
class Message:
    """One that came.

    What kind it is, to which call it is the answer, its name, and its values with their types.
    """

    kind: int
    reply_to: int
    interface: str
    member: str
    values: tuple[int | str, ...]


def length_of(data: bytes) -> int | None:
    """How long the message is that `data` begins with; None where that cannot be told yet.

    Raises WireError.
    """
    if len(data) < _FIXED:
        return None
    order = _order(data)
    (body,) = struct.unpack_from(f"{order}I", data, 4)
    (fields,) = struct.unpack_from(f"{order}I", data, 12)
    length: int = _FIXED + fields + -fields % 8 + body
    if length > LONGEST:
        raise WireError(f"a message of {length} bytes")
    return length


def decode(data: bytes) -> Message:
    """Read one whole message.

    Values after the first that is neither a number nor a text are left out.

    Raises WireError.
    """
    try:
        return _decode(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise WireError(str(error)) from error


def _decode(data: bytes) -> Message:
    order = _order(data)
    (length,) = struct.unpack_from(f"{order}I", data, 12)
    reader, end = _Reader(data, order, _FIXED), _FIXED + length
    fields: dict[int, int | str] = {}
    while reader.place < end:
        reader.align(8)
        code = reader.byte()
        fields[code] = reader.value(reader.signature())
    reader.align(8)
    signature = str(fields.get(_SIGNATURE, ""))
    known = signature[
        : next(
            (place for place, kind in enumerate(signature) if kind not in "uiso"), len(signature)
        )
    ]
    values = tuple(reader.value(kind) for kind in known)
    reply = fields.get(_REPLY_SERIAL, 0)
    interface, member = (str(fields.get(code, "")) for code in (_INTERFACE, _MEMBER))
    return Message(data[1], reply if isinstance(reply, int) else 0, interface, member, values)


def _order(data: bytes) -> str:
    orders = {b"l": "<", b"B": ">"}
    if data[:1] not in orders:
        raise WireError(f"a message that begins with {data[:1]!r}")
    return orders[data[:1]]


class _Reader:
    def __init__(self, data: bytes, order: str, place: int) -> None:
        self.data, self.order, self.place = data, order, place

    def align(self, size: int) -> None:
        self.place += -self.place % size

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def signature(self) -> str:
        return self._take(self.byte() + 1)[:-1].decode("ascii", "replace")

    def value(self, kind: str) -> int | str:
        if kind == "g":
            return self.signature()
        if kind not in ("u", "i", "s", "o"):
            raise WireError(f"a value of the type {kind!r}")
        self.align(4)
        (number,) = struct.unpack(f"{self.order}{'i' if kind == 'i' else 'I'}", self._take(4))
        value: int = number
        return value if kind in ("u", "i") else self._take(value + 1)[:-1].decode()

    def _take(self, size: int) -> bytes:
        taken = self.data[self.place : self.place + size]
        if len(taken) != size:
            raise WireError("a message that is cut")
        self.place += size
        return taken
