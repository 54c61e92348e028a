"""A fake trainer that answers questions about checkpoints without TensorFlow.

`python fake_checkpoint_asker.py FLAG… QUESTION --about N --to M`. With the flag `hold` it waits for
the file `go` in the folder of the checkpoint's run; with `problem` it refuses; with `half` it dies
in the middle; with `others` the data differ from those that the checkpoint was trained with.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

METRICS = {"loss": 0.25, "sparse_categorical_accuracy": 0.875}

_DIGIT = {"text": "2 × 2 × 1", "pixels": "AECA/w==", "height": 2, "width": 2, "channels": 1}
PREDICTED = {
    "split": "test",
    "of": 200,
    "samples": [
        {
            "place": place,
            "inputs": [_DIGIT],
            "outputs": [
                {
                    "predicted": {"text": "7 (93 %)", "name": "digit"},
                    "target": {"text": target, "name": "digit"},
                    "right": target == "7",
                },
                {"predicted": {"text": "0.25", "name": "age"}},
            ],
        }
        for place, target in ((0, "7"), (199, "1"))
    ],
}


def main(arguments: list[str]) -> int:
    """Do as the flags say, and answer."""
    *flags, question, _, about, _, to = arguments
    with os.fdopen(int(about), "rb") as file:
        asked = json.load(file)
    _say(to, {"progress": "building the model"})
    if "hold" in flags:
        _wait_for(Path(asked["checkpoint"]).parents[1] / "go")
    if "problem" in flags:
        told = {"problem": "The checkpoint is no longer there.", "advice": ["Choose another."]}
        _say(to, {"answer": told, "lasting": False})
    else:
        _say(to, {"answer": _answer(question, asked, flags), "lasting": False})
    return 0


def _answer(question: str, asked: dict[str, Any], flags: list[str]) -> dict[str, Any]:
    if question == "evaluate":
        device = "CPU:0" if asked["host"] else "GPU:0"
        answer = {
            "split": "test",
            "metrics": METRICS,
            "samples": asked["batch"],
            "seconds": 0.5,
            "device": device,
        }
        return answer | {"warning": "The data are others." if "others" in flags else ""}
    if question == "predict":
        return PREDICTED | {"checkpoint": Path(asked["checkpoint"]).name}
    Path(asked["path"]).write_bytes(b"model")
    if "half" in flags:
        os._exit(1)
    return {"bytes": 5}


def _wait_for(path: Path) -> None:
    pause = threading.Event()
    while not path.exists():
        pause.wait(0.01)


def _say(to: str, document: Any) -> None:
    os.write(int(to), json.dumps(document).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
