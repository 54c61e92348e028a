"""A physical device as a bar to scale, divided into its logical devices."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.plan.carving.slice_paint import SlicePainter, fitting, spoken
from gpu_studio.ui.plan.carving.track import Segment

__all__ = ["HEIGHT", "SliceBar", "fitting"]

HEIGHT = 44


class SliceBar(QWidget):
    """The segments side by side, to scale.

    The bar is read-only; its accessible text describes it.
    """

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, height: int = HEIGHT
    ) -> None:
        super().__init__(parent)
        self._painter = SlicePainter(theme)
        self._height = height
        self._segments: tuple[Segment, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_segments(self, segments: Sequence[Segment]) -> None:
        """Show these segments."""
        self._segments = tuple(segments)
        self.setAccessibleDescription(spoken(self._segments))
        self.setToolTip(spoken(self._segments))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as may be."""
        return QSize(120, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the segments, and the frame around them."""
        del event
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        self._painter.draw(QPainter(self), frame, self._segments)
