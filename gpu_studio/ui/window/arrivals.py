"""Do in this window what a program that was started later asks of it: open a plan, show a page."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.contract.open_windows import OpenWindow, WindowRequest, surroundings, windows_folder
from gpu_studio.ui.window.plan_files import PlanFiles, names_study
from gpu_studio.ui.window.services import PAGES, PageName, Pages, Services


class Arrivals(QObject):
    """Lists the window where later starts look for it, and answers them, until `close`.

    A plan is taken if it is open here, or if nothing here would be left for it that is in no file,
    and no dialog waits for an answer. A study leaves the open plan alone.
    """

    def __init__(self, services: Services, pages: Pages, files: PlanFiles) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._files = services, pages, files
        self._here = surroundings(services.runs_dir)
        self._listed = _listed()
        self._watcher = QFileSystemWatcher(self)
        if self._listed is not None:
            self._watcher.addPath(str(self._listed.folder))
            self._watcher.directoryChanged.connect(self._look)
            self._look()

    def close(self) -> None:
        """Answer nobody any more."""
        if self._listed is not None:
            self._watcher.directoryChanged.disconnect(self._look)
            self._listed.close()
            self._listed = None

    def _look(self) -> None:
        if self._listed is None:
            return
        for path, request in self._listed.requests():
            take = self._may_take(request)
            if self._listed.answer(path, take=take) and take:
                self._do(request)

    def _may_take(self, request: WindowRequest) -> bool:
        if request.here != self._here or QApplication.activeModalWidget() is not None:
            return False
        if request.plan and self._has_open(Path(request.plan)):
            return True
        leaves = bool(request.plan and not names_study(Path(request.plan))) or request.new
        is_free = not (self._services.document.dirty or self._pages.plan.is_repairing)
        return not request.only and (is_free or not leaves)

    def _has_open(self, plan: Path) -> bool:
        return plan == self._services.document.path and not self._pages.plan.is_repairing

    def _do(self, request: WindowRequest) -> None:
        bring_up(self._services.window, request.token)
        if request.new:
            self._files.new_starter()
        elif request.plan and not self._has_open(Path(request.plan)):
            self._files.change_to(Path(request.plan))
        opened: PageName = "lab" if names_study(Path(request.plan)) else "plan"
        usual = opened if request.plan else self._pages.current
        self._pages.turn_to(next((name for name in PAGES if name == request.page), usual))


def bring_up(window: QWidget, token: str = "") -> None:
    """Bring the window to the front; `token` is the desktop's leave to do so, if it gave one."""
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    if token:
        os.environ["XDG_ACTIVATION_TOKEN"] = token  # Qt takes it from there, once
    window.activateWindow()


def _listed() -> OpenWindow | None:
    windows = windows_folder()
    try:
        return OpenWindow(windows) if windows is not None else None
    except OSError:
        return None
