"""A fake trainer that answers the question about layers' times without TensorFlow.

`python fake_times_asker.py [FLAG] times --about N --to N`. It writes its process id to the file
that `$FAKE_ASKER_STARTS` names, and does what the flag says instead of answering.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

NAMES = ("flatten", "dense", "dense_1", "dense_2", "outputs")
TIME = {"forward_fixed": 0.001, "backward_fixed": 0.002, "update": 0.0001}


def main(arguments: list[str]) -> int:
    """Answer, or do what the flag says."""
    *flags, question, _, about, _, to = arguments
    with Path(os.environ["FAKE_ASKER_STARTS"]).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    assert question == "times"
    told = json.load(os.fdopen(int(about)))
    _say(int(to), {"progress": "training steps"})
    for flag in flags:
        _ACTIONS[flag](int(to))
    times = {device: dict.fromkeys(NAMES, TIME) for device in told["devices"]}
    _say(int(to), {"answer": {"times": times}, "lasting": True})
    return 0


def _say(to: int, document: object) -> None:
    os.write(to, json.dumps(document).encode() + b"\n")


_ACTIONS: dict[str, Callable[[int], object]] = {
    "hang": lambda _to: signal.pause(),
    "die": lambda _to: os.kill(os.getpid(), signal.SIGKILL),
    "nonsense": lambda to: _say(to, {"answer": {"times": "none of your business"}}),
    "refuse": lambda to: _say(to, {"error": "ImportError: no TensorFlow here"}),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
