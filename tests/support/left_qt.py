"""What a test leaves behind in Qt: top-level windows, running timers, running threads. Imported once Qt is in use."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import shiboken6
from grace import GRACE_S
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThread, QTimer
from PySide6.QtWidgets import QApplication, QWidget

GRACE_MS = int(GRACE_S * 1000)


def leftovers(*, scan: bool) -> list[str]:
    """Describe what is left, and end it. `scan` looks for timers and threads too, among all objects there are."""
    if not isinstance(QCoreApplication.instance(), QApplication):
        return []
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


def _delete_later_is_now() -> None:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _windows() -> list[QWidget]:
    # A menu or a pop-up with a parent goes when its parent does.
    return [widget for widget in QApplication.topLevelWidgets() if widget.parent() is None]


def _running() -> list[QTimer | QThread]:
    # There are half a million objects: a look into a set for each is all that every test can bear. Asking the type and
    # not the object, because a proxy or a mock would answer for itself.
    kinds = frozenset(_with_subclasses(QTimer)) | frozenset(_with_subclasses(QThread))
    found = [item for item in gc.get_objects() if type(item) in kinds]
    return [item for item in found if shiboken6.isValid(item) and _runs(item)]


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    below: list[type] = kind.__subclasses__()
    for each in below:
        yield from _with_subclasses(each)


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
    if item.wait(GRACE_MS):
        return ""
    item.requestInterruption()
    item.quit()
    item.wait(GRACE_MS)
    return f"running thread {_name(item)}"


def _name(item: QObject) -> str:
    kind = type(item)
    parent = item.parent()
    of = f" of {_name(parent)}" if parent is not None else ""
    return f"{kind.__module__}.{kind.__qualname__} {item.objectName()!r}{of}"
