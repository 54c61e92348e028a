"""What a half of the Lab page is to the page: its entries in the list, and a view of one of them.

The page knows its sections by this alone, and no section knows another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.kit import GAP, CardFrame


@dataclass(frozen=True, slots=True)
class LabEntry:
    """A line of the list.

    The `key` tells it from all others of its section, and stays when its words change. `figure` is
    the one number that sums it up, `state` a short line below the title. One that is `running` has
    a mark; a `muted` figure says that there is none, a `bad` one that it cannot be read.
    """

    key: str
    title: str
    figure: str = ""
    state: str = ""
    running: bool = False
    tone: Literal["plain", "muted", "bad"] = "plain"


class LabSection(QObject):
    """A half of the page, to be subclassed.

    `changed` fires when its entries are others, `wanted` with the key of one that shall be shown,
    as after it was made, and `line_changed` when the line beside the page's heading is another.
    """

    changed = Signal()
    wanted = Signal(str)
    line_changed = Signal()

    name = ""
    """Tells it from the other sections, for what the page remembers."""
    heading = ""
    """Stands over its entries: `Studies · is it worth it for my plan?`"""
    nothing = ""
    """Stands there while it has none."""

    @property
    def entries(self) -> Sequence[LabEntry]:
        """Its lines of the list, from the first."""
        raise NotImplementedError

    @property
    def view(self) -> QWidget:
        """What stands beside the list while one of its entries is chosen; always the same."""
        raise NotImplementedError

    @property
    def buttons(self) -> Sequence[QWidget]:
        """The buttons in the page's header while one of its entries is chosen."""
        return ()

    @property
    def lasting_buttons(self) -> Sequence[QWidget]:
        """The buttons in the page's header at all times, such as the one that makes an entry."""
        return ()

    @property
    def caption(self) -> str:
        """What stands beside the page's heading while one of its entries is chosen."""
        return ""

    def show_entry(self, key: str) -> None:
        """Let the view show this entry."""
        raise NotImplementedError

    def watch(self) -> None:
        """Keep up to date: the page is seen."""

    def rest(self) -> None:
        """Read nothing more: the page is hidden."""

    def close_parts(self) -> None:
        """Let go of what is watched, and leave no thread behind."""


_SIDE, _NARROW_SIDE, _ROOMY = 262, 236, 850


class LabView(QWidget):
    """The usual view of a section: a `middle` column, and a card at its right, `side`."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.middle = QVBoxLayout()
        self.middle.setSpacing(GAP)
        self.side = CardFrame(title)
        self.side.setFixedWidth(_SIDE)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        row.addLayout(self.middle, 1)
        row.addWidget(self.side)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the middle more of a small window."""
        super().resizeEvent(event)
        self.side.setFixedWidth(_SIDE if self.width() >= _ROOMY else _NARROW_SIDE)
