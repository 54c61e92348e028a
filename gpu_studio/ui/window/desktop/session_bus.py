"""A non-blocking connection to the session's D-Bus.

What is sent before it is established waits for it.
"""

from __future__ import annotations

import os
from urllib.parse import unquote

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalSocket

from gpu_studio.ui.window.desktop import wire

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
        message = wire.call(self._serial, target, member, signature, body)
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
                and (length := wire.length_of(self._read)) is not None
                and len(self._read) >= length
            ):
                message, self._read = wire.decode(self._read[:length]), self._read[length:]
                self.received.emit(message)
        except wire.WireError:
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
