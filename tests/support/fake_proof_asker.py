"""A fake trainer that tells of a plan, and proves steps of it, without TensorFlow.

`python fake_proof_asker.py [FLAG] QUESTION --about N --to N`. A batch runs if it is at most
`$FAKE_LARGEST`; with the flag `crash` one that does not ends the process as a lack of memory does,
and with `unlimited` no device's limit is known, to keep a part of it back.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tomllib
from pathlib import Path
from typing import Any

import fake_plan_asker


def main(arguments: list[str]) -> int:
    """Answer."""
    *flags, question, _, about, _, to = arguments
    if question != "proof":
        return fake_plan_asker.main(arguments[len(flags) :])
    told = json.load(os.fdopen(int(about)))
    plan = tomllib.loads(told["plan"])
    batch, devices = plan["training"]["batch_size"], plan["distribution"]["devices"]
    with Path(os.environ["FAKE_ASKER_STARTS"]).open("a", encoding="utf-8") as file:
        file.write(
            f"proof {batch} on {' '.join(devices)} host {told['host']} kept {told['kept']}\n"
        )
    if "hang" in flags:
        signal.pause()
    runs = batch <= int(os.environ["FAKE_LARGEST"])
    if not runs and "crash" in flags:
        os.kill(os.getpid(), signal.SIGKILL)
    answer: dict[str, Any] = {"runs": True, "held": {"GPU:0": batch << 10}}
    if not runs:
        answer = {"runs": False, "why": "Out of memory on GPU:0.", "device": "GPU:0"}
        answer["kept"] = [] if "unlimited" in flags else devices
    said = {"error": "No such loss."} if "refuse" in flags else {"answer": answer, "lasting": False}
    os.write(int(to), json.dumps(said).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
