"""GPU Studio's window as `gpu-studio` opens it.

Prints the machine's monotonic clock once it shows the devices.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QApplication

from gpu_studio.cli import main
from gpu_studio.ui.window import app
from gpu_studio.ui.window.main_window import MainWindow


class Window(MainWindow):
    """Tells, and quits, when a paint is done that came after the devices were known."""

    told = False

    def event(self, event: QEvent) -> bool:
        """Paint the window with all in it first, then look at the clock."""
        done: bool = super().event(event)
        painted = event.type() in (QEvent.Type.Paint, QEvent.Type.UpdateRequest)
        if painted and not self.told and self.inventory.machine is not None:
            self.told = True
            QTimer.singleShot(0, self, self.tell)
        return done

    def tell(self) -> None:
        """Say when."""
        sys.stdout.write(json.dumps({"shown": time.monotonic()}) + "\n")
        self.close()
        QApplication.quit()


patched: Any = app
patched.MainWindow = Window
sys.exit(main([]))
