"""A bare window with one empty plot: prints the machine's monotonic clock once it is painted."""

from __future__ import annotations

import json
import sys
import time

import pyqtgraph
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QMainWindow


class Plot(pyqtgraph.PlotWidget):  # type: ignore[misc]
    """An empty plot that tells when it is painted.

    It fills the window, which then paints nothing itself.
    """

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint first, then look at the clock."""
        super().paintEvent(event)
        QTimer.singleShot(0, self, shown)


def shown() -> None:
    """Say when."""
    sys.stdout.write(json.dumps({"shown": time.monotonic()}) + "\n")
    QApplication.quit()


application = QApplication(sys.argv)
window = QMainWindow()
window.setCentralWidget(Plot())
window.resize(1280, 800)
window.show()
application.exec()
