"""Train on a table with little memory: `limited_table.py SMALL LARGE MIB`, JSON on stdout.

A program, for a process of its own. Everything that a step needs is there once SMALL has been read;
then the process may take MIB more, by the kernel's limit. LARGE is read and gathered for some
steps, once as it comes, and once as if it fitted: that must fail, or the limit shows nothing.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

BATCH, STEPS = 256, 40


def main(small: str, large: str, mib: str) -> None:
    """Print the first number of each batch, whether it was streamed, and what holding it said."""
    gathered(small)
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    limit = held + (int(mib) << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    found, streamed = gathered(large)
    sys.stdout.write(json.dumps([found, streamed, refused(large)]))


def gathered(path: str) -> tuple[list[float], bool]:
    """The first number of each batch of some steps, from within the second epoch."""
    from gpu_studio.trainer.batches import Cut, training_stream

    data = loaded(path)
    stream = training_stream(data.train, Cut(len(data.train), BATCH, 1), 3, 1, BATCH)
    return [float(part[0][0, 0]) for part in stream.take(STEPS)], data.train.streamed


def loaded(path: str) -> Any:
    """The data of the table."""
    from gpu_studio.plan import Data
    from gpu_studio.trainer.data import load_data

    return load_data(Data(table=path, options={"targets": ["y"]}), 0, Path())


def refused(path: str) -> str:
    """What is raised if the table is held in memory all the same."""
    from gpu_studio.trainer.data import table

    vars(table)["bytes_for_data"] = lambda: 1 << 60
    try:
        loaded(path)
    except Exception as error:  # noqa: BLE001 (whatever it is)
        return str(error)
    return ""


main(*sys.argv[1:])
