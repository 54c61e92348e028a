"""A pytest plugin: files go to workers, and a run goes on after a worker has crashed.

pytest-xdist 3.8's own distribution by file hands out a crashed worker's finished files once more,
as nothing to do, and then waits for them for ever (its issue 1378). It also runs the test again
that crashed, and so crashes again; and it gives tests to a new worker that has not told its own yet
(its issue 1362).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class FileScheduling(LoadFileScheduling):  # type: ignore[misc] # pytest-xdist's types are skipped
    """Distribution by file in which a crashed worker's remaining tests go to the other workers."""

    @property
    def collection_is_completed(self) -> bool:
        """Whether the tests are known. They stay so when a worker that told them is gone."""
        return self.collection is not None or len(self.registered_collections) >= self.numnodes

    def remove_node(self, node: WorkerController) -> str | None:
        """Take back what a worker still had to run.

        Returns the test that it ran when it crashed; None if it had finished.
        """
        files = self.assigned_work.pop(node)
        self.registered_collections.pop(node, None)
        waiting = [test for tests in files.values() for test, done in tests.items() if not done]
        if not waiting:
            return None
        crashed: str = waiting[0]
        for file, tests in files.items():
            left = {test: False for test, done in tests.items() if not done and test != crashed}
            if left:
                self.workqueue[file] = left
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def _assign_work_unit(self, node: WorkerController) -> None:
        # A worker that has just crashed takes nothing any more. What it was given is taken back
        # by `remove_node`, once xdist learns of the crash.
        with suppress(OSError):
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # A worker runs its last test once it knows of the next one, or that there is none. A new
        # worker whose first file has one test only would wait, were it given no second. A worker
        # that has not told its tests yet is given some when it does.
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    """Distribute by file where the command line says so."""
    return FileScheduling(config, log) if config.getoption("dist") == "loadfile" else None
