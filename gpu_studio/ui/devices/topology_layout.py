"""The positions of the parts of a topology's drawing, in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF

from gpu_studio.hardware.topology import Path
from gpu_studio.ui.devices.topology_picture import Band, LinkRail, TopologyPicture

MARGIN = 4.0
LEVEL, LANE = 27.0, 24.0
NODE, BELOW_NODE = 26.0, 6.0
CAPTION = 20.0
_WIDEST, _SIDE = 104.0, 3.0


@dataclass(frozen=True, slots=True)
class TopologyLayout:
    """The rows of a drawing that is `width` pixels wide.

    Brackets on top, cards, rails, and the bands' captions.
    """

    picture: TopologyPicture
    width: int

    @property
    def pitch(self) -> float:
        """From one column to the next."""
        return min(_WIDEST, (self.width - 2 * MARGIN) / max(len(self.picture.order), 1))

    @property
    def left(self) -> float:
        """The left edge of the first column: the drawing stands in the middle."""
        return (self.width - self.pitch * len(self.picture.order)) / 2

    @property
    def nodes_top(self) -> float:
        """The upper edge of the cards."""
        return MARGIN + LEVEL * len(self.picture.levels) + (MARGIN if self.picture.levels else 0)

    @property
    def captions_top(self) -> float:
        """The upper edge of the bands' captions."""
        return self.nodes_top + NODE + BELOW_NODE + LANE * self.picture.lanes

    @property
    def height(self) -> int:
        """All of it; nothing without cards."""
        return round(self.captions_top + CAPTION + MARGIN) if self.picture.order else 0

    def x(self, column: float) -> float:
        """The middle of a column."""
        return self.left + (column + 0.5) * self.pitch

    def node(self, column: int) -> QRectF:
        """The box of a card."""
        return QRectF(
            self.x(column) - self.pitch / 2 + _SIDE, self.nodes_top, self.pitch - 2 * _SIDE, NODE
        )

    def band(self, band: Band) -> QRectF:
        """The ground on which the cards of a NUMA node stand."""
        left = self.x(band.first) - self.pitch / 2
        right = self.x(band.last) + self.pitch / 2
        top = self.nodes_top - MARGIN
        return QRectF(left + 1, top, right - left - 2, self.captions_top + CAPTION - top)

    def level_line(self, path: Path) -> float:
        """The height of the brackets of one kind; the nearest way is the lowest."""
        number = self.picture.levels.index(path)
        return self.nodes_top - MARGIN - LEVEL * number - 8

    def lane_line(self, rail: LinkRail) -> float:
        """The height of a rail."""
        return self.nodes_top + NODE + BELOW_NODE + LANE * rail.lane + LANE / 2

    def column_at(self, x: float) -> int | None:
        """The column under a pixel."""
        column = int((x - self.left) // self.pitch)
        return column if 0 <= column < len(self.picture.order) else None
