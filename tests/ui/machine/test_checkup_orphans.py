"""Cancelling the doctor while it asks the real TensorFlow leaves no process behind."""

from __future__ import annotations

import psutil
import pytest

from gpu_studio.ui.machine.checkup import Checkup


@pytest.fixture
def checkup(qapp, tmp_path, monkeypatch):
    # A cache of its own, so that TensorFlow is really asked.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Checkup(tmp_path / "runs")
    yield made
    made.close()


def asked(checkup: Checkup) -> list[psutil.Process]:
    """The processes that the doctor has started, those of those included."""
    try:
        found = psutil.Process(checkup.process.processId()).children(recursive=True)
        return [each for each in found if "gpu_studio.trainer.ask" in " ".join(each.cmdline())]
    except psutil.Error:
        return []


@pytest.mark.slow
def test_that_a_doctor_cancelled_while_tensorflow_is_asked_leaves_no_orphan(checkup, qtbot) -> None:
    checkup.examine()
    found: list[psutil.Process] = []
    qtbot.waitUntil(lambda: bool(found.extend(asked(checkup)) or found))
    doctor = psutil.Process(checkup.process.processId())
    checkup.cancel()
    assert not checkup.looking
    qtbot.waitUntil(lambda: not any(each.is_running() for each in [doctor, *found]))
    assert checkup.diagnosis is None
