"""How the cards are joined, as a drawing: brackets for the ways over PCIe, rails for NVLinks, bands for NUMA nodes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpu_studio.hardware.topology import Topology
from gpu_studio.ui.models.devices.topology_picture import TopologyPicture, links_of, picture_of, sentences
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.topology.topology_layout import TopologyLayout
from gpu_studio.ui.widgets.topology.topology_painting import TopologyPainting

_WIDTH = 240


class TopologyDrawing(QWidget):
    """Painted once for a topology, a theme and a size, and kept as a pixmap; `renders` counts how often.

    Every link stands in the accessible description, and a card's own in its tooltip.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._topology = Topology()
        self._picture = TopologyPicture()
        self._places: tuple[int, ...] = ()
        self._pixmap: QPixmap | None = None
        self.renders = 0
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._forget)
        self._tell()

    @property
    def topology(self) -> Topology:
        """What is drawn."""
        return self._topology

    def show_topology(self, topology: Topology, places: Sequence[int] = ()) -> None:
        """Draw this. `places` are the cards' places in the window, which give them their colours; else their own."""
        wanted = tuple(places) or tuple(range(len(topology.nodes)))
        if (topology, wanted) != (self._topology, self._places):
            self._topology, self._places = topology, wanted
            self._picture = picture_of(topology)
            self._tell()
            self._forget()
            self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as its rows are."""
        return QSize(_WIDTH, self._layout().height)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The same height, in any width."""
        return QSize(_WIDTH // 2, self._layout().height)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Show the pixmap; draw it if it is not of this size."""
        del event
        ratio = self.devicePixelRatioF()
        if self._pixmap is None or self._pixmap.size() != self.size() * ratio:
            self._pixmap = self._rendered(ratio)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._pixmap)
        if self.hasFocus():
            painter.setPen(self._theme.tokens.accent)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def event(self, event: QEvent) -> bool:
        """Tell the links of the card under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            column = self._layout().column_at(event.pos().x())
            words = links_of(self._topology, self._picture.order[column]) if column is not None else ()
            QToolTip.showText(event.globalPos(), "\n".join(words), self)
            return True
        return super().event(event)

    def _layout(self) -> TopologyLayout:
        return TopologyLayout(self._picture, self.width())

    def _rendered(self, ratio: float) -> QPixmap:
        self.renders += 1
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        TopologyPainting(painter, self._layout(), self._picture, self._theme.tokens).paint(self._topology, self._places)
        painter.end()
        return pixmap

    def _forget(self) -> None:
        self._pixmap = None
        self.update()

    def _tell(self) -> None:
        count = len(self._topology.nodes)
        self.setAccessibleName(f"How {count} cards are joined" if count != 1 else "One card, joined to no other")
        self.setAccessibleDescription(" ".join(sentences(self._topology)))
