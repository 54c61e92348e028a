"""Programs on simulated cards. Their process ids cannot be real: nobody can end one by mistake."""

from __future__ import annotations

from gpu_studio.hardware.source import KnownProcess

FIRST_PID = 2**22 + 1
"""Linux counts processes to 2²² at most."""
_MOST_CARDS = 64
_COMMANDS = (
    ("ada", "python train.py --config large.toml"),
    ("grace", "python -m gpu_studio.trainer runs/20261120T190000Z-digits"),
    ("emmy", "jupyter-kernel sweep.ipynb"),
)


def pid_on(place: int, instance: int = 0) -> int:
    """The process on the card with this index, or on its instance in MIG mode."""
    return FIRST_PID + place + _MOST_CARDS * instance


def known(pid: int) -> KnownProcess | None:
    """The user and command of a simulated process; None for any other id."""
    if pid < FIRST_PID:
        return None
    user, command = _COMMANDS[(pid - FIRST_PID) % len(_COMMANDS)]
    return KnownProcess(user, command, 96.0, 4_210)
