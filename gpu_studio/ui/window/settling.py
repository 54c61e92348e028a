"""Work that the first painted window need not wait for.

It is done once the machine has answered, or takes too long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer

from gpu_studio.ui.machine.inventory import Inventory

SETTLE_MS: Final = 40
LONGEST_UNSETTLED_MS: Final = 1500


class Settling(QObject):
    """Does one thing once, soon after `begin`."""

    def __init__(self, inventory: Inventory, action: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._inventory = inventory
        self._begun = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(action)

    @property
    def done(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._begun and not self._timer.isActive()

    def begin(self) -> None:
        """Wait from now on; asked for again nothing is done."""
        if not self._begun:
            self._begun = True
            self._timer.start(LONGEST_UNSETTLED_MS)
            self._inventory.changed.connect(self._soon)
            self._soon()

    def close(self) -> None:
        """Leave it, if it is not done yet."""
        self._timer.stop()

    def _soon(self) -> None:
        if self._timer.isActive() and not self._inventory.looking:
            self._timer.start(SETTLE_MS)
