"""Fixtures for tests of answers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
import warm_python

from gpu_studio.runs.launch import TRAINER_VARIABLE


@pytest.fixture(scope="module")
def warm_asker() -> Iterator[None]:
    """Send questions to processes that have imported TensorFlow already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TRAINER_VARIABLE, shlex.join(warm_python.command("gpu_studio.trainer")))
        yield
