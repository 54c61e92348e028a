"""Copies and sums where there is no memory for them, and what CUDA knows of the host's memory."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest
import warm_python

from gpu_studio.trainer.answers.benchmark_timing import why_not
from gpu_studio.trainer.cuda_driver import is_pinned

LIMIT_MIB = 64
PROGRAM = """
import json, os
from gpu_studio.plan import Plan
from gpu_studio.trainer.answers import benchmark_timing, benchmark_transfers
from gpu_studio.trainer.devices import set_up
benchmark_timing.LEAST_S, benchmark_timing.REPEATS = 1e-6, 1
benchmark_transfers.COPIED = (4096, 1 << 27, 1 << 28)
logical = set_up(Plan())
rows = list(benchmark_transfers.copies(["CPU:0"], logical, lambda told: None))
os.write(1, b"\\n" + json.dumps(rows).encode() + b"\\n")
"""


@pytest.mark.slow
def test_that_a_size_without_memory_says_so_and_the_rest_is_measured():
    limit = {"TF_CPU_BFC_MEM_LIMIT_IN_MB": str(LIMIT_MIB)}  # which TensorFlow itself holds
    done = subprocess.run(
        [*warm_python.command("-c"), PROGRAM],
        env={**os.environ, **limit},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads(done.stdout.strip().splitlines()[-1])
    copies = [row for row in rows if row["what"] == "copy"]
    assert [(row["size"], "seconds" in row) for row in copies] == [
        (4096, True),
        (4096, True),
        (1 << 27, False),
        (1 << 27, False),
    ]
    assert all(row["why_not"].startswith("out of memory: OOM when") for row in copies[2:])
    why = {row["what"]: row["why_not"] for row in rows if row["what"] != "copy"}
    assert "pinned or not" in why["pinned copy"]
    assert "nothing to overlap" in why["overlapped copy"]


def test_that_want_of_memory_is_recognised_in_each_of_tensorflows_wordings():
    full = "Dst tensor is not initialized.\nmore"
    assert why_not(ValueError(full)) == "out of memory: Dst tensor is not initialized."
    node = "{{function_node __wrapped__Fill}} OOM when allocating tensor"
    assert why_not(ValueError(node)) == "out of memory: OOM when allocating tensor"
    assert why_not(MemoryError()) == "out of memory: MemoryError"
    assert why_not(ValueError("no kernel")) == "no kernel"


def test_that_without_a_driver_nobody_knows_what_is_pinned():
    address = np.zeros(9).ctypes.data
    assert is_pinned(address, "libno-such-driver.so.1") is None
    assert is_pinned(address, "libc.so.6") is None
