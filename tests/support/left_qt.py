"""What a test leaves behind in Qt: top-level windows, running timers, running threads.

It is imported once Qt is in use.
"""

from __future__ import annotations

import gc

import shiboken6
from grace import grace_s
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QThread, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.ui.kit.garbage import GARBAGE


def leftovers(*, scan: bool) -> list[str]:
    """Describe what is left, and end it.

    `scan` looks for timers and threads too, among all objects there are.
    """
    if not isinstance(QCoreApplication.instance(), QApplication):
        return []
    GARBAGE.settle()
    _let_go_of_keys()
    _delete_later_is_now()
    running = _running() if scan else []
    if _windows() or running:
        gc.collect()  # what only a cycle of references keeps is not left: nobody has it any more
        _delete_later_is_now()
        running = _running() if scan else []
    left = [_ended_window(window) for window in _windows()]
    left += [text for item in running if (text := _ended(item))]
    _delete_later_is_now()
    return left


def _let_go_of_keys() -> None:
    if QGuiApplication.keyboardModifiers() != Qt.KeyboardModifier.NoModifier:
        # An event tells Qt which keys are held; this one says that none is.
        hand = QWidget()
        QTest.keyRelease(hand, Qt.Key.Key_Shift)
        hand.deleteLater()


def _delete_later_is_now() -> None:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _windows() -> list[QWidget]:
    # A menu or a pop-up with a parent goes when its parent does.
    return [widget for widget in QApplication.topLevelWidgets() if widget.parent() is None]


def _running() -> list[QTimer | QThread]:
    # All objects that Python has of Qt are few next to all that it has, so that every test can bear
    # to look at them.
    kinds = (QTimer, QThread)
    return [
        item for item in shiboken6.getAllValidWrappers() if isinstance(item, kinds) and _runs(item)
    ]


def _runs(item: QTimer | QThread) -> bool:
    if isinstance(item, QTimer):
        return item.isActive()
    return item.isRunning() and item is not QThread.currentThread()


def _ended_window(window: QWidget) -> str:
    text = f"window {_name(window)}, title {window.windowTitle()!r}"
    window.close()
    window.deleteLater()
    return text


def _ended(item: QTimer | QThread) -> str:
    if isinstance(item, QTimer):
        item.stop()
        return f"running timer {_name(item)}, every {item.interval()} ms"
    grace_ms = int(grace_s() * 1000)
    if item.wait(grace_ms):
        return ""
    item.requestInterruption()
    item.quit()
    item.wait(grace_ms)
    return f"running thread {_name(item)}"


def _name(item: QObject) -> str:
    kind = type(item)
    parent = item.parent()
    of = f" of {_name(parent)}" if parent is not None else ""
    return f"{kind.__module__}.{kind.__qualname__} {item.objectName()!r}{of}"
