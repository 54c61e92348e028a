"""The rule for when a sampler counts as hung and when to restart it.

No process or clock of its own. The window drives it with a QProcess and a timer, the command line
by waiting.
"""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gpu_studio.contract.samples import Asking
from gpu_studio.hardware.words import RENEW

HANG_AFTER = 5.0
OPENING_AFTER = 30.0
"""Seconds: without persistence mode, a driver takes long to open eight cards."""
SHORTEST, LONGEST = 0.5, 30.0
STEADY_AFTER = 60.0
"""Seconds after which the end of a sampler does not count as a failure to start."""
ALL_CLASSES = ("fast", "slow", "processes", "pcie", "host", "host_processes")
_OPENING, _ASKING = b'{"sample":"opening"', b'{"sample":"asking"'
_ROOT = Path(__file__).resolve().parents[2]


def sampler_command(
    classes: Iterable[str] = ALL_CLASSES,
    rate: float = 1.0,
    folder: Path | None = None,
    python: str = sys.executable,
) -> list[str]:
    """The command line of a sampler.

    `folder` is the one whose disk is reported, such as the runs'.
    """
    # -P: a `random.py` in the current folder does not shadow Python's.
    command = [
        python,
        "-P",
        "-m",
        "gpu_studio.hardware.sampler",
        "--classes",
        ",".join(classes),
        "--rate",
        str(rate),
    ]
    return [*command, "--folder", str(folder)] if folder else command


def sampler_environment() -> dict[str, str]:
    """This process's environment, with the path of this package if it is not an installed one."""
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
    if _ROOT in installed:
        return dict(os.environ)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", "")))),
    }


@dataclass(frozen=True, slots=True)
class Restart:
    """Restart the sampler after `delay` seconds; `words` tell the user why."""

    delay: float
    words: str


@dataclass(slots=True)
class Watchdog:
    """Tracks a sampler's life. All times are of one monotonic clock, in seconds.

    A hung one is restarted so that it reports which card it queries (`options`): if it hangs again,
    that card is left out from then on, and the others continue.
    """

    hang_after: float = HANG_AFTER
    opening_after: float = OPENING_AFTER
    _started: float = 0.0
    _heard: float = 0.0
    _patience: float = 0.0
    _failures: int = field(default=0)
    _careful: bool = False
    _asked: int | None = None
    _left_out: set[int] = field(default_factory=set)

    @property
    def options(self) -> list[str]:
        """Arguments to add to the sampler's next command line."""
        left_out = ",".join(map(str, sorted(self._left_out)))
        return [
            *(["--careful"] if self._careful else []),
            *(["--leave-out", left_out] if left_out else []),
        ]

    def forgive(self) -> None:
        """Stop leaving cards out: the user wants to retry."""
        self._left_out.clear()

    def started(self, now: float) -> None:
        """Record that the sampler was started."""
        self._started = self._heard = now
        self._patience = self.opening_after

    def heard(self, now: float, line: bytes) -> None:
        """Record a line of output. One that the driver is being opened extends the deadline."""
        self._heard = now
        self._asked = _asked(line) if line.startswith(_ASKING) else None
        self._patience = self.opening_after if line.startswith(_OPENING) else self.hang_after

    @property
    def deadline(self) -> float:
        """When it counts as hung unless it writes a line before."""
        return self._heard + self._patience

    def is_overdue(self, now: float) -> bool:
        """Whether it hangs: then kill it, and call `ended`."""
        return now > self.deadline

    def ended(self, now: float, code: int | None, last_words: str = "") -> Restart:
        """It ended with this code (negative: the signal), or was killed because it hung (None).

        `last_words` are the last line of its stderr.
        """
        if now - self._started > STEADY_AFTER or code == RENEW:
            self._failures = 0
        if code is None:
            self._careful = True
            self._left_out |= {self._asked} if self._asked is not None else set()
        self._asked = None
        delay = min(LONGEST, SHORTEST * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        return Restart(delay, f"{self._why(code, last_words)}: it is asked again in {delay:g} s")

    def _why(self, code: int | None, last_words: str) -> str:
        if code is None:
            return f"the NVIDIA driver did not answer for {self._patience:g} s"
        if code == RENEW:
            return "the NVIDIA driver was replaced"
        if code < 0:
            return f"the process that watches the cards crashed ({_signal_name(-code)})"
        return f"the process that watches the cards ended ({last_words or f'exit code {code}'})"


def _asked(line: bytes) -> int | None:
    try:
        return msgspec.json.decode(line, type=Asking).index
    except (msgspec.MsgspecError, RecursionError):
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
