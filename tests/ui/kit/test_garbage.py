"""Garbage is collected in the window's thread while others work, whether or not they report."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from patience import PATIENCE_S
from PySide6.QtCore import QCoreApplication, QEvent

from gpu_studio.ui.kit import garbage
from gpu_studio.ui.kit.garbage import GarbageWatch


class Loop:
    """What only a cycle of references keeps."""

    def __init__(self) -> None:
        self.me = self


def old_garbage() -> weakref.ref[Loop]:
    """Make some that the collector has looked at in vain, so that it counts as old."""
    made = Loop()
    gc.collect()
    return weakref.ref(made)


@pytest.fixture
def watch(qapp, monkeypatch) -> Iterator[GarbageWatch]:
    """One whose thread works all the time and reports nothing."""
    monkeypatch.setattr(garbage, "EVERY_MS", 1)
    made, go = GarbageWatch(), threading.Event()
    thread = threading.Thread(target=go.wait, args=(PATIENCE_S,))
    limits = gc.get_threshold()
    made.begins(thread)
    thread.start()
    yield made
    gc.set_threshold(*limits)
    go.set()
    made.ended(thread)
    assert gc.isenabled()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert not any(isinstance(each, garbage._Clock) for each in qapp.children())


def test_that_garbage_is_collected_while_a_thread_reports_nothing(qtbot, watch) -> None:
    assert not gc.isenabled()
    gc.set_threshold(1, 1_000_000, 1_000_000)
    left = weakref.ref(Loop())
    qtbot.waitUntil(lambda: left() is None)


@pytest.mark.slow
def test_that_old_garbage_is_collected_once_its_count_is_over_as_python_does(watch) -> None:
    left = old_garbage()
    gc.set_threshold(1, 0, 0)
    kept: list[list[None]] = []
    for _ in range(3):  # each adds one to the count of the age above
        kept += [[] for _ in range(200)]
        watch.goes_on()
    assert left() is None


def test_that_what_a_window_keeps_is_not_looked_through_until_the_window_goes() -> None:
    kept = weakref.ref(Loop())
    watch = GarbageWatch()
    watch.keep()
    try:
        gc.collect()
        assert kept() is not None
        later = weakref.ref(Loop())
        gc.collect()
        assert later() is None, "what came since is looked through"
    finally:
        watch.keep_no_more()
    gc.collect()
    assert kept() is None


def test_that_a_window_keeps_what_it_is_made_of_from_when_it_has_settled_until_it_goes(
    open_window, qtbot
) -> None:
    before = gc.get_freeze_count()
    window = open_window()
    qtbot.waitUntil(lambda: window.settled)
    assert gc.get_freeze_count() > before
    assert window.close()
    assert gc.get_freeze_count() <= before
