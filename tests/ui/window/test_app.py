from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from patience import PATIENCE_S
from PySide6.QtCore import QRect

from gpu_studio.ui.kit.settings import GEOMETRY, LAST_PLAN, THEME, Settings
from gpu_studio.ui.window.app import remembered_mode
from gpu_studio.ui.window.frame import usual_size

HEAVY = ("tensorflow", "keras", "numpy", "pyqtgraph", "pynvml", "logging.handlers")

# The window as a person starts it; it tells that it is there, and then waits to be ended.
WINDOW = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from gpu_studio.ui.window import app
from gpu_studio.ui.window.main_window import MainWindow
class Telling(MainWindow):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.inventory.changed.connect(self.tell)
    def tell(self):
        if self.inventory.machine is not None and self.isVisible():
            print("ready", flush=True)
app.MainWindow = Telling
sys.exit(app.run(Path(sys.argv[1]), None))
"""


def test_that_a_remembered_mode_that_is_none_is_the_systems(settings: Settings) -> None:
    assert remembered_mode(settings) == "system"
    settings.set(THEME, "dark")
    assert remembered_mode(settings) == "dark"
    settings.set(THEME, "purple")
    assert remembered_mode(settings) == "system"


def test_that_the_window_is_imported_without_what_only_later_is_needed() -> None:
    program = "import gpu_studio.ui.window.app, sys, json; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_that_a_signal_closes_the_window_as_its_owner_would(
    tmp_path: Path, number: signal.Signals
) -> None:
    settings = tmp_path / "window.ini"
    environment = {
        **os.environ,
        "GPU_STUDIO_SETTINGS": str(settings),
        "QT_QPA_PLATFORM": "offscreen",
    }
    command = [sys.executable, "-c", WINDOW, str(tmp_path / "runs")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
    assert Settings(settings).get(GEOMETRY) != b""
    assert Settings(settings).get(LAST_PLAN) == ""


def test_that_the_first_window_fits_a_small_screen_with_its_frame() -> None:
    def on_a_screen_of(width: int, height: int) -> tuple[int, int]:
        screen = SimpleNamespace(availableGeometry=lambda: QRect(0, 0, width, height))
        size = usual_size(SimpleNamespace(screen=lambda: screen))
        return size.width(), size.height()

    assert on_a_screen_of(2560, 1600) == (1280, 800)
    assert on_a_screen_of(1366, 768) == (1280, 720)
    assert on_a_screen_of(800, 600) == (1024, 680)
