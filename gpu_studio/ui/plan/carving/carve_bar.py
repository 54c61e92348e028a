"""A card as a bar to scale, whose slices are resized by dragging and by keys.

A menu has the other actions on a slice.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.plan.carving import Carved
from gpu_studio.ui.kit import ThemeManager
from gpu_studio.ui.plan.carving import carve_steps
from gpu_studio.ui.plan.carving.slice_bar import HEIGHT
from gpu_studio.ui.plan.carving.strips import Strip, Track
from gpu_studio.ui.plan.carving.track_view import TrackView

_STEPS = {
    Qt.Key.Key_Right: carve_steps.NUDGE_MIB,
    Qt.Key.Key_Left: -carve_steps.NUDGE_MIB,
    Qt.Key.Key_PageUp: carve_steps.COARSE_MIB,
    Qt.Key.Key_PageDown: -carve_steps.COARSE_MIB,
}
_CTRL = Qt.KeyboardModifier.ControlModifier
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


def step_of(event: QKeyEvent, track: Track, index: int) -> Carved | bool | None:
    """Return what the key requests for a slice.

    True means a request that cannot be met, None no request.
    """
    key, held = Qt.Key(event.key()), event.modifiers() & ~_KEYPAD
    if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and held == _CTRL:
        return _nudged(
            track, index, carve_steps.FINE_MIB if key == Qt.Key.Key_Right else -carve_steps.FINE_MIB
        )
    if held:
        return None
    if key in _STEPS:
        return _nudged(track, index, _STEPS[key])
    if key in (Qt.Key.Key_S, Qt.Key.Key_Insert):
        return bool(carve_steps.why_not_split(track, index)) or carve_steps.split(track, index)
    if key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
        return _merge_or_remove(track, index)
    return None


def _nudged(track: Track, index: int, by: int) -> Carved | bool:
    return bool(carve_steps.why_not_nudge(track, index, by)) or carve_steps.nudged(track, index, by)


def _merge_or_remove(track: Track, index: int) -> Carved | bool:
    if not carve_steps.why_not_merge(track, index):
        return carve_steps.merged(track, index)
    return bool(carve_steps.why_not_remove(track)) or carve_steps.removed(track, index)


class CarveBar(TrackView):
    """`carved(Carved)` is the carve that the user wants.

    A drag is only shown while it lasts, and reported once when it ends.
    """

    carved = Signal(object)

    def __init__(
        self,
        theme: ThemeManager,
        parent: QWidget | None = None,
        *,
        height: int = HEIGHT,
        marked: bool = False,
    ) -> None:
        super().__init__(theme, parent, height=height, marked=marked)
        self._before: Track | None = None
        self._newest: Strip | None = None
        self._grip = 0.0
        self.valueChanged.connect(self._ask)

    def show_strip(self, strip: Strip) -> None:
        """Show the device, once a drag is over; if its carve has changed meanwhile, that ends it.

        What other programs hold of the card changes all the time.
        """
        self._newest = strip
        if self._before is None or strip.track is None or strip.track.sizes != self._before.sizes:
            self._before = None
            super().show_strip(strip)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Grab the end of a slice, or make the slice under the pointer current."""
        if self.track is None or event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        x = event.position().x()
        end = self.handles.end_at(self.frame, self.track, x)
        if end is None:
            self.select(self.handles.slice_at(self.frame, self.track, x))
            return
        self.select(end)
        self.reported = True
        self._before = self.track
        self._grip = x - self.handles.x_of(self.frame, self.track, self.track.ends[end])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Drag the grabbed end; without one, describe what is under the pointer."""
        x = event.position().x()
        if self._before is None:
            self.point_at(x)
            return
        free = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.show_track(
            self.handles.dragged(self.frame, self._before, self.current, x - self._grip, free=free)
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Release the end and report the carve that was dragged."""
        before, after = self._before, self.track
        if before is None or after is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self._end_drag()
        if after.cut != before.cut:
            self.carved.emit(carve_steps.dragged(before, after, self.current))
        if self.track is after:
            # Nothing changed, so the bar shows the plan again.
            self._show_newest()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Change the current slice, select another one, or cancel a drag."""
        if event.key() == Qt.Key.Key_Escape and self._before is not None:
            self._end_drag()
            self._show_newest()
        elif self.track is None or self._before is not None or not self._key(event, self.track):
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Offer the actions on the slice."""
        if self.track is None or self._before is not None:
            return
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.select(self.handles.slice_at(self.frame, self.track, event.pos().x()))
        carve_menu(self, self.track, self.current, self.carved.emit).popup(event.globalPos())

    def _end_drag(self) -> None:
        self._before = None
        self.reported = False

    def _show_newest(self) -> None:
        if self._newest is not None:
            super().show_strip(self._newest)

    def _key(self, event: QKeyEvent, track: Track) -> bool:
        """Return whether the key has a meaning here."""
        if event.text() in ("[", "]"):
            self.select(self.current + (1 if event.text() == "]" else -1))
            return True
        wanted = step_of(event, track, self.current)
        if isinstance(wanted, Carved):
            self.reported = wanted.cut.origins == track.cut.origins
            self.carved.emit(wanted)
        return wanted is not None

    def _ask(self, value: int) -> None:
        """A screen reader has set the value."""
        if self.track is not None:
            by = value - self.track.cut.sizes[self.current]
            self.carved.emit(carve_steps.nudged(self.track, self.current, by))


CarveAction = tuple[str, str, Callable[[], Carved]]
"""What it is called, why it cannot be (empty if it can), and the carve that it asks for."""


def carve_actions(track: Track, index: int) -> tuple[CarveAction, ...]:
    """Everything that can be done with a slice and its card."""
    return (
        ("Add", carve_steps.why_not_add(track), lambda: carve_steps.added(track)),
        ("Split", carve_steps.why_not_split(track, index), lambda: carve_steps.split(track, index)),
        (
            "Merge",
            carve_steps.why_not_merge(track, index),
            lambda: carve_steps.merged(track, index),
        ),
        ("Remove", carve_steps.why_not_remove(track), lambda: carve_steps.removed(track, index)),
        ("Equal", carve_steps.why_not_equalise(track), lambda: carve_steps.equalised(track)),
    )


def titles(track: Track, index: int) -> dict[str, str]:
    """Return the name of each action."""
    return {
        "Add": f"Add a slice to {track.physical}",
        "Split": f"Split {track.name(index)} in two",
        "Merge": f"Merge {track.name(index)} with the next slice",
        "Remove": f"Give {track.name(index)} back to the free memory",
        "Equal": f"Make all slices of {track.physical} equal",
    }


def carve_menu(
    parent: QWidget, track: Track, index: int, wanted: Callable[[Carved], object]
) -> QMenu:
    """Return a menu that passes the user's choice to `wanted`. It is deleted when closed."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setToolTipsVisible(True)
    words = titles(track, index)
    for name, why_not, make in carve_actions(track, index):
        action = menu.addAction(words[name])
        action.setEnabled(not why_not)
        action.setToolTip(why_not)
        action.triggered.connect(lambda _=False, make=make: wanted(make()))
    return menu
