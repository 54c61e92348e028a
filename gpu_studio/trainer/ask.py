"""`python -m gpu_studio.trainer.ask QUESTION`: one short question to TensorFlow, answered in JSON.

With `--about N`, descriptor N holds the subject of the question in JSON. With `--to N`, the answer
goes to descriptor N in JSON lines: any number of `{"progress": "…"}` and `{"part": {…}}`, then one
`{"answer": {…}, "lasting": true}` or `{"error": "…"}`. The process then also ends when its stdin
closes, because whoever asked is gone. Without `--to`, only the answer is written, to stdout.
TensorFlow's own output goes to stderr.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from gpu_studio.trainer.environment import leave
from gpu_studio.trainer.errors import TrainerError

QUESTIONS = {
    "devices": ("gpu_studio.trainer.answers.devices", "answer"),
    "data": ("gpu_studio.trainer.answers.data", "answer"),
    "model": ("gpu_studio.trainer.answers.layers", "layer_costs"),
    "times": ("gpu_studio.trainer.answers.layers", "layer_times"),
    "evaluate": ("gpu_studio.trainer.answers.checkpoint", "evaluate"),
    "predict": ("gpu_studio.trainer.answers.predicting", "predict"),
    "keras_file": ("gpu_studio.trainer.answers.checkpoint", "export_file"),
    "benchmark": ("gpu_studio.trainer.answers.benchmarks", "benchmark"),
    "proof": ("gpu_studio.trainer.answers.proving", "proof"),
}
"""The module and the function for each question.

Called with what the question is about and with a function for its progress, the function
returns the answer, and whether it holds as long as nothing of what it is about, the machine and
the installation changes."""

ANSWERED, FAILED, DESERTED = 0, 1, 3
NEW_OBJECTS = 100_000
"""Python looks for garbage as often as so many objects were made. By default it does so hundreds of
times while TensorFlow is imported, where there is none: a fifth of the time that a short answer
takes."""

Say = Callable[[dict[str, Any]], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer one question and return the exit status."""
    chosen = _parser().parse_args(arguments)
    faulthandler.enable()
    gc.set_threshold(NEW_OBJECTS)
    asked_by_program = chosen.to is not None
    descriptor = chosen.to if asked_by_program else _own_stdout()
    if asked_by_program:
        threading.Thread(target=_leave_with_the_asker, daemon=True).start()
    try:
        return _answer(chosen, _sayer(descriptor, everything=asked_by_program))
    except BrokenPipeError:
        return DESERTED


def _answer(chosen: argparse.Namespace, say: Say) -> int:
    try:
        module, function = QUESTIONS[chosen.question]
        answering = getattr(import_module(module), function)
        answer, lasting = answering(_about(chosen.about), _telling(say))
    except BrokenPipeError:
        raise
    # Whatever TensorFlow raises, the asker must learn of it.
    except Exception as error:  # noqa: BLE001
        say({"error": _in_words(error)})
        return FAILED
    say({"answer": answer, "lasting": lasting})
    return ANSWERED


def _in_words(error: Exception) -> str:
    if isinstance(error, TrainerError):
        return error.message
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, ImportError):
        return (
            f"{sys.executable} cannot import what trains ({said.rstrip('.')}). Install what is "
            "missing there"
        )
    return said


def _telling(say: Say) -> Callable[[Any], None]:
    """Return what an answer tells its progress by, a text, and its parts, which are documents."""
    return lambda part: say({"progress" if isinstance(part, str) else "part": part})


def _about(descriptor: int | None) -> dict[str, Any]:
    if descriptor is None:
        return {}
    with os.fdopen(descriptor, "rb") as file:
        about: dict[str, Any] = json.load(file)
    return about


def _sayer(descriptor: int, *, everything: bool) -> Say:
    def say(line: dict[str, Any]) -> None:
        if everything:
            _write(descriptor, line)
        elif "answer" in line:
            _write(descriptor, line["answer"])
        else:
            said = line.get("progress") or line.get("error") or json.dumps(line["part"])
            sys.stderr.write(f"{said}\n")

    return say


def _write(descriptor: int, document: Any) -> None:
    data = json.dumps(document, ensure_ascii=False).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _own_stdout() -> int:
    """Return a descriptor of stdout for the answer alone; from here on, stdout itself is stderr."""
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def _leave_with_the_asker() -> None:
    while os.read(0, 1024):
        pass
    # Not by an exception: the main thread may be inside TensorFlow for a while.
    os._exit(DESERTED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpu_studio.trainer.ask", description=__doc__)
    parser.add_argument(
        "question", choices=sorted(QUESTIONS), metavar="QUESTION", help=", ".join(sorted(QUESTIONS))
    )
    parser.add_argument(
        "--about", type=int, metavar="N", help="the descriptor to read what it is about from"
    )
    parser.add_argument(
        "--to", type=int, metavar="N", help="the descriptor to answer on, for programs"
    )
    return parser


if __name__ == "__main__":
    leave(main())
