"""What the Qt binding must do right, and one of its releases did not."""

from __future__ import annotations

import sys

from PySide6.QtCore import QObject, Signal


class Speaker(QObject):
    said = Signal(bool)


def test_that_a_signal_that_carries_a_bool_leaves_its_reference_count_alone(qapp) -> None:
    """PySide6 6.12.0 drops a reference each time.

    On Python 3.11 the program aborts when none is left.
    """
    speaker = Speaker()
    speaker.said.connect(lambda _value: None)
    before = sys.getrefcount(True)
    for _ in range(50):
        speaker.said.emit(True)
    assert sys.getrefcount(True) > before - 25
