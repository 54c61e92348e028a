"""Errors in methods that Qt calls."""

from __future__ import annotations

import subprocess
import sys

# C++ that Python called calls the method: where the segmentation fault was.
PROGRAM = """
import gpu_studio.ui
import shiboken6
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget

class Broken(QWidget):
    def sizeHint(self):
        return [][3]
    def event(self, event):
        if event.type() == QEvent.Type.User:
            gone.width()
        return super().event(event)
    def heightForWidth(self, width):
        return width // 0
    def hasHeightForWidth(self):
        return True

application = QApplication([])
gone = QWidget()
shiboken6.delete(gone)
broken = Broken()
for call in (
    broken.adjustSize,
    lambda: application.sendEvent(broken, QEvent(QEvent.Type.User)),
    lambda: broken.heightForWidth(3),
):
    try:
        call()
    except Exception as error:
        print(type(error).__name__)
"""


def test_that_an_error_of_c_in_a_method_that_qt_calls_is_an_error_and_ends_no_window() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, f"ended by signal {-done.returncode}"
    assert done.stdout.split() == ["IndexError", "RuntimeError", "ZeroDivisionError"]
