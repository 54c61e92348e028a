"""The ends of slices on a bar: where they are, which one the pointer is on, and how they are drawn."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gpu_studio.ui.models.plan.snapping import snapped
from gpu_studio.ui.models.plan.track import Track
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.units import number
from gpu_studio.ui.widgets.carving.slice_paint import RADIUS, draw_pill

GRASP = 6.0
"""So many pixels beside an end, it is still taken hold of."""
SNAP = 5.0
"""So many pixels from an equal share, the end goes there."""


class Handles:
    """Between the MiB of a track and the pixels of a frame."""

    def __init__(self, theme: ThemeManager) -> None:
        self._theme = theme

    def x_of(self, frame: QRectF, track: Track, at: int) -> float:
        """Where `at` MiB from the beginning of the bar lies."""
        return frame.left() + frame.width() * at / track.length

    def end_at(self, frame: QRectF, track: Track, x: float) -> int | None:
        """The slice whose end is at `x`; of several, the last; None if there is none."""
        near = [(abs(self.x_of(frame, track, end) - x), -index) for index, end in enumerate(track.movable_ends)]
        distance, index = min(near, default=(GRASP + 1, 0))
        return -index if distance <= GRASP else None

    def slice_at(self, frame: QRectF, track: Track, x: float) -> int:
        """The slice at `x`, or the one nearest to it."""
        ends = [self.x_of(frame, track, end) for end in track.ends]
        return next((index for index, end in enumerate(ends) if x < end), len(ends) - 1)

    def dragged(self, frame: QRectF, before: Track, index: int, x: float, *, free: bool) -> Track:
        """The track with the end of a slice dragged to `x`; `free` of snapping."""
        per_pixel = before.length / max(1.0, frame.width())
        size = round((x - frame.left()) * per_pixel) - before.start(index)
        return before.with_end(index, size if free else snapped(before, index, size, SNAP * per_pixel))

    def draw(self, painter: QPainter, frame: QRectF, track: Track, current: int | None, *, told: bool) -> None:
        """Draw a grip at each end, the focus around the bar and at the `current` slice's end, and what is `told`."""
        tokens = self._theme.tokens
        for index, end in enumerate(track.movable_ends):
            self._draw_grip(painter, frame, self.x_of(frame, track, end), strong=index == current)
        if current is None:
            return
        painter.setPen(QPen(QColor(tokens.accent), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if told and track.sizes:
            at = self.x_of(frame, track, track.ends[current])
            draw_pill(painter, frame, at, sizes_at(track, current), tokens)

    def _draw_grip(self, painter: QPainter, frame: QRectF, at: float, *, strong: bool) -> None:
        tokens = self._theme.tokens
        height = frame.height() - 8 if strong else min(14.0, frame.height() - 12)
        width = 3.0
        left = max(frame.left() + 1, min(at - 0.75 - width / 2, frame.right() - width - 1))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent if strong else tokens.muted))
        painter.drawRoundedRect(QRectF(left, frame.center().y() - height / 2, width, height), 1.5, 1.5)


def sizes_at(track: Track, index: int) -> str:
    """The exact sizes on both sides of the end of a slice."""
    sizes = track.sizes[index : index + 2]
    return f"{' | '.join(number(size) for size in sizes)} MiB"
