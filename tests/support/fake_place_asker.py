"""A process that answers all that `gpu-studio place` asks, without TensorFlow.

The plan's facts, and layers' times.

`python fake_place_asker.py [FLAG] gpu_studio.trainer.ask QUESTION --about N --to N`. Each question
is written, a line each, to the file that `$FAKE_ASKER_STARTS` names; about times with the threads
an operation that were handed on."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import fake_plan_asker

OF_TIMES = ("hang-times", "refuse-times", "nonsense-times")
HELD = 10_000_000
"""Bytes that a step of 32 samples held."""


def main(arguments: list[str]) -> int:
    """Answer, or do what the flag says instead."""
    *flags, _asker, question, _about, about, _to, to = arguments
    if question != "times":
        others = [flag for flag in flags if flag not in OF_TIMES]
        return fake_plan_asker.main([*others, question, "--about", about, "--to", to])
    with Path(os.environ["FAKE_ASKER_STARTS"]).open("a", encoding="utf-8") as file:
        file.write(f"times {os.getpid()} {os.environ.get('TF_NUM_INTRAOP_THREADS', '')}\n")
    _say(int(to), {"progress": "training steps"})
    if "hang-times" in flags:
        signal.pause()
    if "refuse-times" in flags:
        _say(int(to), {"error": "ImportError: no TensorFlow here"})
        return 1
    _say(int(to), {"answer": _answer(json.load(os.fdopen(int(about))), flags), "lasting": True})
    return 0


def _answer(told: dict[str, Any], flags: list[str]) -> dict[str, Any]:
    if "nonsense-times" in flags:
        return {"times": "none of your business"}
    layers = fake_plan_asker.answers()["times"]
    held = {"batch": 32, "bytes": HELD}
    return {
        "times": dict.fromkeys(told["devices"], layers),
        "links": {},
        "held": dict.fromkeys(told["devices"], held),
    }


def _say(to: int, document: Any) -> None:
    os.write(to, json.dumps(document).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
