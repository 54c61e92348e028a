"""Have the next start come back as this window is, however this one ends.

The place of the window, its page and the run that it shows are written down as they change: the end
of a session may be a signal, or nothing at all. Plans and their edits have keepers of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QGuiApplication

from gpu_studio.contract import RunDirectory
from gpu_studio.ui.kit.settings import PAGE, SHOWN_RUN
from gpu_studio.ui.window.services import PAGES, PageName, Pages, Services

SOON_MS = 500
"""So long after it was moved the place of the window is written."""
_MOVING = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.WindowStateChange)


class ComingBack(QObject):
    """Remembers what is shown, from `follow` on. `page` and `run` are those of last time.

    `page` is the Plan page if there was none, and `run` None if it is gone.
    """

    def __init__(self, services: Services, pages: Pages) -> None:
        super().__init__(services.window)
        self._services, self._pages = services, pages
        settings = services.settings
        self.page: PageName = next((name for name in PAGES if name == settings.get(PAGE)), PAGES[1])
        self.run = _run_in(services.runs_dir, settings.get(SHOWN_RUN))
        if self.run is None and self.page == "train":
            self.page = "plan"
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SOON_MS)

    def follow(self) -> None:
        """Remember what is shown now, and all that will be."""
        self._keep_page(self._pages.current)
        if self._pages.shown_run is not None:
            self._keep_run()
        self._pages.turned.connect(self._keep_page)
        self._pages.run_shown.connect(self._keep_run)
        self._soon.timeout.connect(self._keep_place)
        self._services.window.installEventFilter(self)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.saveStateRequest.connect(self.tell_how_to_come_back)

    def close(self) -> None:
        """Remember no more: the window goes."""
        self._soon.stop()
        self._services.window.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Note that the window was moved or resized."""
        if event.type() in _MOVING and watched is self._services.window:
            self._soon.start()
        return False

    def tell_how_to_come_back(self, manager: Any) -> None:
        """Answer a session manager (a QSessionManager) by the command that opens this window again.

        It hands its plan to no other window, for that one comes back, too.
        """
        path = self._services.document.path
        words = ["--runs-dir", str(self._services.runs_dir), "--page", self._pages.current]
        plan = [str(path)] if path is not None else []
        manager.setRestartCommand([sys.executable, "-P", "-m", "gpu_studio", *words, *plan])

    def _keep_page(self, name: str) -> None:
        self._services.settings.set(PAGE, name)

    def _keep_run(self) -> None:
        shown = self._pages.shown_run
        self._services.settings.set(SHOWN_RUN, shown.run.id if shown is not None else "")

    def _keep_place(self) -> None:
        window: Any = self._services.window
        window.keep_geometry(self._services.settings)


def _run_in(folder: Path, name: str) -> RunDirectory | None:
    if not name or Path(name).name != name:
        return None
    run = RunDirectory(folder / name)
    return run if run.exists() else None
