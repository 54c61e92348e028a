"""Desktop notifications.

They use the notification service, else a tray icon, else nothing.
"""

from __future__ import annotations

import sys
from html import escape

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon

from gpu_studio.ui.window.desktop.session_bus import BUS, SessionBus
from gpu_studio.ui.window.desktop.wire import ERROR, RETURN, SIGNAL, Message, Writer

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
