"""Desktop notifications: by the notification service, else a tray icon, else nothing.

The service is called over the session's D-Bus without blocking. Messages are written and read
here as bytes, as far as notifications need them: see the D-Bus Specification 0.43, "Message
Protocol". PySide's QtDBus cannot send an unsigned number, which the call that shows a
notification begins with. Another program's connection would not do either, because desktops
remove a notification when its sender leaves the bus.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import unquote

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QSystemTrayIcon

SERVICE = (
    "org.freedesktop.Notifications",
    "/org/freedesktop/Notifications",
    "org.freedesktop.Notifications",
)
_MATCH = f"type='signal',interface='{SERVICE[2]}',member='ActionInvoked'"
_BY_DEFAULT = "default"
_USUAL_TIME = -1


class Notifier(QObject):
    """`activated(key)` says that a person clicked the notification that was shown with that key.

    `taken(key)` says that the desktop has it, `missed(key)` that there is nothing here that could
    show it.
    """

    activated = Signal(str)
    taken = Signal(str)
    missed = Signal(str)

    def __init__(self, icon: QIcon, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        self._bus: SessionBus | None = None
        self._no_service = not sys.platform.startswith("linux")
        self._sent: dict[int, tuple[str, str, str]] = {}
        self._shown: dict[int, str] = {}
        self._tray: QSystemTrayIcon | None = None
        self._in_tray = ""

    def show(self, title: str, text: str, key: str) -> None:
        """Show a notification."""
        if self._bus is None and not self._no_service:
            self._open()
        if self._bus is None:
            self._show_in_tray(title, text, key)
        else:
            self._sent[self._bus.call(SERVICE, "Notify", "susssasa{sv}i", _body(title, text))] = (
                title,
                text,
                key,
            )

    def close(self) -> None:
        """Leave the bus and the tray."""
        if self._bus is not None:
            self._bus.close()
        if self._tray is not None:
            self._tray.hide()

    def _open(self) -> None:
        self._bus = SessionBus(self)
        self._bus.received.connect(self._take)
        self._bus.lost.connect(self._lose)
        bus = self._bus
        bus.open()
        bus.call(BUS, "AddMatch", "s", bytes(Writer().text(_MATCH).data))

    def _take(self, message: Message) -> None:
        if (
            message.kind == SIGNAL
            and message.member == "ActionInvoked"
            and len(message.values) == 2
        ):
            key = (
                self._shown.get(int(message.values[0]))
                if isinstance(message.values[0], int)
                else None
            )
            if key is not None:
                self.activated.emit(key)
        elif message.kind in (RETURN, ERROR) and (sent := self._sent.pop(message.reply_to, None)):
            if message.kind == ERROR:
                self._show_in_tray(*sent)
            elif message.values and isinstance(message.values[0], int):
                self._shown[message.values[0]] = sent[2]
                self.taken.emit(sent[2])

    def _lose(self) -> None:
        """Without a bus, what was sent is shown in the tray.

        A later notification looks for the bus again.
        """
        unsent, self._sent, self._shown = list(self._sent.values()), {}, {}
        if self._bus is not None:
            self._bus.close()
            self._bus.deleteLater()
            self._bus = None
        for sent in unsent:
            self._show_in_tray(*sent)

    def _show_in_tray(self, title: str, text: str, key: str) -> None:
        if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
            self.missed.emit(key)
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._icon, self)
            self._tray.messageClicked.connect(lambda: self.activated.emit(self._in_tray))
            self._tray.activated.connect(lambda _: self.activated.emit(self._in_tray))
        self._in_tray = key
        self._tray.setToolTip(f"{title}: {text}")
        self._tray.show()
        self._tray.showMessage(title, text, self._icon)
        self.taken.emit(key)


def _body(title: str, text: str) -> bytes:
    # The text may be markup, the title may not.
    text = escape(text, quote=False)
    body = Writer().text("GPU Studio").unsigned(0).text("gpu-studio").text(title).text(text)
    return bytes(
        body.texts([_BY_DEFAULT, "Show"])
        .hints({"desktop-entry": "gpu-studio"})
        .signed(_USUAL_TIME)
        .data
    )


BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
ADDRESS = "DBUS_SESSION_BUS_ADDRESS"


class SessionBus(QObject):
    """`received(Message)` brings what comes.

    `lost` says once that there is no bus, or no longer.
    """

    received = Signal(object)
    lost = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._serial = 0
        self._waiting: list[bytes] = []
        self._begun = False
        self._over = False
        self._read = b""
        self._socket = QLocalSocket(self)
        self._socket.connected.connect(self._authenticate)
        self._socket.readyRead.connect(self._take)
        self._socket.errorOccurred.connect(lambda _: self._lose())
        self._socket.disconnected.connect(self._lose)

    def open(self) -> None:
        """Connect, and say who this is."""
        path, abstract = address_of(
            os.environ.get(ADDRESS, ""), os.environ.get("XDG_RUNTIME_DIR", "")
        )
        if abstract:
            self._socket.setSocketOptions(QLocalSocket.SocketOption.AbstractNamespaceOption)
        self.call(BUS, "Hello")
        if path:
            self._socket.connectToServer(path)
        else:
            self._lose()

    def call(
        self, target: tuple[str, str, str], member: str, signature: str = "", body: bytes = b""
    ) -> int:
        """Send a call; returns its number, which the answer names."""
        self._serial += 1
        message = call(self._serial, target, member, signature, body)
        if self._begun:
            self._socket.write(message)
        else:
            self._waiting.append(message)
        return self._serial

    def close(self) -> None:
        """Leave the bus."""
        self._over = True
        # A socket that is done away with tells of its end, when nobody is there any more to hear
        # it.
        self._socket.blockSignals(True)
        self._socket.abort()

    def _authenticate(self) -> None:
        self._socket.write(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")

    def _take(self) -> None:
        self._read += bytes(self._socket.readAll().data())
        if not self._begun and b"\r\n" in self._read:
            self._begin()
        try:
            while (
                self._begun
                and (length := length_of(self._read)) is not None
                and len(self._read) >= length
            ):
                message, self._read = decode(self._read[:length]), self._read[length:]
                self.received.emit(message)
        except WireError:
            self._socket.abort()
            self._lose()

    def _begin(self) -> None:
        answer, _, self._read = self._read.partition(b"\r\n")
        if not answer.startswith(b"OK"):
            self._lose()
            return
        self._begun = True
        self._socket.write(b"BEGIN\r\n" + b"".join(self._waiting))
        self._waiting.clear()

    def _lose(self) -> None:
        if not self._over:
            self._over = True
            self.lost.emit()


def address_of(addresses: str, runtime: str) -> tuple[str, bool]:
    """Where the bus listens, and whether that is a name and no file; ("", False) if there is none.

    `addresses` are as D-Bus writes them (`unix:path=/run/user/1000/bus,guid=…;…`); without any it
    is `runtime`/bus.
    """
    for address in filter(None, addresses.split(";")):
        kind, _, rest = address.partition(":")
        options = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
        if kind == "unix" and "path" in options:
            return unquote(options["path"]), False
        if kind == "unix" and "abstract" in options:
            return unquote(options["abstract"]), True
    standard = f"{runtime}/bus"
    there = not addresses and runtime and os.path.exists(standard)  # noqa: PTH110
    return (standard, False) if there else ("", False)


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
    """How long the message is that `data` begins with; None where that is not known yet.

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
