"""A card as a bar to scale with one current slice: its display, and its text for screen readers."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFocusEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QWidget

from gpu_studio.common.figures import whole_mib
from gpu_studio.plan.rules.device_rules import LEAST_MIB
from gpu_studio.plan.starter import STEP_MIB
from gpu_studio.ui.kit import ThemeManager
from gpu_studio.ui.plan.carving.slice_bar import (
    HEIGHT,
    RADIUS,
    SlicePainter,
    areas,
    draw_pill,
    spoken,
)
from gpu_studio.ui.plan.carving.strips import Segment, Strip, Track, overflow_of, segments_of

GRASP = 6.0
"""So many pixels beside an end, it is still taken hold of."""
SNAP = 5.0
"""So many pixels from an equal share, the end goes there."""


class Handles:
    """Converts between the MiB of a track and the pixels of a frame."""

    def __init__(self, theme: ThemeManager) -> None:
        self._theme = theme

    def x_of(self, frame: QRectF, track: Track, at: int) -> float:
        """The x coordinate of `at` MiB from the start of the bar."""
        return frame.left() + frame.width() * at / track.length

    def end_at(self, frame: QRectF, track: Track, x: float) -> int | None:
        """The slice whose end is at `x`; the last of several; None if there is none."""
        near = [
            (abs(self.x_of(frame, track, end) - x), -index)
            for index, end in enumerate(track.movable_ends)
        ]
        distance, index = min(near, default=(GRASP + 1, 0))
        return -index if distance <= GRASP else None

    def slice_at(self, frame: QRectF, track: Track, x: float) -> int:
        """The slice at `x`, or the nearest one."""
        ends = [self.x_of(frame, track, end) for end in track.ends]
        return next((index for index, end in enumerate(ends) if x < end), len(ends) - 1)

    def dragged(self, frame: QRectF, before: Track, index: int, x: float, *, free: bool) -> Track:
        """The track with the end of a slice dragged to `x`; `free` turns off snapping."""
        per_pixel = before.length / max(1.0, frame.width())
        size = round((x - frame.left()) * per_pixel) - before.start(index)
        return before.with_end(
            index, size if free else snapped(before, index, size, SNAP * per_pixel)
        )

    def draw(
        self, painter: QPainter, frame: QRectF, track: Track, current: int | None, *, reported: bool
    ) -> None:
        """Draw a grip at each end, the focus, the `current` end, and its sizes if `reported`."""
        tokens = self._theme.tokens
        for index, end in enumerate(track.movable_ends):
            self._draw_grip(painter, frame, self.x_of(frame, track, end), strong=index == current)
        if current is None:
            return
        painter.setPen(QPen(QColor(tokens.accent), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if reported and track.sizes:
            at = self.x_of(frame, track, track.ends[current])
            draw_pill(painter, frame, at, sizes_at(track, current), tokens)

    def _draw_grip(self, painter: QPainter, frame: QRectF, at: float, *, strong: bool) -> None:
        tokens = self._theme.tokens
        height = frame.height() - 8 if strong else min(14.0, frame.height() - 12)
        width = 3.0
        left = max(frame.left() + 1, min(at - 0.75 - width / 2, frame.right() - width - 1))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent if strong else tokens.muted))
        painter.drawRoundedRect(
            QRectF(left, frame.center().y() - height / 2, width, height), 1.5, 1.5
        )


def sizes_at(track: Track, index: int) -> str:
    """The exact sizes on both sides of a slice's end."""
    sizes = track.sizes[index : index + 2]
    return " | ".join(map(whole_mib, sizes))


COARSE_MIB = 1024


def snapped(track: Track, index: int, size: int, reach: float) -> int:
    """Return the size of a slice whose end is dragged to where it would have `size` MiB.

    An equal share within `reach` MiB wins; then a whole GiB within half of that; else the size is a
    multiple of 256 MiB.
    """
    near = min(_marks(track, index), key=lambda mark: abs(mark - size), default=None)
    if near is not None and abs(near - size) <= reach:
        return near
    whole = max(COARSE_MIB, _rounded(size, COARSE_MIB))
    return whole if abs(whole - size) <= reach / 2 else max(STEP_MIB, _rounded(size, STEP_MIB))


def _marks(track: Track, index: int) -> Iterator[int]:
    """The sizes that the user may well want: that of a neighbour, or all that is free."""
    sizes = track.cut.sizes
    if index > 0:
        yield sizes[index - 1]
    if index + 1 < len(sizes):
        yield (sizes[index] + sizes[index + 1]) // 2
        return
    spare = track.capacity - sum(sizes[:index])
    yield from (mark for mark in (spare, spare - track.beside) if mark > 0)


def _rounded(size: int, grid: int) -> int:
    return round(size / grid) * grid


HELP = (
    "Drag the end of a slice (Shift: without snapping, Esc: as it was). [ and ]: another slice. "
    "← and →: 64 MiB, with Ctrl 1 MiB, Page Up and Page Down: 1 GiB. "
    "S: split, Delete: merge with the next."
)


class TrackView(QAbstractSlider):
    """One slice is `current`; the slider's value is its size in MiB, for screen readers.

    `selected(int)` reports the current slice; a `marked` bar shows it also without the focus.
    `reported` means that the exact sizes at the end of the current slice are shown.
    """

    selected = Signal(int)

    def __init__(
        self,
        theme: ThemeManager,
        parent: QWidget | None = None,
        *,
        height: int = HEIGHT,
        marked: bool = False,
    ) -> None:
        super().__init__(parent)
        self._painter = SlicePainter(theme)
        self._height = height
        self._marked = marked
        self._segments: tuple[Segment, ...] = ()
        self.handles = Handles(theme)
        self.track: Track | None = None
        self.current = 0
        self.reported = False
        self.setWhatsThis(HELP)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        theme.changed.connect(self.update)

    @property
    def frame(self) -> QRectF:
        """Where the bar is drawn."""
        return QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)

    def show_strip(self, strip: Strip) -> None:
        """Show the device."""
        self._show(strip.track, strip.segments)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if strip.track else Qt.FocusPolicy.NoFocus)

    def show_track(self, track: Track) -> None:
        """Show the card as it is being changed."""
        self._show(track, segments_of(track))

    def select(self, index: int) -> None:
        """Make a slice the current one."""
        if self.track is None or not 0 <= index < len(self.track.cut.sizes):
            return
        self.reported = False
        changed, self.current = index != self.current, index
        self._read_out(announced=changed)
        self.update()
        if changed:
            self.selected.emit(index)

    def point_at(self, x: float) -> None:
        """Describe what is at `x`; the pointer's shape shows whether it can be dragged."""
        if self.track is not None:
            end = self.handles.end_at(self.frame, self.track, x)
            self.setCursor(
                Qt.CursorShape.ArrowCursor if end is None else Qt.CursorShape.SplitHCursor
            )
        places = zip(areas(self.frame, self._segments), self._segments, strict=True)
        under = (each for capacity, each in places if capacity.left() <= x < capacity.right())
        said = next((f"{each.title} {each.caption}".strip() for each in under), "")
        self.setToolTip(f"{said}\n{HELP}" if self.track else said)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as possible."""
        return QSize(120, self._height)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for some slices."""
        return QSize(80, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the slices and their ends, and the size of one that is being moved."""
        del event
        painter, track, focused = QPainter(self), self.track, self.hasFocus()
        chosen = track.place(self.current) if track and (focused or self._marked) else None
        self._painter.draw(
            painter, self.frame, self._segments, overflow_of(track) if track else None, chosen
        )
        if track is not None:
            self.handles.draw(
                painter,
                self.frame,
                track,
                self.current if focused else None,
                reported=self.reported,
            )

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the page."""
        event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show which slice is current."""
        super().focusInEvent(event)
        self.selected.emit(self.current)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Hide the sizes that the last key showed."""
        super().focusOutEvent(event)
        self.reported = False
        self.update()

    def _show(self, track: Track | None, segments: tuple[Segment, ...]) -> None:
        self.track = track
        self._segments = segments
        self.setAccessibleDescription(spoken(segments))
        self.current = min(self.current, len(track.cut.sizes) - 1) if track else 0
        self._read_out()
        self.update()

    def _read_out(self, *, announced: bool = False) -> None:
        """Set the slider's value to the current slice's size: Qt passes it to screen readers."""
        if self.track is None:
            return
        size = self.track.cut.sizes[self.current]
        most = max(
            size, self.track.with_end(self.current, self.track.length).cut.sizes[self.current]
        )
        if self.hasFocus() and (announced or size != self.value()):
            QAccessible.updateAccessibility(
                QAccessibleAnnouncementEvent(self, self.track.sized(self.current))
            )
        self.blockSignals(True)
        self.setRange(min(LEAST_MIB, size), most)
        self.setValue(size)
        self.blockSignals(False)
