"""What Ctrl+C does to a run that is followed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpu_studio.cli.train import interrupts


@pytest.mark.parametrize(("problem", "leaves"), [("", False), ("Process 7 was sent SIGKILL, but has not ended.", True)])
def test_that_a_run_that_cannot_be_ended_is_followed_no_longer(monkeypatch, problem, leaves):
    ladder = SimpleNamespace(stage="stuck", problem=problem, said=problem, advance=lambda: "stuck")
    monkeypatch.setattr(interrupts, "StopLadder", lambda run, **_: ladder)
    told: list[str] = []
    reaction = interrupts.StopRun(SimpleNamespace(), told.append)
    reaction.interrupted()
    reaction.tick()
    assert reaction.leave is leaves
    assert told[1:] == ([problem] if problem else [])
