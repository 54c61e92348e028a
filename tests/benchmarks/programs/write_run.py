"""A trainer that does not train.

It holds the lock of a run and continues writing its lines as requested.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

import long_runs
from long_runs import CALL_SECONDS, Training, call, machine

from gpu_studio.contract import lock, samples
from gpu_studio.contract.directory import RunDirectory

CALLS_A_SECOND = round(1 / CALL_SECONDS)


class Writer:
    """Appends to the events and to the recording of a run, each line whole."""

    def __init__(self, run: RunDirectory, before: Training, per_call: int) -> None:
        # Calls are numbered on, as if there had always been so many steps in each.
        self.training = replace(before, per_call=per_call, steps=before.calls * per_call)
        self.number = before.calls
        self.sequence = 1 << 40
        self.random = np.random.default_rng(before.seed + 1)
        self.events = run.events_file.open("ab", buffering=0)
        self.recording = run.hardware_file.open("ab", buffering=0)

    @property
    def moment(self) -> float:
        """When the last call ended."""
        return self.training.moment(self.number - 1)

    def write(self, seconds: int, *, live: bool) -> None:
        """Write what happens in so many seconds."""
        began = time.monotonic()
        for done in range(seconds * CALLS_A_SECOND):
            if live:
                # What is written at which pace is what is measured: a reader follows it.
                time.sleep(max(began + (done + 1) * CALL_SECONDS - time.monotonic(), 0.0))
            self.events.write(b"".join(self._call()))
            if done % CALLS_A_SECOND == 0:
                told = machine(self.training, self.moment, self.random)
                self.recording.write(b"".join(map(samples.encode, told)))

    def _call(self) -> Iterator[bytes]:
        for event in call(self.training, self.number, self.random):
            yield long_runs.line(self.training, event, self.sequence)
            self.sequence += 1
        self.number += 1


def main(path: str, steps: str, per_call: str, begin: str) -> None:
    """Write what is asked for."""
    run = RunDirectory(Path(path))
    held = lock.take(run.lock_file)
    writer = Writer(run, Training(int(steps), per_call=int(per_call), begin=float(begin)), 100)
    for line in sys.stdin:
        how, _, seconds = line.strip().rpartition(" ")
        writer.write(int(seconds), live=how == "live")
        sys.stdout.write(f"done {writer.moment}\n")
        sys.stdout.flush()
    held.release()


if __name__ == "__main__":
    main(*sys.argv[1:])
