"""Fixtures for tests of data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def cached():
    """Put a file into Keras' cache and return its path."""

    def put(place: str, content: bytes) -> Path:
        path = Path(os.environ["KERAS_HOME"], "datasets", place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return put
