"""The ports of a cluster on this machine: free ones, or the plan's."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import psutil

from gpu_studio.trainer.errors import ClusterError

LOCAL = "127.0.0.1"


def held_ports(held: ExitStack, count: int, first: int = 0) -> list[int]:
    """So many ports that nothing listens on: from `first` on, or any if it is 0.

    While they are `held`, nobody gets one who asks the kernel for any port. TensorFlow's server can
    listen there all the same: it may be seconds until it does. Raises ClusterError if one of the
    plan's is in use.
    """
    return [_bound(held, first + place if first else 0) for place in range(count)]


def _bound(held: ExitStack, port: int) -> int:
    """The port that was bound, to all addresses as TensorFlow's server does."""
    one = held.enter_context(socket.socket())
    # As TensorFlow's server does, which else could not share it. And a port on which somebody
    # listened until a moment ago, an earlier start or the examination before this one, would seem
    # to be in use.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        one.bind(("", port))
    except OSError as error:
        raise ClusterError(
            f"Port {port} cannot be listened on ({(error.strerror or str(error)).lower()})"
            f"{_by_whom(port)}.",
            [
                "Set cluster.port to 0, which takes free ones.",
                "Or end the program that listens there.",
            ],
        ) from error
    found: int = one.getsockname()[1]
    return found


def _by_whom(port: int) -> str:
    try:
        found = next(
            each
            for each in psutil.net_connections("tcp")
            if each.laddr and each.laddr.port == port and each.status == psutil.CONN_LISTEN
        )
        if not found.pid:
            return ""
        return f": process {found.pid} ({psutil.Process(found.pid).name()}) listens there"
    except (StopIteration, psutil.Error, OSError):
        return ""
