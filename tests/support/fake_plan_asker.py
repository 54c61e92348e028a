"""A fake trainer that answers questions about a plan without TensorFlow.

`python fake_plan_asker.py [FLAG] QUESTION --about N --to N`. It appends each question as a line,
with its process id, to the file that `$FAKE_ASKER_STARTS` names. The number of training samples in
its answer is the option `samples`.

Its answers are those of `made_plan_facts.ANSWERS`, as JSON beside this file, and it imports nothing
of the program: every window that a test opens asks two or three times, and to import what makes
the answers takes four times as long as all else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).with_name("fake_plan_answers.json")


def main(arguments: list[str]) -> int:
    """Answer, or do what the flag says instead of telling of the model."""
    *flags, question, _, about, _, to = arguments
    with Path(os.environ["FAKE_ASKER_STARTS"]).open("a", encoding="utf-8") as file:
        file.write(f"{question} {os.getpid()}\n")
    told = json.load(os.fdopen(int(about)))
    answers = json.loads(ANSWERS.read_bytes())
    if question == "data":
        answer = _data(told, answers)
        return _say(int(to), {"answer": answer, "lasting": "forgetful" not in flags})
    _say(int(to), {"progress": "building the model"})
    for flag in flags:
        _ACTIONS[flag](int(to))
    model = _heavy(answers["model"]) if "heavy" in flags else answers["model"]
    return _say(int(to), {"answer": model, "lasting": "forgetful" not in flags})


def _heavy(model: dict[str, Any]) -> dict[str, Any]:
    """The model whose first and last layer have weights and slots too large for one MiB."""
    for layer in model["graph"]["layers"][::2]:
        layer |= {"parameters": 40_000, "trainable": 40_000}
        layer |= {"weight_bytes": 160_000, "trainable_bytes": 160_000}
        model["slots"][layer["name"]] = 320_000
    return model


def _data(about: dict[str, Any], answers: dict[str, Any]) -> Any:
    import tomllib  # which most questions do not need, and which takes as long as all the rest

    options = tomllib.loads(about["plan"]).get("data", {}).get("options", {})
    if options.get("samples") == 13:
        return answers["refused"]
    known: dict[str, Any] = answers["data"]
    return known | {"data": known["data"] | {"train": options.get("samples", 800)}}


def _say(to: int, document: Any) -> int:
    os.write(to, json.dumps(document).encode() + b"\n")
    return 0


def _hang(_to: int) -> None:
    signal.pause()


def _die(_to: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _nonsense(to: int) -> None:
    _say(to, {"answer": {"graph": "none of your business"}})


def _refuse(to: int) -> None:
    _say(to, {"error": "ImportError: no TensorFlow here"})


_ACTIONS: dict[str, Callable[[int], object]] = {
    "hang": _hang,
    "die": _die,
    "nonsense": _nonsense,
    "refuse": _refuse,
    "forgetful": lambda _to: None,
    "heavy": lambda _to: None,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
