"""A run whose workers are stand-ins, supervised in the process of the test."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_studio.contract.directory import STATE_FILE, WEIGHTS_FILE, RunDirectory
from gpu_studio.contract.events import Event, Finished
from gpu_studio.plan import Plan, loads, with_settings
from gpu_studio.trainer.cluster import supervisor
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.progress import Reached

PLAN = """
version = 1
name = "two"
[model]
name = "mlp"
[data]
name = "digits"
[distribution]
strategy = "multi_worker"
[cluster]
trusted_network = true
"""


class _Stopping(SimpleNamespace):
    """Stands for what asks for a stop: whatever the test says now."""

    def __init__(self, run: Supervised) -> None:
        super().__init__()
        self.run = run

    @property
    def stopping(self) -> bool:
        """Whether the test wants it."""
        return self.run.stopping


class Supervised:
    """A run whose workers are `fake_member`s."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = RunDirectory.create(folder, "two")
        self.told: list[Event] = []
        self.stopping = False
        self._patch = monkeypatch

    def write(self, event: Event) -> Event:
        """Take an event, as the writer of the run's events does."""
        self.told.append(event)
        return event

    def train(self, does: dict[str, str], *settings: str) -> Finished:
        """Supervise workers that do so."""
        self._patch.setenv("FAKE_MEMBERS", json.dumps(does))
        plan: Plan = with_settings(loads(PLAN), settings)
        return supervisor.supervise(self.run, plan, self, self._control(), Reached())

    def _control(self) -> Any:
        return _Stopping(self)

    def failure(self, does: dict[str, str], *settings: str) -> TrainerError:
        """How it failed."""
        with pytest.raises(TrainerError) as failed:
            self.train(does, *settings)
        return failed.value

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of a kind."""
        return [event for event in self.told if isinstance(event, kind)]

    def checkpoint(self, step: int) -> None:
        """As if worker 0 had written one."""
        folder = self.run.checkpoints / f"step-{step:08d}"
        folder.mkdir(parents=True)
        (folder / STATE_FILE).write_text(json.dumps({"epoch": 0, "step": step}))
        (folder / WEIGHTS_FILE).write_bytes(b"")
