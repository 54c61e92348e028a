"""GPU Studio's window as `gpu-studio` opens it.

Prints the machine's monotonic clock once it shows the devices.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from types import ModuleType
from typing import Any

from gpu_studio.cli import entry, main


def imported(name: str) -> ModuleType:
    """Import what the start of the window imports, in its order, and have the window tell."""
    module = import_module(name)
    if name == "gpu_studio.ui.window.app":
        app: Any = module
        app.MainWindow = telling(app.MainWindow)
    return module


def telling(window: Any) -> Any:
    """The window that tells, and quits, once it is painted after the devices were known."""
    from PySide6.QtCore import QEvent, QTimer
    from PySide6.QtWidgets import QApplication

    class Window(window):  # type: ignore[misc]
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

    return Window


patched: Any = entry
patched.import_module = imported
sys.exit(main([]))
