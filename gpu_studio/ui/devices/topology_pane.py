"""How the cards are connected: a drawing, advice, and the matrix of `nvidia-smi topo -m`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QPlainTextEdit,
    QScrollArea,
    QSizePolicy,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.hardware.topology import Path, Topology, as_text
from gpu_studio.ui.devices.topology_picture import (
    NODE,
    Band,
    Bracket,
    LinkRail,
    TopologyLayout,
    TopologyPicture,
    links_of,
    picture_of,
    sentences,
)
from gpu_studio.ui.kit import GRID, Paragraph, ThemeManager, Tokens, font, mix
from gpu_studio.ui.machine.checkup import Checkup

_WIDTH = 240


class TopologyDrawing(QWidget):
    """Painted once for a topology, a theme and a size, and kept as a pixmap.

    `renders` counts how often.

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
        """Draw this.

        `places` are the cards' places in the window, which give them their colours; else their own.
        """
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
            words = (
                links_of(self._topology, self._picture.order[column]) if column is not None else ()
            )
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
        TopologyPainting(painter, self._layout(), self._picture, self._theme.tokens).paint(
            self._topology, self._places
        )
        painter.end()
        return pixmap

    def _forget(self) -> None:
        self._pixmap = None
        self.update()

    def _tell(self) -> None:
        count = len(self._topology.nodes)
        self.setAccessibleName(
            f"How {count} cards are joined" if count != 1 else "One card, joined to no other"
        )
        self.setAccessibleDescription(" ".join(sentences(self._topology)))


STYLES: Final[Mapping[Path, tuple[float, ...]]] = {
    "PIX": (),
    "PXB": (10, 3),
    "PHB": (5, 3),
    "NODE": (8, 3, 2, 3),
    "SYS": (2, 3),
    "?": (1, 5),
}
"""The dashes of each path over PCIe, in pen widths; the farther, the more broken."""
_RAIL = 2.5
_CENTRE = Qt.AlignmentFlag.AlignCenter
_PADDING = 4.0


class TopologyPainting:
    """Paints with `painter`, once."""

    def __init__(
        self, painter: QPainter, layout: TopologyLayout, picture: TopologyPicture, tokens: Tokens
    ) -> None:
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
        area, tokens = self._layout.band(band), self._tokens
        self._painter.setPen(QPen(QColor(tokens.line), 1))
        self._painter.setBrush(QColor(tokens.raised))
        self._painter.drawRoundedRect(area, 6, 6)
        numa = "NUMA node not known" if band.numa is None else f"NUMA node {band.numa}"
        cpus = f" · CPUs {band.cpus}" if band.cpus else ""
        short = "NUMA ?" if band.numa is None else f"NUMA {band.numa}"
        below = QRectF(
            area.left(),
            self._layout.captions_top,
            area.width(),
            area.bottom() - self._layout.captions_top,
        )
        self._write(below, (numa + cpus, numa, short, short[5:]), tokens.muted)

    def _paint_bracket(self, bracket: Bracket) -> None:
        y, layout = self._layout.level_line(bracket.path), self._layout
        self._painter.setPen(self._pen(self._tokens.muted, 1.5, STYLES[bracket.path]))
        first, last = layout.x(bracket.parts[0]), layout.x(bracket.parts[-1])
        self._painter.drawLine(QLineF(first, y, last, y))
        # A foot is too short for dashes: those of the bracket show the path.
        self._painter.setPen(self._pen(self._tokens.muted, 1.5, ()))
        for part, below in zip(bracket.parts, bracket.below, strict=True):
            foot = layout.nodes_top if below is None else layout.level_line(below) - 16
            self._painter.drawLine(QLineF(layout.x(part), y, layout.x(part), foot))
        width = layout.pitch * len(bracket.members)
        area = QRectF(layout.x(bracket.middle) - width / 2, y - 17, width, 15)
        words = (
            (f"{bracket.path} · no peer access", bracket.path)
            if bracket.peer is False
            else (bracket.path,)
        )
        self._write(area, words, self._tokens.text)

    def _paint_rail(self, rail: LinkRail) -> None:
        y, layout = self._layout.lane_line(rail), self._layout
        self._painter.setPen(self._pen(self._tokens.accent, _RAIL, ()))
        first, last = layout.x(rail.columns[0]), layout.x(rail.columns[-1])
        self._painter.drawLine(QLineF(first, y, last, y))
        for column in rail.columns:
            self._painter.drawLine(
                QLineF(layout.x(column), layout.nodes_top + NODE, layout.x(column), y)
            )
        version = f" {rail.version}" if rail.version else ""
        words = (f"NVLink{version} ×{rail.nvlinks}", f"NV{rail.nvlinks}", str(rail.nvlinks))
        area = QRectF(first + _PADDING, y - 8, last - first - 2 * _PADDING, 16)
        self._write(area, words, self._tokens.text, self._tokens.raised)

    def _paint_card(self, column: int, name: str, place: int) -> None:
        box, tokens = self._layout.node(column), self._tokens
        self._painter.setPen(QPen(QColor(tokens.device_colour(place)), 2))
        self._painter.setBrush(QColor(tokens.surface))
        self._painter.drawRoundedRect(box, 5, 5)
        self._painter.setFont(font("strong"))
        self._write(box, (name, name.removeprefix("GPU")), tokens.text)
        self._painter.setFont(font("caption"))

    def _write(self, area: QRectF, words: Sequence[str], colour: str, ground: str = "") -> None:
        """Write the longest of the words that fits; the shortest is written in any case."""
        metrics = self._painter.fontMetrics()
        fits = (
            text for text in words if metrics.horizontalAdvance(text) + _PADDING <= area.width()
        )
        text = next(fits, words[-1])
        if ground:
            width = metrics.horizontalAdvance(text) + 2 * _PADDING
            self._painter.fillRect(
                QRectF(area.center().x() - width / 2, area.top(), width, area.height()),
                QColor(ground),
            )
        self._painter.setPen(QColor(colour))
        # The shortest word may be wider than its place: it stands over both edges alike.
        self._painter.drawText(area.adjusted(-20, 0, 20, 0), _CENTRE, text)

    def _pen(self, colour: str, width: float, dash: tuple[float, ...]) -> QPen:
        pen = QPen(QColor(mix(colour, self._tokens.surface, 0.9)), width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dash:
            pen.setDashPattern(dash)
        return pen


NO_CARD = "There is no card to be joined to another."
_FRAME = 8


class TopologyPane(QScrollArea):
    """The drawing first, then the advice, then the matrix; what does not fit is scrolled to."""

    def __init__(
        self, theme: ThemeManager, checkup: Checkup, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._checkup = checkup
        self._keys: tuple[tuple[str, str], ...] = ()
        self.drawing = TopologyDrawing(theme)
        self.advice = Paragraph("", "muted")
        self.matrix = _matrix()
        inside = QWidget()
        inside.setObjectName("plain")
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, GRID // 2, 0, 0)
        column.setSpacing(GRID)
        for widget in (self.drawing, self.advice, self.matrix):
            column.addWidget(widget)
        column.addStretch(1)
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("How the cards are joined")
        checkup.changed.connect(self._follow)
        self._follow()

    def show_cards(self, picture: MachinePicture) -> None:
        """Draw each card in the colour that it has in the window."""
        keys = tuple((card.facts.uuid, card.facts.bus_id) for card in picture.cards.values())
        if keys != self._keys:
            self._keys = keys
            self._follow()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Give the matrix the height that its lines need."""
        super().resizeEvent(event)
        self._fit_matrix()

    def _follow(self) -> None:
        diagnosis = self._checkup.diagnosis
        topology = diagnosis.topology if diagnosis else Topology()
        self.drawing.show_topology(topology, self._places(topology))
        self.drawing.setVisible(bool(topology.nodes))
        text = as_text(topology)
        if text != self.matrix.toPlainText():
            self.matrix.setPlainText(text)
        self.matrix.setVisible(bool(text))
        self._fit_matrix()
        if diagnosis is None:
            self.advice.setText(self._checkup.error or self._checkup.waiting_for)
        else:
            self.advice.setText(
                "\n".join(diagnosis.advice.words if diagnosis.advice else (NO_CARD,))
            )

    def _places(self, topology: Topology) -> tuple[int, ...]:
        """Each card's place in the window, by its UUID or PCI address.

        Its own where the window does not know it.
        """
        by_name = {name: place for place, names in enumerate(self._keys) for name in names if name}
        nodes = enumerate(topology.nodes)
        return tuple(by_name.get(node.uuid, by_name.get(node.bus_id, own)) for own, node in nodes)

    def _fit_matrix(self) -> None:
        metrics = self.matrix.fontMetrics()
        lines = self.matrix.document().blockCount()
        widest = max(
            map(metrics.horizontalAdvance, self.matrix.toPlainText().splitlines()), default=0
        )
        bar = (
            self.matrix.horizontalScrollBar().sizeHint().height()
            if widest > self.viewport().width() - _FRAME
            else 0
        )
        self.matrix.setFixedHeight(lines * metrics.lineSpacing() + 3 * _FRAME + bar)


def _matrix() -> QPlainTextEdit:
    matrix = QPlainTextEdit()
    matrix.setReadOnly(True)
    matrix.setTabChangesFocus(True)
    matrix.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    matrix.setFont(font("mono_caption"))
    matrix.setAccessibleName("How the cards are joined, as a matrix")
    return matrix
