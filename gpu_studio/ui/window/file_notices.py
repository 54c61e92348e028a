"""Notices about files that were written in the background: where each is, or why it is not."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from gpu_studio.ui.kit import FileJobs, Notice


def tell_of_files(jobs: FileJobs, notice: Notice) -> None:
    """Say of each file of `jobs` where it was written, with a button that opens it, or why not."""
    jobs.done.connect(partial(_tell, notice))
    jobs.failed.connect(partial(_tell_failure, notice))


def _tell(notice: Notice, path: Path) -> None:
    notice.say(f"Written: {path}", label="Open", action=partial(_open, notice, path))


def _tell_failure(notice: Notice, path: Path, why: str) -> None:
    notice.say(f"{path} could not be written: {why}. Write it to another place.", "bad")


def _open(notice: Notice, path: Path) -> None:
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
        notice.say(f"Nothing here opens it. It is {path}", "warning")
