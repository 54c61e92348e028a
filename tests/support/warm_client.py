"""`python warm_client.py ADDRESS PROGRAM ARGUMENT…` stands for a fork of `warm_python`'s server.

Tests start this hundreds of times, and a script is compiled each time: so it is short, and imports
next to nothing that is written in Python: that would take half as long as Python's own start.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found] # typeshed has none of it
import _socket as socket
import array
import os
import sys

HANDED_ON = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
_SERVER_GONE = 1


def stand_for(address: str, program: str, arguments: list[str]) -> int:
    """Have a fork run `program`; its exit status.

    A signal that ended the fork ends this process as well.
    """
    others = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]  # noqa: PTH208
    # Before there is the line, which may get the number of the listing: nobody else may hold this
    # end of it.
    passed = [0, 1, 2, *(each for each in others if _is_open(each))]
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect("\0" + address)
    numbers = " ".join(map(str, passed))
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    wanted = [os.getcwd(), numbers, str(len(variables)), *variables, program, *arguments]  # noqa: PTH109
    handed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", passed))
    # The fork may tell that it runs before this process has its handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON)
    line.sendmsg([os.fsencode("\0".join(wanted))], [handed])
    for each in HANDED_ON:
        signal.signal(each, lambda number, _frame: line.send(str(number).encode()))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
    status = int(line.recv(16) or _SERVER_GONE)
    line.close()
    if status < 0:
        _end_by(-status)
    return status


def _end_by(number: int) -> None:
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:  # the descriptor of the listing itself
        return False
    return True


if __name__ == "__main__":
    sys.exit(stand_for(sys.argv[1], sys.argv[2], sys.argv[3:]))
