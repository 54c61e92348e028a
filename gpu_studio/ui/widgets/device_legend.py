"""The legend of the devices' plots: where there is no room for the names, each card's number stays in sight."""

from __future__ import annotations

from PySide6.QtCore import QSize

from gpu_studio.ui.widgets.plots.legend import Legend

_MOST = 400


class DeviceLegend(Legend):
    """Asks for little room, because the words give way."""

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line; a little width is enough."""
        return QSize(min(super().sizeHint().width(), _MOST), super().sizeHint().height())

    def shown(self) -> list[str]:
        """The words that stand beside the pieces of line at this width."""
        return [place.words for place in self.places()]

    @property
    def fits(self) -> bool:
        """Whether every entry is in sight."""
        return len(self.places()) == len(self.entries)
