"""A card as a bar to scale, of whose slices one is current: what is seen of it, and what a screen reader says."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QFocusEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QWidget

from gpu_studio.plan.rules.device_rules import LEAST_MIB
from gpu_studio.ui.models.plan.strips import Strip
from gpu_studio.ui.models.plan.track import Segment, Track, overflow_of, segments_of
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.carving.carve_handles import Handles
from gpu_studio.ui.widgets.carving.slice_bar import HEIGHT
from gpu_studio.ui.widgets.carving.slice_paint import SlicePainter, rooms, spoken

HELP = (
    "Drag the end of a slice (Shift: without snapping, Esc: as it was). [ and ]: another slice. ← and →: 64 MiB, with"
    " Ctrl 1 MiB, Page Up and Page Down: 1 GiB. S: split, Delete: merge with the next."
)


class TrackView(QAbstractSlider):
    """One slice is the `current` one; the slider's value is its size in MiB, which is how a screen reader reads it.

    `selected(int)` is the slice that is current now; a `marked` bar shows it also without the focus. `told` says that
    the sizes at the end of the current slice are shown exactly.
    """

    selected = Signal(int)

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, *, height: int = HEIGHT, marked: bool = False
    ) -> None:
        super().__init__(parent)
        self._painter = SlicePainter(theme)
        self._height = height
        self._marked = marked
        self._segments: tuple[Segment, ...] = ()
        self.handles = Handles(theme)
        self.track: Track | None = None
        self.current = 0
        self.told = False
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
        self.told = False
        changed, self.current = index != self.current, index
        self._read_out(announced=changed)
        self.update()
        if changed:
            self.selected.emit(index)

    def point_at(self, x: float) -> None:
        """Say what is at `x`, and show by the pointer whether it can be dragged."""
        if self.track is not None:
            end = self.handles.end_at(self.frame, self.track, x)
            self.setCursor(Qt.CursorShape.ArrowCursor if end is None else Qt.CursorShape.SplitHCursor)
        places = zip(rooms(self.frame, self._segments), self._segments, strict=True)
        under = (each for room, each in places if room.left() <= x < room.right())
        said = next((f"{each.title} {each.caption}".strip() for each in under), "")
        self.setToolTip(f"{said}\n{HELP}" if self.track else said)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as may be."""
        return QSize(120, self._height)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for some slices."""
        return QSize(80, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the slices, their ends, and while one is moved its size."""
        del event
        painter, track, focused = QPainter(self), self.track, self.hasFocus()
        chosen = track.place(self.current) if track and (focused or self._marked) else None
        self._painter.draw(painter, self.frame, self._segments, overflow_of(track) if track else None, chosen)
        if track is not None:
            self.handles.draw(painter, self.frame, track, self.current if focused else None, told=self.told)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the page."""
        event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show which slice is current."""
        super().focusInEvent(event)
        self.selected.emit(self.current)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Hide what was told of the last key."""
        super().focusOutEvent(event)
        self.told = False
        self.update()

    def _show(self, track: Track | None, segments: tuple[Segment, ...]) -> None:
        self.track = track
        self._segments = segments
        self.setAccessibleDescription(spoken(segments))
        self.current = min(self.current, len(track.cut.sizes) - 1) if track else 0
        self._read_out()
        self.update()

    def _read_out(self, *, announced: bool = False) -> None:
        """Make the slider's value that of the current slice. Qt tells screen readers of the value."""
        if self.track is None:
            return
        size = self.track.cut.sizes[self.current]
        most = max(size, self.track.with_end(self.current, self.track.length).cut.sizes[self.current])
        if self.hasFocus() and (announced or size != self.value()):
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.track.sized(self.current)))
        self.blockSignals(True)
        self.setRange(min(LEAST_MIB, size), most)
        self.setValue(size)
        self.blockSignals(False)
