"""What keys do to a slice."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from gpu_studio.ui.models.plan import carve_steps
from gpu_studio.ui.models.plan.edits.carving import Carved
from gpu_studio.ui.models.plan.track import Track

_STEPS = {
    Qt.Key.Key_Right: carve_steps.NUDGE_MIB,
    Qt.Key.Key_Left: -carve_steps.NUDGE_MIB,
    Qt.Key.Key_PageUp: carve_steps.COARSE_MIB,
    Qt.Key.Key_PageDown: -carve_steps.COARSE_MIB,
}
_CTRL = Qt.KeyboardModifier.ControlModifier
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


def step_of(event: QKeyEvent, track: Track, index: int) -> Carved | bool | None:
    """What the key asks of a slice; True if it asks what cannot be; None if it asks nothing."""
    key, held = Qt.Key(event.key()), event.modifiers() & ~_KEYPAD
    if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and held == _CTRL:
        return _nudged(track, index, carve_steps.FINE_MIB if key == Qt.Key.Key_Right else -carve_steps.FINE_MIB)
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
