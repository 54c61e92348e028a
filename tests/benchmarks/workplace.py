"""Where the benchmarks work: a home of its own for what they start, gone afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE_S = 300.0


class BenchmarkError(Exception):
    """Something that was to be measured did not work.

    The text says what, with the end of what it said.
    """


@dataclass(frozen=True)
class Workplace:
    """A folder to work in, and the environment of everything that is started there."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def runs(self) -> Path:
        """Where runs are kept."""
        return self.folder / "runs"

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have what this process starts meanwhile work here too."""
        before = dict(os.environ)
        os.environ.update(self.environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def program(self, name: str, *words: str) -> Any:
        """Run a program of `programs/` to its end; what it printed last, which is JSON.

        Raises BenchmarkError.
        """
        command = [sys.executable, "-P", str(PROGRAMS / name), *words]
        try:
            done = self._run(command)
        except subprocess.TimeoutExpired as error:
            raise BenchmarkError(f"{name} did not end within {PATIENCE_S:.0f} s") from error
        if done.returncode != 0:
            raise BenchmarkError(
                f"{name} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}"
            )
        return json.loads(done.stdout.splitlines()[-1])

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


@contextmanager
def workplace() -> Iterator[Workplace]:
    """A workplace that is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="gpu-studio-bench-") as name:
        folder = Path(name)
        homes = (
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
            "XDG_STATE_HOME",
            "KERAS_HOME",
        )
        own = {variable: str(folder / variable.lower()) for variable in homes}
        quiet = {
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "QT_QPA_PLATFORM": "offscreen",
            "PYTHONFAULTHANDLER": "1",
        }
        place = Workplace(
            folder,
            {**os.environ, **quiet, **own, "HOME": name, "GPU_STUDIO_RUNS_DIR": f"{name}/runs"},
        )
        place.runs.mkdir(mode=0o700)
        yield place
