"""A desktop's notification service on the session bus, by QtDBus: `python notification_service.py`.

Writes a line of JSON once it is ready, `{"ready": true}`, and one for each notification, with the
signature of the call and its values. A line `click ID` on its standard input clicks that
notification; it ends with its input.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from PySide6.QtCore import QCoreApplication, QSocketNotifier
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusVirtualObject

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Service(QDBusVirtualObject):
    """Takes every call of `Notify`; the one titled `refuse` it refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 40

    def introspect(self, path: str) -> str:
        """Nobody asks."""
        del path
        return ""

    def handleMessage(self, message: QDBusMessage, connection: QDBusConnection) -> bool:
        """Tell what was asked for, and give the notification a number."""
        values = message.arguments()
        tell(
            member=message.member(),
            signature=message.signature(),
            values=[plain(value) for value in values],
        )
        if values[3] == "refuse":
            connection.send(message.createErrorReply("org.example.Refused", "no"))
            return True
        self.count += 1
        reply = message.createReply()
        reply.setArguments([self.count])
        connection.send(reply)
        return True


def plain(value: Any) -> Any:
    """A value for JSON; a dictionary of D-Bus as how it is typed."""
    return value if isinstance(value, (str, int, list)) else value.currentSignature()


def click(connection: QDBusConnection, number: int) -> None:
    """Tell everybody that the notification was clicked."""
    signal = QDBusMessage.createSignal(PATH, NAME, "ActionInvoked")
    signal.setArguments([number, "default"])
    connection.send(signal)


def tell(**facts: Any) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Serve until the input ends."""
    application = QCoreApplication(sys.argv)
    connection, service = QDBusConnection.sessionBus(), Service()
    connection.registerVirtualObject(PATH, service)
    connection.registerService(NAME)

    def read() -> None:
        words = sys.stdin.readline().split()
        if words:
            click(connection, int(words[1]))
        else:
            application.quit()

    notifier = QSocketNotifier(0, QSocketNotifier.Type.Read)
    notifier.activated.connect(read)
    tell(ready=True)
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
