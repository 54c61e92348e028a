"""The window, with a day of history behind it and a run of 1,000 steps a second before it.

Prints what that costs.

`python flood_window.py RUNS RUN STEPS PER_CALL BEGIN QUIET LIVE HISTORY` follows a run that
`write_run.py` goes on with: QUIET seconds in which nothing comes; LIVE seconds as they pass, twice,
the second time close up, with a hand on mouse and keys; then the rest of HISTORY seconds as fast as
they are taken. Prints `{"idle": …, "flood": …}` (percent of a core), `"frames"`, `"lags"` and
`"hand_frames"` (ms), and `"grown"` (MiB that the flood added to the memory)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from PySide6.QtCore import (
    QCoreApplication,
    QDeadlineTimer,
    QEvent,
    QEventLoop,
    QObject,
    QPointF,
    Qt,
    QTimer,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.main_window import MainWindow

MIB = 1024 * 1024
PATIENCE_MS = 240_000
HAND_S = 0.05
"""Between two moves of the hand: as often as one that is in a hurry."""
AT_ONCE_S = 10
CLOSE_S = 600.0
"""How much of the run is shown while a hand is at work: the newest, which is drawn most often."""
WRITER = Path(__file__).parent / "write_run.py"


class Window(MainWindow):
    """Times the frames in which a plot is drawn or figures change.

    A tick, what the plots do until the next one by their own clocks, in whichever turn of the event
    loop, and the painting after it.

    What counts is the time of the thread that draws: other programs on the machine are not the
    window's fault."""

    def watch(self) -> None:
        """Begin to look at the clock."""
        self.frames: list[float] = []
        self._ticked, self._drawn, self._figures = 0.0, 0, False
        children = Qt.FindChildOption.FindDirectChildrenOnly
        for clock in self.train_page.charts.findChildren(QTimer, options=children):
            clock.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let a clock of the plots do what it does, and time it."""
        if not isinstance(watched, QTimer) or event.type() != QEvent.Type.Timer:
            return super().eventFilter(watched, event)
        page = self.train_page
        if watched.interval():  # a tick; the others follow it at once
            self._ticked = 0.0
        began, shown = time.thread_time(), page.figures.taken
        done = watched.event(event)
        self._ticked += time.thread_time() - began
        self._figures |= page.figures.taken > shown
        return done

    def event(self, event: QEvent) -> bool:
        """Paint, and time it."""
        if event.type() != QEvent.Type.UpdateRequest or not hasattr(self, "frames"):
            return super().event(event)
        began = time.thread_time()
        done: bool = super().event(event)
        drawn = sum(plot.redraws for plot in self.train_page.charts.plots)
        if drawn != self._drawn or self._figures:
            self.frames.append(1000 * (time.thread_time() - began + self._ticked))
            self._ticked, self._drawn, self._figures = 0.0, drawn, False
        return done


class Hand(QObject):
    """Moves the mouse over a plot, presses keys in it, and times how soon that is handled.

    It does so from a thread of its own.
    """

    def __init__(self, target: QWidget) -> None:
        super().__init__()
        self.lags: list[float] = []
        self._target = target
        self._sent: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._move)
        target.installEventFilter(self)

    def __enter__(self) -> Hand:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._target.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Note how long an event of the hand's has waited."""
        del watched
        number = event.timestamp() if isinstance(event, QMouseEvent | QKeyEvent) else 0
        if sent := self._sent.pop(number, None):
            self.lags.append(1000 * (time.perf_counter() - sent))
        return False

    def _move(self) -> None:
        number = 0
        while not self._over.wait(HAND_S):
            number += 1
            event = self._key() if number % 5 == 0 else self._mouse(number)
            event.setTimestamp(number)
            self._sent[number] = time.perf_counter()
            QCoreApplication.postEvent(self._target, event)

    def _mouse(self, number: int) -> QMouseEvent:
        place = QPointF(80 + 7 * number % 500, 40)
        none, no_key = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
        return QMouseEvent(
            QEvent.Type.MouseMove, place, self._target.mapToGlobal(place), none, none, no_key
        )

    def _key(self) -> QKeyEvent:
        return QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier)


class Writer:
    """The process that writes the run."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-P", str(WRITER), *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, what: str) -> None:
        """Have it write."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()

    def answer(self) -> float:
        """Wait until it has; the moment of the last line."""
        assert self._process.stdout is not None
        return float(self._process.stdout.readline().split()[1])

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main(
    runs: str, run: str, steps: str, per_call: str, begin: str, quiet: str, live: str, history: str
) -> None:
    """Measure, and print."""
    application = make_application()
    theme = ThemeManager("dark")
    theme.dress(application)
    writer = Writer(run, steps, per_call, begin)
    writer.ask("at once 1")
    writer.answer()
    window = Window(Path(runs), None, theme)
    window.resize(1280, 800)
    window.show()
    window.show_run(RunDirectory(Path(run)))
    wait_until(lambda: not behind(window))
    window.watch()
    told = flood(window, writer, float(quiet), int(live), int(history))
    writer.close()
    wait_until(lambda: window.shown_run is not None and window.shown_run.history.ended)
    window.close()
    sys.stdout.write(json.dumps(told) + "\n")


def flood(
    window: Window, writer: Writer, quiet: float, live: int, history: int
) -> dict[str, object]:
    """The phases, one after the other."""
    told: dict[str, object] = {"idle": share_of(lambda: rest(quiet))}
    before = resident()
    window.frames.clear()
    writer.ask(f"live {live}")
    told["flood"] = share_of(lambda: rest(live))
    told["frames"], window.frames = window.frames, []
    writer.answer()
    charts = window.train_page.charts
    newest_second = charts.time.extent.duration
    charts.time.zoom(newest_second - CLOSE_S, newest_second + 1)
    writer.ask(f"live {live}")
    with Hand(charts.loss.canvas.viewport()) as hand:
        rest(live)
    told["lags"] = hand.lags
    writer.answer()
    for _ in range((history - 2 * live) // AT_ONCE_S):
        writer.ask(f"at once {AT_ONCE_S}")
        moment = writer.answer()
        wait_until(lambda moment=moment: newest(window) >= moment)  # type: ignore[misc]
    told["hand_frames"] = window.frames
    told["grown"] = resident() - before
    return told


def behind(window: Window) -> bool:
    """Whether something of the run or of its recording is not read yet."""
    run = window.shown_run
    return run is None or run.reading or run.record.reading


def newest(window: Window) -> float:
    """The moment of the newest event that the window knows, in seconds since 1970."""
    run = window.shown_run
    return (run.history.last_time or 0.0) if run is not None else 0.0


def share_of(work: Callable[[], None]) -> float:
    """The share of a core that this process takes meanwhile, in percent."""
    began, busy = time.monotonic(), time.process_time()
    work()
    return 100 * (time.process_time() - busy) / (time.monotonic() - began)


def rest(seconds: float) -> None:
    """Let the window live for so long."""
    loop = QEventLoop()
    QTimer.singleShot(int(1000 * seconds), loop.quit)
    loop.exec()


def wait_until(done: Callable[[], bool]) -> None:
    """Let the window live until it is so."""
    deadline = QDeadlineTimer(PATIENCE_MS)
    while not done():
        if deadline.hasExpired():
            raise TimeoutError("the window did not come so far in time")
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 100)


def resident() -> float:
    """This process's memory in MiB."""
    return float(psutil.Process().memory_info().rss) / MIB


if __name__ == "__main__":
    main(*sys.argv[1:])
