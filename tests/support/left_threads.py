"""Python threads that a test started and did not end."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from grace import grace_s

_STARTED_BY = "_started_by"


def remember_starts(patch: pytest.MonkeyPatch) -> None:
    """Make every thread remember the lines that started it, until `patch` is undone."""
    start = threading.Thread.start

    def remembering_start(self: threading.Thread) -> None:
        setattr(self, _STARTED_BY, traceback.extract_stack(sys._getframe(1), limit=6))
        start(self)

    patch.setattr(threading.Thread, "start", remembering_start)


def watch() -> Callable[[], list[str]]:
    """Note the threads of now.

    The answer lists those that came since and still live after a moment of grace.
    """
    before = set(threading.enumerate())

    def leftovers() -> list[str]:
        new = [thread for thread in threading.enumerate() if thread not in before]
        deadline = time.monotonic() + grace_s() if new else 0.0
        return [_description(thread) for thread in new if _stays(thread, deadline)]

    return leftovers


def _stays(thread: threading.Thread, deadline: float) -> bool:
    # A dummy stands for a thread that Python did not start. It never ends, even where the thread
    # did.
    if isinstance(thread, threading._DummyThread):
        return False
    thread.join(max(0.0, deadline - time.monotonic()))
    return thread.is_alive()


def _description(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    now = _last_lines(traceback.extract_stack(frame)) if frame else "unknown"
    began = _last_lines(getattr(thread, _STARTED_BY, []))
    return f"thread {thread.name!r}, started at {began}, now at {now}"


def _last_lines(stack: list[Any]) -> str:
    own = [line for line in stack if not line.filename.endswith("/threading.py")][-2:]
    return " > ".join(f"{line.filename}:{line.lineno} in {line.name}" for line in own) or "unknown"
