"""A card as a bar to scale whose slices are made larger and smaller by dragging and by keys."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.models.plan import carve_steps
from gpu_studio.ui.models.plan.edits.carving import Carved
from gpu_studio.ui.models.plan.strips import Strip
from gpu_studio.ui.models.plan.track import Track
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.carving.carve_keys import step_of
from gpu_studio.ui.widgets.carving.carve_menu import carve_menu
from gpu_studio.ui.widgets.carving.slice_bar import HEIGHT
from gpu_studio.ui.widgets.carving.track_view import TrackView


class CarveBar(TrackView):
    """`carved(Carved)` is what a person wants; of a drag, which is only shown while it lasts, once when it ends."""

    carved = Signal(object)

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, *, height: int = HEIGHT, marked: bool = False
    ) -> None:
        super().__init__(theme, parent, height=height, marked=marked)
        self._before: Track | None = None
        self._grip = 0.0
        self.valueChanged.connect(self._ask)

    def show_strip(self, strip: Strip) -> None:
        """Show the device. A drag of a carve that has changed meanwhile ends."""
        if self._before is None or strip.track != self._before:
            self._before = None
            super().show_strip(strip)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Take hold of the end of a slice, or make the slice under the pointer the current one."""
        if self.track is None or event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        x = event.position().x()
        end = self.handles.end_at(self.frame, self.track, x)
        if end is None:
            self.select(self.handles.slice_at(self.frame, self.track, x))
            return
        self.select(end)
        self.told = True
        self._before = self.track
        self._grip = x - self.handles.x_of(self.frame, self.track, self.track.ends[end])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Drag the end that is held; without one, say what is under the pointer."""
        x = event.position().x()
        if self._before is None:
            self.point_at(x)
            return
        free = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.show_track(self.handles.dragged(self.frame, self._before, self.current, x - self._grip, free=free))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Let go: what was dragged is wanted now."""
        before, after = self._before, self.track
        if before is None or after is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self._end_drag()
        if after.cut != before.cut:
            self.carved.emit(carve_steps.dragged(before, after, self.current))
        if self.track is after:
            # Nothing came of it, and the bar shows what the plan says.
            self.show_track(before)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Change the current slice, take another for it, or give a drag up."""
        if event.key() == Qt.Key.Key_Escape and self._before is not None:
            before = self._before
            self._end_drag()
            self.show_track(before)
        elif self.track is None or self._before is not None or not self._key(event, self.track):
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Offer what can be done with the slice."""
        if self.track is None or self._before is not None:
            return
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.select(self.handles.slice_at(self.frame, self.track, event.pos().x()))
        carve_menu(self, self.track, self.current, self.carved.emit).popup(event.globalPos())

    def _end_drag(self) -> None:
        self._before = None
        self.told = False

    def _key(self, event: QKeyEvent, track: Track) -> bool:
        """Whether the key means something here."""
        if event.text() in ("[", "]"):
            self.select(self.current + (1 if event.text() == "]" else -1))
            return True
        wanted = step_of(event, track, self.current)
        if isinstance(wanted, Carved):
            self.told = wanted.cut.origins == track.cut.origins
            self.carved.emit(wanted)
        return wanted is not None

    def _ask(self, value: int) -> None:
        """A screen reader has set the value."""
        if self.track is not None:
            by = value - self.track.cut.sizes[self.current]
            self.carved.emit(carve_steps.nudged(self.track, self.current, by))
