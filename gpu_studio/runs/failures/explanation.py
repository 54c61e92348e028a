"""What happened to a run, for a person: a sentence, what to try, and what it was told from."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from gpu_studio.runs.event_parts import Mend

DMESG = "See whether the kernel ended it for want of memory, with: dmesg | grep -i 'out of memory'"
SMALLER = "Make it need less memory: a smaller training.batch_size, a smaller model, fewer slices."
DRIVER = "Train the same plan on the CPU: if it works there, look at the driver, with: nvidia-smi"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened in a plain sentence, what to try, and the lines it was told from.

    `mends` are changes of the run's plan that may help.
    """

    message: str
    suggestions: tuple[str, ...] = ()
    details: str = ""
    mends: tuple[Mend, ...] = ()

    @property
    def settings(self) -> tuple[str, ...]:
        """The mends for the command line: `Halve the batch: --set training.batch_size=128`."""
        return tuple(f"{mend.text}: --set {shlex.quote(f'{mend.field}={_as_toml(mend.value)}')}" for mend in self.mends)


def _as_toml(value: Any) -> str:
    """A value as `--set` reads it: inline, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_as_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_as_toml, value)) + "]"
    return json.dumps(value)
