"""What supervisor and member say to each other: a JSON line each, over a pair of sockets.

The pair has no address: nobody else can reach it. It is inherited over the start of the member, and
the kernel closes it with the process at its other end, however that ends.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from gpu_studio.contract import JSON_ERRORS, WorkerShare, WorkerStage, events, lossy_line


class Here(msgspec.Struct, tag="here", frozen=True):
    """The member's process has begun, and waits for the others.

    `node` is what Slurm calls its machine, `addresses` are those of its interfaces, and `port` is
    free there; empty and 0 where the supervisor knows. `versions` are those of what trains.
    """

    pid: int
    host: str
    node: str = ""
    addresses: list[str] = []
    port: int = 0
    versions: dict[str, str] = {}


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """The member is ready to train from `step`; `digests` must be those of all others."""

    step: int
    digests: dict[str, str]


class Heartbeat(msgspec.Struct, tag="beat", frozen=True):
    """The member lives, and has come so far; see `event_parts.WorkerState`.

    `limited` says that Slurm has said that its time is nearly over, `refusal` why its disk takes
    no more of what it writes, in the system's words.
    """

    state: WorkerStage
    step: int
    compute: float
    wait: float
    memory: int | None
    limited: bool = False
    refusal: str = ""


class Shared(msgspec.Struct, tag="shared", frozen=True):
    """What each worker has done of the chief's work, and the bytes that each server holds."""

    shares: list[WorkerShare]
    held: list[int]


class Relayed(msgspec.Struct, tag="relayed", frozen=True):
    """An event of worker 0, for the run's own events."""

    event: events.AnyEvent


class MemberEnded(msgspec.Struct, tag="ended", frozen=True):
    """The member has ended; `follows` if only because another had."""

    event: events.Finished | events.Failed
    follows: bool = False


class Go(msgspec.Struct, tag="go", frozen=True):
    """All are there: `config` is the member's TF_CONFIG, `checkpoint` the path to go on from.

    `together` is how many of them hold the data on the member's machine.
    """

    config: str
    checkpoint: str = ""
    together: int = 1


class Begin(msgspec.Struct, tag="begin", frozen=True):
    """All are ready and alike: train."""


class Leave(msgspec.Struct, tag="leave", frozen=True):
    """All have ended: the process may go. TensorFlow's would end the others if one went before."""


class Gone(msgspec.Struct, tag="gone", frozen=True):
    """The member's process has ended with this status: said by what started it."""

    status: int


class Over(msgspec.Struct, tag="over", frozen=True):
    """This start of the workers is over: end at once. Another may be under way already."""


class Present(msgspec.Struct, tag="present", frozen=True):
    """The supervisor lives."""


Said = (
    Here
    | Ready
    | Heartbeat
    | Shared
    | Relayed
    | MemberEnded
    | Go
    | Begin
    | Leave
    | Gone
    | Over
    | Present
)
_encoder = msgspec.json.Encoder(enc_hook=events.plain_number)
_decoder = msgspec.json.Decoder(Said)
_AT_ONCE = 1 << 16


def line_of(what: Said) -> bytes:
    """What is said, as a line."""
    return lossy_line(_encoder, what)


def said_in(lines: Iterable[bytes]) -> Iterator[Said]:
    """What lines say; those that cannot be made out are passed over."""
    for line in lines:
        with suppress(*JSON_ERRORS):
            yield _decoder.decode(line)


class Channel:
    """One end. Any thread may say; one thread hears."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._saying = threading.Lock()
        self._rest = b""
        self.closed = False

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    def say(self, what: Said) -> bool:
        """Send it; return whether the other end may still hear it."""
        line = line_of(what)
        with self._saying, suppress(OSError):
            self._socket.sendall(line)
            return True
        return False

    def hear(self) -> Iterator[Said]:
        """What has come; waits for something first. Sets `closed` once nothing more can come."""
        try:
            got = self._socket.recv(_AT_ONCE)
        except OSError:
            got = b""
        self.closed = not got
        *lines, self._rest = (self._rest + got).split(b"\n")
        yield from said_in(lines)

    def close(self) -> None:
        """Hear and say nothing more."""
        self.closed = True
        self._socket.close()


def pair() -> tuple[Channel, socket.socket]:
    """A channel, and its other end, for a process that inherits it."""
    mine, other = socket.socketpair()
    return Channel(mine), other
