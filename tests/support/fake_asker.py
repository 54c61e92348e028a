"""A fake trainer that answers questions without TensorFlow, and misbehaves on request.

`python fake_asker.py FLAG… QUESTION --to N`. It counts its starts in the file that
`$FAKE_ASKER_STARTS` names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> int:
    """Do what the flags say, in their order."""
    *flags, question, _, descriptor = arguments
    if starts := os.environ.get("FAKE_ASKER_STARTS"):
        with Path(starts).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    for flag in flags:
        _ACTIONS[flag](int(descriptor))
    _say(
        int(descriptor),
        {"answer": {"question": question, "seen": os.environ.get("SEEN")}, "lasting": True},
    )
    return 0


def _say(descriptor: int, document: Any) -> None:
    os.write(descriptor, json.dumps(document).encode() + b"\n")


def _progress(descriptor: int) -> None:
    _say(descriptor, {"progress": "importing"})
    os.write(descriptor, b"chatter that is no JSON\n[1]\n")


def _in_pieces(descriptor: int) -> None:
    line = json.dumps({"answer": {"whole": True}, "lasting": True}).encode() + b"\n"
    for place in range(len(line)):
        os.write(descriptor, line[place : place + 1])


def _fail(descriptor: int) -> None:
    _say(descriptor, {"error": "ImportError: no TensorFlow here"})
    os._exit(1)


def _passing(descriptor: int) -> None:
    _say(descriptor, {"answer": {"passing": True}, "lasting": False})


def _crash(_descriptor: int) -> None:
    sys.stderr.write("F tensorflow: check failed\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


def _exit(_descriptor: int) -> None:
    sys.stderr.write("chatter\nlibfoo.so: cannot open\n")
    sys.stderr.flush()
    os._exit(3)


def _hang(descriptor: int) -> None:
    _say(descriptor, {"progress": "hanging"})
    signal.pause()


def _compute(descriptor: int) -> None:
    """Take longer than anybody waits for a word, but say again and again what is computed."""
    for _ in range(16):
        _say(descriptor, {"progress": "computing"})
        time.sleep(0.2)


def _flood(_descriptor: int) -> None:
    sys.stderr.write("chatter " * 100_000)
    sys.stderr.flush()


def _child(_descriptor: int) -> None:
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])


_ACTIONS = {
    "progress": _progress,
    "in-pieces": _in_pieces,
    "fail": _fail,
    "passing": _passing,
    "crash": _crash,
    "exit": _exit,
    "hang": _hang,
    "compute": _compute,
    "flood": _flood,
    "child": _child,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
