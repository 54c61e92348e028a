"""Watch the machine until stdin is closed: `python -m gpu_studio.hardware.sampler`.

It writes one sample per line to stdout and reads requests from stdin, one JSON object per line:
`{"classes": ["fast", "host"], "rate": 2.0, "retry": true}`, each part optional. It ends with code 0
when stdin or stdout is closed, and with 75 when the driver was replaced under it: then its owner
restarts it.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gpu_studio.common.practice import PRACTICE, PracticeError
from gpu_studio.common.steady import steady_seconds
from gpu_studio.contract.samples import Sample, encode
from gpu_studio.hardware.probe import open_source
from gpu_studio.hardware.sampler.driver import RenewError
from gpu_studio.hardware.sampler.schedule import CLASSES, USUAL_RATE
from gpu_studio.hardware.sampler.watching import Request, Sampler
from gpu_studio.hardware.source import (
    RENEW,
    SIMULATE,
    MachineSource,
    SimulationError,
    is_recording,
    simulated,
)

READ = 65536
LONGEST_REQUEST = 65536


class Requests:
    """The lines of stdin, read without ever blocking on an unfinished one."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._cut = b""

    def wait(self, seconds: float) -> list[Request] | None:
        """The requests that arrive within `seconds`; None once stdin is closed."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return []
        chunk = os.read(self.descriptor, READ)
        if not chunk:
            return None
        *lines, self._cut = (self._cut + chunk).split(b"\n")
        self._cut = self._cut[:LONGEST_REQUEST]
        return [request for line in lines if (request := _request(line))]


def main(words: Sequence[str] | None = None) -> int:
    """Watch until stdin is closed; return the exit code."""
    chosen = _arguments(words)
    # The owner ends this by closing stdin: Ctrl+C in the same terminal is meant for the owner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wanted = Request(chosen.classes.split(","), chosen.rate)
    try:
        if is_recording(simulated()):
            return replay(Path(simulated()), wanted)
        return watch(open_source(), wanted, chosen)
    except SimulationError as error:
        sys.stderr.write(f"{SIMULATE}: {error}\n")
        return 2
    except PracticeError as error:
        sys.stderr.write(f"{PRACTICE}: {error}\n")
        return 2
    except BrokenPipeError:
        return 0


def replay(path: Path, wanted: Request) -> int:
    """Replay a recording until stdin is closed; return the exit code. Raises SimulationError."""
    from gpu_studio.hardware.simulated.recording import Replay

    teller = Replay(path, _emit)
    found: list[Request] | None = [wanted]
    requests = Requests(sys.stdin.fileno())
    while found is not None:
        for request in found:
            if request.classes is not None:
                teller.wanted = frozenset(request.classes)
        found = requests.wait(teller.step())
    return 0


def watch(source: MachineSource, wanted: Request, chosen: argparse.Namespace) -> int:
    """Watch `source` until stdin is closed; return the exit code."""
    left_out = [int(index) for index in chosen.leave_out.split(",") if index]
    sampler = Sampler(
        source, _emit, folder=chosen.folder, left_out=left_out, careful=chosen.careful
    )
    sampler.request(wanted)
    requests = Requests(sys.stdin.fileno())
    try:
        sampler.begin()
        while (found := requests.wait(sampler.step())) is not None:
            for request in found:
                sampler.request(request)
    except RenewError as error:
        sys.stderr.write(f"{error}\n")
        return RENEW
    sampler.close()
    return 0


def _emit(sample: Sample) -> None:
    line = encode(msgspec.structs.replace(sample, steady=round(steady_seconds(), 6)))
    while line:
        line = line[os.write(1, line) :]


def _request(line: bytes) -> Request | None:
    try:
        return msgspec.json.decode(line, type=Request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_studio.hardware.sampler", description=__doc__
    )
    parser.add_argument(
        "--classes", default=",".join(CLASSES), help="what to look at from the start on"
    )
    parser.add_argument(
        "--rate", type=float, default=USUAL_RATE, help="of the fast figures, a second (0.2 to 10)"
    )
    parser.add_argument("--folder", type=Path, help="the folder whose disk is told of")
    parser.add_argument(
        "--careful", action="store_true", help="say which card is about to be asked"
    )
    parser.add_argument(
        "--leave-out", default="", metavar="INDICES", help="cards that are not to be asked: 1,3"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
