"""A pytest plugin: how long tests wait for what must come.

No test's truth depends on it. What comes is taken as soon as it is there, so patience costs time
only where something hangs; and a machine that is busy may take very long over what is a matter of
milliseconds elsewhere.
"""

from __future__ import annotations

import pytest

PATIENCE_S = 180.0
"""For one condition, in seconds; shorter than pytest's own patience with a test."""

WAITS = ("waitUntil", "waitSignal", "waitSignals", "waitCallback", "waitActive", "waitExposed")


def pytest_configure(config: pytest.Config) -> None:
    """Let what waits without a limit of its own wait so long: pytest-qt gives up after 5 s."""
    from pytestqt.qtbot import QtBot

    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name in WAITS:
        patch.setitem(getattr(QtBot, name).__kwdefaults__, "timeout", int(PATIENCE_S * 1000))
