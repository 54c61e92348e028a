"""The machine's present state, for everything that checks a plan against it.

The Devices page and the Plan page share it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gpu_studio.plan import Machine
from gpu_studio.ui.machine.inventory import Inventory

if TYPE_CHECKING:
    from gpu_studio.ui.machine.sampler import SamplerClient

VIEWER = "plan"
CLASSES = ("fast", "processes")
"""What a plan is held against: who has how much of which card."""


class LiveMachine(QObject):
    """What the inventory found, with the figures that the sampler sees.

    `changed` fires when the machine is asked, and when a plan could fare otherwise than before. It
    looks only while somebody `watch`es, and at cards only: of the CPU a plan needs nothing that
    changes.
    """

    changed = Signal()

    def __init__(
        self, inventory: Inventory, sampler: SamplerClient, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._inventory = inventory
        self._sampler = sampler
        self._watched = False
        self._looking = False
        self.machine: Machine | None = inventory.machine
        inventory.changed.connect(self._take)
        sampler.changed.connect(self._follow)

    @property
    def error(self) -> str:
        """Why the machine could not be asked; empty if it could."""
        return self._inventory.error

    def watch(self, on: bool) -> None:
        """Go on looking at the cards, or no longer."""
        self._watched = on
        self._look()
        self._follow()

    def _look(self) -> None:
        wanted = self._watched and self.machine is not None and bool(self.machine.cards)
        if wanted == self._looking:
            return
        self._looking = wanted
        if wanted:
            self._sampler.look(CLASSES, VIEWER)
        else:
            self._sampler.rest(VIEWER)

    def _take(self) -> None:
        """The machine was asked anew, or the asking begins."""
        if not self._inventory.looking:
            self.machine = self._now()
            self._look()
        self.changed.emit()

    def _follow(self) -> None:
        from gpu_studio.hardware.machine_now import is_news

        # While nobody looks at the plan, others may look at the cards: that is for when it is
        # looked at again.
        now = self._now() if self._looking else None
        if now is not None and self.machine is not None and is_news(self.machine, now):
            self.machine = now
            self.changed.emit()

    def _now(self) -> Machine | None:
        from gpu_studio.hardware.machine_now import machine_now
        from gpu_studio.hardware.who import me

        machine = self._inventory.machine
        # What nobody looks at is older than what the inventory told.
        fresh = self._sampler.watched
        return (
            machine_now(machine, self._sampler.picture, me())
            if machine is not None and fresh
            else machine
        )
