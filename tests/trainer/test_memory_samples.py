"""Each sample of memory tells the most and the least of its interval, and the run's peak."""

from __future__ import annotations

import memory_job
import pytest

pytestmark = pytest.mark.slow


def test_that_a_sample_tells_its_interval_and_the_peak_stays_that_of_the_run() -> None:
    memory_job.look()
