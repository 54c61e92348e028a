"""How the cards are joined: drawn, advised on, and as the matrix that `nvidia-smi topo -m` shows."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from gpu_studio.hardware.picture import Picture
from gpu_studio.hardware.topology import Topology, as_text
from gpu_studio.ui.models.devices.checkup import Checkup
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.topology.topology_drawing import TopologyDrawing

NO_CARD = "There is no card to be joined to another."
_FRAME = 8


class TopologyPane(QScrollArea):
    """The drawing first, then the advice, then the matrix; what has no room is scrolled to."""

    def __init__(self, theme: ThemeManager, checkup: Checkup, parent: QWidget | None = None) -> None:
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

    def show_cards(self, picture: Picture) -> None:
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
            self.advice.setText("\n".join(diagnosis.advice.words if diagnosis.advice else (NO_CARD,)))

    def _places(self, topology: Topology) -> tuple[int, ...]:
        """Each card's place in the window, by its UUID or PCI address; its own where the window does not know it."""
        by_name = {name: place for place, names in enumerate(self._keys) for name in names if name}
        nodes = enumerate(topology.nodes)
        return tuple(by_name.get(node.uuid, by_name.get(node.bus_id, own)) for own, node in nodes)

    def _fit_matrix(self) -> None:
        metrics = self.matrix.fontMetrics()
        lines = self.matrix.document().blockCount()
        widest = max(map(metrics.horizontalAdvance, self.matrix.toPlainText().splitlines()), default=0)
        bar = self.matrix.horizontalScrollBar().sizeHint().height() if widest > self.viewport().width() - _FRAME else 0
        self.matrix.setFixedHeight(lines * metrics.lineSpacing() + 3 * _FRAME + bar)


def _matrix() -> QPlainTextEdit:
    matrix = QPlainTextEdit()
    matrix.setReadOnly(True)
    matrix.setTabChangesFocus(True)
    matrix.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    matrix.setFont(font("mono_caption"))
    matrix.setAccessibleName("How the cards are joined, as a matrix")
    return matrix
