"""The page says that the job of its lost run still waits, and stops saying so once it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_slurm import QUEUED, WAITS, fake_slurm, lost_run, of
from pytestqt.qtbot import QtBot
from train_pages import opened

from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train import left_job_watch


def test_that_the_job_of_a_lost_run_is_told_for_as_long_as_it_waits(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_job_watch, "_AGAIN_MS", 20)
    slurm, run = fake_slurm(monkeypatch), lost_run(tmp_path / "runs")
    slurm.jobs["4711"] = of(run, WAITS)
    page = opened(qtbot, ThemeManager("dark"))
    page.show_run(run)
    qtbot.waitUntil(lambda: QUEUED in page.outcome.message.text())
    assert "Take it out of the queue: scancel 4711" in page.outcome.suggestions.text()
    slurm.jobs.clear()
    qtbot.waitUntil(lambda: "Slurm" not in page.outcome.message.text())
    assert "scancel" not in page.outcome.suggestions.text()
    qtbot.waitUntil(lambda: not page.left_job.asking)
