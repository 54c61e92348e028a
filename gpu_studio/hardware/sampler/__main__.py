"""Watch the machine until stdin is closed: `python -m gpu_studio.hardware.sampler`.

It writes one sample per line to stdout and reads requests from stdin, one JSON object per line:
`{"classes": ["fast", "host"], "rate": 2.0, "retry": true}`, each part optional. It ends with code 0
when stdin or stdout is closed, and with 75 when the driver was replaced under it: then its owner
restarts it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from gpu_studio.common.practice import PRACTICE, PracticeError
from gpu_studio.hardware.probe import open_source
from gpu_studio.hardware.sampler.schedule import CLASSES, USUAL_RATE
from gpu_studio.hardware.sampler.watching import Request, Requests, emit_line, watch
from gpu_studio.hardware.source import (
    SIMULATE,
    MachineSource,
    SimulationError,
    is_recording,
    simulated,
)


def main(words: Sequence[str] | None = None) -> int:
    """Watch until stdin is closed; return the exit code."""
    chosen = arguments(words)
    # The owner ends this by closing stdin: Ctrl+C in the same terminal is meant for the owner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if is_recording(simulated()):
            return replay(Path(simulated()), _request(chosen))
        return watch_chosen(open_source(), chosen)
    except SimulationError as error:
        sys.stderr.write(f"{SIMULATE}: {error}\n")
        return 2
    except PracticeError as error:
        sys.stderr.write(f"{PRACTICE}: {error}\n")
        return 2
    except BrokenPipeError:
        return 0


def watch_chosen(source: MachineSource, chosen: argparse.Namespace) -> int:
    """Watch `source` as the arguments say until stdin is closed; return the exit code."""
    return watch(
        source,
        _request(chosen),
        folder=chosen.folder,
        left_out=[int(index) for index in chosen.leave_out.split(",") if index],
        careful=chosen.careful,
    )


def replay(path: Path, wanted: Request) -> int:
    """Replay a recording until stdin is closed; return the exit code. Raises SimulationError."""
    from gpu_studio.hardware.simulated.recording import Replay

    teller = Replay(path, emit_line)
    found: list[Request] | None = [wanted]
    requests = Requests(sys.stdin.fileno())
    while found is not None:
        for request in found:
            if request.classes is not None:
                teller.wanted = frozenset(request.classes)
        found = requests.wait(teller.step())
    return 0


def _request(chosen: argparse.Namespace) -> Request:
    return Request(chosen.classes.split(","), chosen.rate)


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """What the command line says. An error ends the process, as argparse does."""
    parser = argparse.ArgumentParser(
        prog="python -m gpu_studio.hardware.sampler", description=__doc__
    )
    parser.add_argument(
        "--classes", default=",".join(CLASSES), help="what to look at from the start on"
    )
    parser.add_argument(
        "--rate", type=float, default=USUAL_RATE, help="of the fast figures, a second (0.2 to 10)"
    )
    parser.add_argument("--folder", type=Path, help="the folder whose disk is reported")
    parser.add_argument(
        "--careful", action="store_true", help="say which card is about to be asked"
    )
    parser.add_argument(
        "--leave-out", default="", metavar="INDICES", help="cards that are not to be asked: 1,3"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
