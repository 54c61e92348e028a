"""A fake trainer that answers questions about a plan without TensorFlow.

`python fake_plan_asker.py [FLAG] QUESTION --about N --to N`. It appends each question as a line,
with its process id, to the file that `$FAKE_ASKER_STARTS` names. The number of training samples in
its answer is the option `samples`.

Its answers are those of `made_plan_facts.ANSWERS`, as JSON beside this file, each on a line of its
own. Every window that a test opens asks two or three times, so what most questions do not need is
imported late, and nothing of the program: to import what makes the answers, or only what reads
them, takes far longer than to start Python.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ANSWERS = __file__.replace("asker.py", "answers.json")
COMMAND = (sys.executable, "-I", "-S", __file__)
"""The quickest way to be asked: it needs no package."""


def main(arguments: list[str]) -> int:
    """Answer, or do what the flag says instead of telling of the model."""
    *flags, question, _, about, _, to = arguments
    starts = os.open(os.environ["FAKE_ASKER_STARTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(starts, f"{question} {os.getpid()}\n".encode())
    os.close(starts)
    with os.fdopen(int(about)) as file:
        told = file.read()
    if question == "data":
        return _answer(int(to), _data(told), flags)
    os.write(int(to), b'{"progress": "building the model"}\n')
    for flag in flags:
        _act(flag, int(to))
    return _answer(int(to), _heavy() if "heavy" in flags else _line("model"), flags)


def answers() -> dict[str, Any]:
    """All answers, for who would change them."""
    import json

    with open(ANSWERS, "rb") as file:  # noqa: PTH123 (pathlib is imported longer than this works)
        found: dict[str, Any] = json.load(file)
    return found


def _line(name: str) -> str:
    """One answer as it is written."""
    with open(ANSWERS, encoding="utf-8") as file:  # noqa: PTH123
        start = f'"{name}": '
        (found,) = (line for line in file if line.startswith(start))
    return found.removeprefix(start).rstrip().removesuffix(",")


def _answer(to: int, answer: str, flags: list[str]) -> int:
    lasting = "false" if "forgetful" in flags or answer == _line("untrained") else "true"
    os.write(to, f'{{"answer": {answer}, "lasting": {lasting}}}\n'.encode())
    return 0


def _heavy() -> str:
    """The model whose first and last layer have weights and slots too large for one MiB.

    Those of the last one leave no room for the layer before it.
    """
    import json

    model = answers()["model"]
    for layer, count in zip(model["graph"]["layers"][::2], (40_000, 47_000), strict=True):
        layer |= {"parameters": count, "trainable": count}
        layer |= {"weight_bytes": 4 * count, "trainable_bytes": 4 * count}
        model["slots"][layer["name"]] = 8 * count
    return json.dumps(model)


def _data(told: str) -> str:
    if ":fit_2" in told and '"trains"' not in told:
        return _line("untrained")
    if "samples" not in told:
        return _line("data")
    import json
    import tomllib

    options = tomllib.loads(json.loads(told)["plan"]).get("data", {}).get("options", {})
    if options.get("samples") == 13:
        return _line("refused")
    known = answers()["data"]
    known["data"]["train"] = options.get("samples", 800)
    return json.dumps(known)


def _act(flag: str, to: int) -> None:
    import signal

    if flag == "hang":
        signal.pause()
    elif flag == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif flag == "nonsense":
        os.write(to, b'{"answer": {"graph": "none of your business"}}\n')
    elif flag == "refuse":
        os.write(to, b'{"error": "ImportError: no TensorFlow here"}\n')
    elif flag not in ("forgetful", "heavy"):
        raise ValueError(flag)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
