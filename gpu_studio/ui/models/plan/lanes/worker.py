"""Work that takes too long for the window's own thread; only the last that was asked for counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

LOOK_MS = 10


class Worker(QObject):
    """Does a job in a thread. `done(result)` fires in this object's thread; a job that raised gives its exception."""

    done = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._number = 0
        self._threads: list[threading.Thread] = []
        self._results: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._look)

    @property
    def busy(self) -> bool:
        """Whether a result is awaited."""
        return self._looking.isActive()

    def start(self, job: Callable[[], object]) -> None:
        """Do this; what was asked for before is no longer wanted."""
        self._number += 1
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=self._run, args=(self._number, job), name=self._name, daemon=True)
        self._threads.append(thread)
        thread.start()
        self._looking.start()

    def forget(self) -> None:
        """Want nothing any more; a job that runs goes on to its end, and nobody hears of it."""
        self._number += 1
        self._looking.stop()

    def close(self) -> None:
        """Leave no thread behind."""
        self.forget()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self, number: int, job: Callable[[], object]) -> None:
        try:
            result = job()
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            result = error
        self._results.put((number, result))

    def _look(self) -> None:
        while True:
            try:
                number, result = self._results.get_nowait()
            except Empty:
                return
            if number == self._number:
                self._looking.stop()
                self.done.emit(result)
