"""What is known of a window that crashed, and that it is told once."""

from __future__ import annotations

import faulthandler
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from PySide6.QtWidgets import QWidget

from gpu_studio.contract import lock
from gpu_studio.ui.kit.dialogs import TraceDialog
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.window.crash_report import MOST_KEPT, CrashWatch, earlier_crash, tell

# The window as a person starts it, and a defect in a native library.
CRASHING = """
import faulthandler, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from gpu_studio.ui.window import app

def crash_on_purpose():
    faulthandler._sigsegv()

QTimer.singleShot(0, crash_on_purpose)
app.run(Path(sys.argv[1]), None)
"""


@pytest.fixture
def host(qtbot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


@pytest.fixture
def notice(host: QWidget) -> Notice:
    host.show()
    return Notice(host)


@pytest.fixture
def crashed(tmp_path: Path, qtbot) -> Path:
    """The folder in which a window that has crashed left its report."""
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini"),
        "QT_QPA_PLATFORM": "offscreen",
    }
    command = [sys.executable, "-c", CRASHING, str(tmp_path / "runs")]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode < 0
    [report] = (tmp_path / "state").rglob("window-*.open")
    # A process that the window was just starting holds the lock until it is another program.
    qtbot.waitUntil(lambda: not lock.held(report))
    return report.parent


def test_that_a_crash_is_told_once_at_the_next_start_with_where_it_happened(
    crashed: Path, notice: Notice
) -> None:
    report = earlier_crash(crashed)
    assert report is not None
    assert "in crash_on_purpose" in report.text
    assert report.text.startswith("GPU Studio ")
    assert stat.S_IMODE(report.file.stat().st_mode) == 0o600
    notice.say("The unsaved changes of “digits” are back.")
    tell(report, notice)
    assert "(a segmentation fault). Runs went on without it" in notice.text
    assert notice.text.endswith("The unsaved changes of “digits” are back.")
    assert notice.leaves_in is None
    notice.button.click()
    [dialog] = notice.window().findChildren(TraceDialog)
    assert "in crash_on_purpose" in dialog.details.toPlainText()
    dialog.close()
    assert earlier_crash(crashed) is None
    assert report.file.exists()


def test_that_a_window_that_lives_ends_well_or_was_killed_is_no_crash(tmp_path: Path) -> None:
    watch = CrashWatch(tmp_path / "log")
    try:
        [file] = (tmp_path / "log").iterdir()
        assert lock.held(file)
        assert earlier_crash(tmp_path / "log") is None
        assert file.exists()
    finally:
        watch.close()
        faulthandler.enable()
    assert list((tmp_path / "log").iterdir()) == []
    killed = tmp_path / "log" / "window-4.open"
    killed.write_text("GPU Studio 0, begun 2026-11-22 10:41:31\n\n")
    assert earlier_crash(tmp_path / "log") is None
    assert not killed.exists()


def test_that_a_few_reports_are_kept_and_a_folder_that_refuses_one_hinders_no_start(
    tmp_path: Path,
) -> None:
    for number in range(MOST_KEPT + 2):
        (tmp_path / f"window-crash-2026-11-2{number}-104131.txt").touch()
    assert earlier_crash(tmp_path) is None
    assert len(list(tmp_path.iterdir())) == MOST_KEPT
    (tmp_path / "file").touch()
    CrashWatch(tmp_path / "file" / "log").close()
