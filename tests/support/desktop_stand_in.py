"""A stand-in for the desktop, which opens files and folders."""

from __future__ import annotations

from PySide6.QtCore import QObject, QUrl, Slot


class Opener(QObject):
    """Remembers what it was asked to open."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        """Note the file."""
        self.asked.append(url.toLocalFile())
