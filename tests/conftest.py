"""Settings for every test.

The parts are in `support/`, and each has tests of its own.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

import pytest
import warm_python
from hypothesis import HealthCheck, settings

from gpu_studio.runs.launch import TRAINER_VARIABLE

pytest_plugins = [
    "pytester",
    "isolation",
    "patience",
    "hygiene",
    "file_scheduler",
    "long_proofs",
    "proven",
    "fake_cards",
    "x_display",
    "doctor_glance",
    "fault_matrix",
    "small_disks",
]

# No deadline and no check of the speed of examples: a slow machine is not a wrong program. In CI
# the examples are the same every time; `make quick` tries fewer.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", UNTIMED)
settings.register_profile("ci", UNTIMED, derandomize=True, database=None, print_blob=True)
settings.register_profile("quick", UNTIMED, max_examples=20)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)


STARTING = frozenset({"start", "ended", "trainer", "asked", "gpu_studio_process"})
"""Fixtures by which a test starts trainers, or others of the program's processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that open the whole window or start trainers, and run slow files first.

    `make quick` leaves the marked tests out: a few hundred of them take as long as all others. Slow
    files come first, because at the end of a run on several cores one of them would keep the other
    cores waiting.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "open_window" in fixtures:
            item.add_marker(pytest.mark.window)
        if fixtures & STARTING:
            item.add_marker(pytest.mark.processes)
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="module")
def warm_asker() -> Iterator[None]:
    """Send questions to processes that have imported TensorFlow already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TRAINER_VARIABLE, shlex.join(warm_python.command("gpu_studio.trainer")))
        yield
