"""The host's own facts."""

from __future__ import annotations

import os
from pathlib import Path

from gpu_studio.common.figures import MIB
from gpu_studio.hardware.host import cpu_cores, cpu_name, memory_mib


def test_that_only_the_cores_that_may_be_used_count():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cpu_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert cpu_cores() == len(before)


def test_that_the_memory_is_what_the_kernel_says():
    total = next(
        line
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemTotal")
    )

    assert memory_mib() == int(total.split()[1]) * 1024 // MIB


def test_that_the_cpu_is_called_as_it_calls_itself(tmp_path):
    (tmp_path / "cpuinfo").write_text(
        "processor : 0\nmodel name\t: Some CPU @ 3 GHz\nprocessor : 1\nmodel name : x\n"
    )

    assert cpu_name(tmp_path / "cpuinfo") == "Some CPU @ 3 GHz"


def test_that_a_cpu_without_a_name_has_none(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor : 0\n")

    assert cpu_name(tmp_path / "cpuinfo") == ""
    assert cpu_name(tmp_path / "none") == ""
