"""Create the virtual environment `.venv` from the hash-locked requirements, and record its state.

`.venv/ready.json` describes the finished environment. It is removed before anything changes and
written when all is done, so that a partial environment never counts as ready.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Whoever has installed the first has the second, at the same versions.
INCLUDES: Mapping[str, tuple[str, ...]] = {"dev": ("runtime",)}


class SetupError(Exception):
    """The environment cannot be made; the text says why and what to do."""


@dataclass(frozen=True)
class Environment:
    """The environment of the source tree `root`."""

    root: Path

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """The file that says what it holds."""
        return self.folder / "ready.json"

    def lock(self, name: str) -> Path:
        """The file with the locked requirements of that name."""
        return self.root / "packaging" / "locks" / f"{name}.txt"

    def lacks(self, locks: Sequence[str]) -> list[str]:
        """Which locks, and "project" for the project, are not installed as now written."""
        held = self._held()
        return [name for name in (*locks, "project") if held.get(name) != self._fingerprint(name)]

    def fill(self, locks: Sequence[str]) -> None:
        """Install the locks and then the project, which stays where it is. Raises `SetupError`."""
        held = self._held()
        self.stamp.unlink(missing_ok=True)
        for lock in locks:
            self._pip(
                "--require-hashes",
                "--requirement",
                str(self.lock(lock)),
                what=f"packaging/locks/{lock}.txt",
            )
        self._compile()
        self._pip(
            "--no-deps",
            "--no-build-isolation",
            "--editable",
            str(self.root),
            what="GPU Studio itself",
        )
        names = {"project", *locks, *(part for lock in locks for part in INCLUDES.get(lock, ()))}
        self._write_stamp(held | {name: self._fingerprint(name) for name in names})

    def make(self, wanted: tuple[int, int] | None) -> None:
        """Make the environment with this interpreter, unless there is one that works.

        Raises `SetupError`.

        `wanted` is the version asked for by name; an environment of another version is then made
        anew.
        """
        version = self._version()
        if version is not None and wanted in (None, version):
            return
        done = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", str(self.folder)], check=False
        )
        if done.returncode != 0:
            raise SetupError(
                f"{sys.executable} could not make {self.folder}; what it said stands above."
            )

    def _version(self) -> tuple[int, int] | None:
        ask = "import sys, pip; print(*sys.version_info[:2])"
        try:
            said = subprocess.run(
                [self.python, "-I", "-c", ask], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        major, minor = (int(word) for word in said.split())
        return (major, minor) if (3, 11) <= (major, minor) <= (3, 13) else None

    def _pip(self, *words: str, what: str) -> None:
        quiet = () if sys.stderr.isatty() else ("--quiet",)
        command = [
            self.python,
            "-m",
            "pip",
            "install",
            "--no-input",
            "--disable-pip-version-check",
            "--no-compile",  # see `_compile`
            *quiet,
            *words,
        ]
        environment = {**os.environ, "PIP_USER": "0"}
        environment.pop("PYTHONPATH", None)
        if (
            subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, check=False
            ).returncode
            != 0
        ):
            raise SetupError(
                f"pip could not install {what}; what it said stands above. "
                "If the network is down, try again when it is up: nothing half-installed is used."
            )

    def _compile(self) -> None:
        """Compile the packages on all cores, where pip takes one.

        Some have files that are no Python of today, which nobody imports.
        """
        compiling = [
            str(self.python),
            "-m",
            "compileall",
            "-qq",
            "-j",
            "0",
            str(self.folder / "lib"),
        ]
        subprocess.run(compiling, stdin=subprocess.DEVNULL, check=False)

    def _held(self) -> dict[str, str]:
        try:
            held = json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return held if isinstance(held, dict) and self.python.exists() else {}

    def _write_stamp(self, held: Mapping[str, str]) -> None:
        unfinished = self.stamp.with_suffix(".part")
        unfinished.write_text(json.dumps(held, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        unfinished.replace(self.stamp)

    def _fingerprint(self, name: str) -> str:
        # The project is installed by its path: in a tree that was moved or copied it is not
        # installed.
        part, of = (
            ("pyproject.toml", str(self.root)) if name == "project" else (self.lock(name), "")
        )
        return hashlib.sha256((self.root / part).read_bytes() + of.encode()).hexdigest()
