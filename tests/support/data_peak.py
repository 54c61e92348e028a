"""Measure a process's peak memory while it reads data as a run does: `data_peak.py NPZ…`, in bytes.

A program, for a process of its own. The peak never falls: give the smallest data first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

BATCH = 512


def main(paths: list[str]) -> None:
    """Print the peaks of resident memory, each after one more of these files."""
    peaks = []
    for path in paths:
        go_through(Path(path))
        peaks.append(peak())
    sys.stdout.write(json.dumps(peaks))


def go_through(path: Path) -> None:
    """One epoch over all splits."""
    from gpu_studio.plan import Data
    from gpu_studio.trainer.batches import Cut, evaluation_stream, training_stream
    from gpu_studio.trainer.data import load_data

    data = load_data(Data(file=str(path)), 0, path.parent)
    streams = [training_stream(data.train, Cut(len(data.train), BATCH, 1), 0, 0, 0)]
    streams += [evaluation_stream(split, Cut(len(split), BATCH, 1)) for split in data.splits[1:]]
    for split, stream in zip(data.splits, streams, strict=True):
        for _ in stream.take(-(-len(split) // BATCH)):
            pass


def peak() -> int:
    """The most bytes that have been resident so far."""
    line = next(
        each
        for each in Path("/proc/self/status").read_text().splitlines()
        if each.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


main(sys.argv[1:])
