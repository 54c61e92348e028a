"""Data take the memory of their bytes, and no multiple of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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


@pytest.mark.whole("tests/trainer/data/test_larger_than_memory.py")
def test_that_a_table_larger_than_the_memory_that_a_process_may_take_is_read(
    tmp_path: Path,
) -> None:
    """Its numbers are 95 MiB, and the kernel gives the process 64 MiB beside what it has."""
    columns, draw = 24, np.random.default_rng(1)
    for name, rows in (("small", 2_000), ("large", 1_000_000)):
        table = {f"x{n}": draw.random(rows, np.float32) for n in range(columns)}
        pq.write_table(
            pa.table(table | {"y": np.arange(rows) % 3}),
            tmp_path / f"{name}.parquet",
            row_group_size=50_000,
        )
    first = table["x0"]
    program = warm_python.command(str(Path(warm_python.__file__).with_name("limited_table.py")))
    paths = [str(tmp_path / f"{name}.parquet") for name in ("small", "large")]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([*program, *paths, "64"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found, streamed, held = json.loads(done.stdout)
    assert streamed
    assert "does not fit into memory" in held
    assert len(set(found)) == len(found) == 40
    assert set(found) <= set(first.tolist())
    assert not list((tmp_path / "cache").rglob("*.*"))
