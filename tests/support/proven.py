"""What was shown to train as it should is not trained again while it is the same.

What an exported script trains hangs on its syntax tree, on the files that it reads, and on the
versions of Python, TensorFlow, Keras and NumPy. Of each test that has trained scripts,
`tests/export/proven.json` keeps a digest of all these and of the test's own file, which names the
plans and what their measures are held against. A test whose digest is another one trains.

`make whole` trains everything, and writes all digests anew; with GPU_STUDIO_PROVE=1 a test writes
its own where it had to train. What a run trains is not in them: that is held against Keras' `fit`
in `tests/trainer`, each time.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from parity_jobs import WHOLE

from gpu_studio.common.python_syntax import parsed

RECORDING = WHOLE or "GPU_STUDIO_PROVE" in os.environ
STORE = Path(__file__).parents[1] / "export" / "proven.json"
SUPPORT = Path(__file__).parent
ROOT = STORE.parents[2]
SPARED = ("trained", "nothing, as it was proven before")
HERE = "HERE"
"""Stands for a folder of a test, and for that of the source, whose names are others elsewhere."""


class Proof:
    """Whether a test was passed before by the very same programs."""

    def __init__(
        self,
        name: str,
        test_file: Path,
        store: Path = STORE,
        *,
        whole: bool = WHOLE,
        recording: bool = RECORDING,
    ) -> None:
        self._name, self._test_file, self._store = name, test_file, store
        self._whole, self._recording, self._digest = whole, recording, ""
        self.spared = False
        """Whether nothing was trained."""

    def holds(self, scripts: Iterable[str], folder: Path, *beside: str) -> bool:
        """Whether scripts with these texts, made in a `folder` of the test, need no training.

        `beside` are the modules of `tests/support` that they import, or that made what they read.
        """
        texts = [program(each, folder, ROOT) for each in scripts]
        texts += [(SUPPORT / f"{each}.py").read_text(encoding="utf-8") for each in beside]
        self._digest = digest_of([*texts, self._test_file.read_text(encoding="utf-8")])
        self.spared = not self._whole and _kept(self._store).get(self._name) == self._digest
        return self.spared

    def keep(self) -> None:
        """Remember that these texts have passed the test, if that is asked for."""
        assert self._digest, "nothing was proven"
        self.spared = False
        if self._recording:
            _keep(self._store, self._name, self._digest)


def program(text: str, *folders: Path) -> str:
    """What a text says as a program, however it is broken into lines, in whatever `folders`.

    How long their names are decides where lines are broken.
    """
    try:
        said = ast.dump(parsed(text))
    except SyntaxError:  # of a shell
        said = text
    for folder in folders:
        said = said.replace(str(folder), HERE)
    return said


def digest_of(texts: Iterable[str]) -> str:
    """A digest of texts, and of the versions of what trains them."""
    packages = [f"{name} {version(name)}" for name in ("tensorflow", "keras", "numpy")]
    python = ".".join(map(str, sys.version_info[:2]))
    whole = json.dumps([python, packages, *texts])
    return hashlib.sha256(whole.encode()).hexdigest()


def _kept(store: Path) -> dict[str, str]:
    try:
        kept: dict[str, str] = json.loads(store.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return kept


def _keep(store: Path, name: str, digest: str) -> None:
    """Write a digest into the store, which several workers share."""
    with store.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept = {**json.loads(file.read() or "{}"), name: digest}
        file.truncate(0)
        file.write(json.dumps(kept, indent=1, sort_keys=True) + "\n")


@pytest.fixture
def proof(request: pytest.FixtureRequest) -> Iterator[Proof]:
    """The proof of a test that trains scripts."""
    made = Proof(request.node.nodeid.removeprefix("tests/export/"), request.node.path)
    yield made
    if made.spared:
        request.node.user_properties.append(SPARED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests trained nothing."""
    reports = (each for some in terminalreporter.stats.values() for each in some)
    spared = {each.nodeid for each in reports if SPARED in getattr(each, "user_properties", ())}
    if spared:
        said = f"{len(spared)} tests trained no script, as theirs were proven before"
        terminalreporter.line(f"{said}: make whole trains all")
