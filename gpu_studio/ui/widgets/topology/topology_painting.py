"""The strokes and words of a topology's drawing. A way is told by its word and by its line, never by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gpu_studio.hardware.topology import Path, Topology
from gpu_studio.ui.models.devices.topology_picture import Band, Bracket, Rail, TopologyPicture
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.topology.topology_layout import NODE, TopologyLayout

STYLES: Final[Mapping[Path, tuple[float, ...]]] = {
    "PIX": (),
    "PXB": (10, 3),
    "PHB": (5, 3),
    "NODE": (8, 3, 2, 3),
    "SYS": (2, 3),
    "?": (1, 5),
}
"""The dashes of each way over PCIe, in pen widths; the farther, the more broken."""
_RAIL = 2.5
_CENTRE = Qt.AlignmentFlag.AlignCenter
_ROOM = 4.0


class TopologyPainting:
    """Paints with `painter`, once."""

    def __init__(self, painter: QPainter, layout: TopologyLayout, picture: TopologyPicture, tokens: Tokens) -> None:
        self._painter, self._layout, self._picture, self._tokens = painter, layout, picture, tokens
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(font("caption"))

    def paint(self, topology: Topology, places: Sequence[int]) -> None:
        """Paint the ground, then the lines, then the cards and words over them."""
        for band in self._picture.bands:
            self._paint_band(band)
        for bracket in self._picture.brackets:
            self._paint_bracket(bracket)
        for rail in self._picture.rails:
            self._paint_rail(rail)
        for column, place in enumerate(self._picture.order):
            self._paint_card(column, topology.nodes[place].name, places[place])

    def _paint_band(self, band: Band) -> None:
        room, tokens = self._layout.band(band), self._tokens
        self._painter.setPen(QPen(QColor(tokens.line), 1))
        self._painter.setBrush(QColor(tokens.raised))
        self._painter.drawRoundedRect(room, 6, 6)
        numa = "NUMA node not known" if band.numa is None else f"NUMA node {band.numa}"
        cpus = f" · CPUs {band.cpus}" if band.cpus else ""
        short = "NUMA ?" if band.numa is None else f"NUMA {band.numa}"
        below = QRectF(room.left(), self._layout.captions_top, room.width(), room.bottom() - self._layout.captions_top)
        self._write(below, (numa + cpus, numa, short, short[5:]), tokens.muted)

    def _paint_bracket(self, bracket: Bracket) -> None:
        y, layout = self._layout.level_line(bracket.path), self._layout
        self._painter.setPen(self._pen(self._tokens.muted, 1.5, STYLES[bracket.path]))
        first, last = layout.x(bracket.parts[0]), layout.x(bracket.parts[-1])
        self._painter.drawLine(QLineF(first, y, last, y))
        # A foot is too short for dashes: those of the bracket tell the way.
        self._painter.setPen(self._pen(self._tokens.muted, 1.5, ()))
        for part, below in zip(bracket.parts, bracket.below, strict=True):
            foot = layout.nodes_top if below is None else layout.level_line(below) - 16
            self._painter.drawLine(QLineF(layout.x(part), y, layout.x(part), foot))
        width = layout.pitch * len(bracket.members)
        room = QRectF(layout.x(bracket.middle) - width / 2, y - 17, width, 15)
        words = (f"{bracket.path} · no peer access", bracket.path) if bracket.peer is False else (bracket.path,)
        self._write(room, words, self._tokens.text)

    def _paint_rail(self, rail: Rail) -> None:
        y, layout = self._layout.lane_line(rail), self._layout
        self._painter.setPen(self._pen(self._tokens.accent, _RAIL, ()))
        first, last = layout.x(rail.columns[0]), layout.x(rail.columns[-1])
        self._painter.drawLine(QLineF(first, y, last, y))
        for column in rail.columns:
            self._painter.drawLine(QLineF(layout.x(column), layout.nodes_top + NODE, layout.x(column), y))
        version = f" {rail.version}" if rail.version else ""
        words = (f"NVLink{version} ×{rail.nvlinks}", f"NV{rail.nvlinks}", str(rail.nvlinks))
        room = QRectF(first + _ROOM, y - 8, last - first - 2 * _ROOM, 16)
        self._write(room, words, self._tokens.text, self._tokens.raised)

    def _paint_card(self, column: int, name: str, place: int) -> None:
        box, tokens = self._layout.node(column), self._tokens
        self._painter.setPen(QPen(QColor(tokens.device_colour(place)), 2))
        self._painter.setBrush(QColor(tokens.surface))
        self._painter.drawRoundedRect(box, 5, 5)
        self._painter.setFont(font("strong"))
        self._write(box, (name, name.removeprefix("GPU")), tokens.text)
        self._painter.setFont(font("caption"))

    def _write(self, room: QRectF, words: Sequence[str], colour: str, ground: str = "") -> None:
        """Write the longest of the words that fits; the shortest is written in any case."""
        metrics = self._painter.fontMetrics()
        fits = (text for text in words if metrics.horizontalAdvance(text) + _ROOM <= room.width())
        text = next(fits, words[-1])
        if ground:
            width = metrics.horizontalAdvance(text) + 2 * _ROOM
            self._painter.fillRect(
                QRectF(room.center().x() - width / 2, room.top(), width, room.height()), QColor(ground)
            )
        self._painter.setPen(QColor(colour))
        # The shortest word may be wider than its room: it stands over both edges alike.
        self._painter.drawText(room.adjusted(-20, 0, 20, 0), _CENTRE, text)

    def _pen(self, colour: str, width: float, dash: tuple[float, ...]) -> QPen:
        pen = QPen(QColor(mix(colour, self._tokens.surface, 0.9)), width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dash:
            pen.setDashPattern(dash)
        return pen
