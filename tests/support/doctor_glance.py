"""A pytest plugin: what the doctor finds at a glance, asked once for all windows of a worker."""

from __future__ import annotations

import os
import subprocess

import pytest
from patience import PATIENCE_S

from gpu_studio.common.processes import module_command


@pytest.fixture(scope="session")
def glance(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command line that repeats, at once, the doctor's quick findings on this machine."""
    folder = tmp_path_factory.mktemp("doctor")
    command = [
        *module_command("gpu_studio.hardware.doctor"),
        "--json",
        "--runs-dir",
        str(folder / "runs"),
    ]
    asked = subprocess.run(
        command, env={**os.environ, "HOME": str(folder)}, capture_output=True, timeout=PATIENCE_S
    )
    (folder / "glance.json").write_bytes(asked.stdout)
    return "cat", str(folder / "glance.json")
