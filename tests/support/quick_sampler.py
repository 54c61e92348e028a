"""The real sampler with its slow tasks ten times as frequent: `python quick_sampler.py`.

Its options, and the machine that it watches, are those of the sampler.
"""

from __future__ import annotations

import sys
from typing import Final

from gpu_studio.hardware.sampler import schedule, watching
from gpu_studio.hardware.sampler.__main__ import main

TIMES: Final = 10


def command(*options: str) -> list[str]:
    """Its command line, as `supervision.sampler_command` gives the sampler's."""
    return [sys.executable, "-P", __file__, *(options or ("--classes", "", "--rate", "1"))]


def hurry() -> None:
    """Have this process's sampler be quick."""
    for name, seconds in schedule.PERIODS.items():
        schedule.PERIODS[name] = seconds / TIMES
    watching.SHORTEST_RETRY /= TIMES


if __name__ == "__main__":
    hurry()
    sys.exit(main())
