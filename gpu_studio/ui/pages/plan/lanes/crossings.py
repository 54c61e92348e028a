"""What crosses from device to device in a step, edge by edge, the largest first."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.lanes.forecast import Forecast
from gpu_studio.ui.models.plan.lanes.words import edge_in_words
from gpu_studio.ui.pages.plan.lines import Lines
from gpu_studio.ui.units import number
from gpu_studio.ui.widgets.labels import Label

MOST = 8


class Crossings(QWidget):
    """Takes no room where nothing crosses."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines = Lines()
        self._rest = Label("", "caption")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(Label("CROSSES DEVICES", "section"))
        column.addWidget(self.lines)
        column.addWidget(self._rest)

    def show_step(self, found: Forecast | None) -> None:
        """Show what crosses."""
        edges = sorted(found.crossing, key=lambda edge: -edge.bytes) if found else []
        self.setVisible(bool(edges))
        self.lines.set_lines([edge_in_words(edge) for edge in edges[:MOST]])
        self._rest.setText(f"and {number(len(edges) - MOST)} smaller ones" if len(edges) > MOST else "")
        self._rest.setVisible(len(edges) > MOST)
