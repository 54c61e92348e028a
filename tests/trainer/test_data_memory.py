"""Data take the memory of their bytes, and no multiple of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import warm_python

pytestmark = pytest.mark.slow
MIB = 1 << 20


def test_that_bytes_take_little_more_memory_than_there_are_of_them(tmp_path: Path) -> None:
    """A model is given floats, four times as large.

    Neither they nor a copy of each split may be there at once.
    """
    small, large = tmp_path / "small.npz", tmp_path / "large.npz"
    for path, samples in ((small, 640), (large, 128 * 256)):
        np.savez(path, x=np.full((samples, 64, 64, 1), 7, np.uint8), y=np.arange(samples) % 3)
    program = warm_python.command(str(Path(warm_python.__file__).with_name("data_peak.py")))
    done = subprocess.run(
        [*program, str(small), str(large)], capture_output=True, text=True, check=True
    )
    without, with_ = json.loads(done.stdout)
    assert with_ - without < 4 * 128 * MIB
