"""Explain why a script of the user's has ended before it called the fit of a model."""

from __future__ import annotations

import re
from typing import Any

from gpu_studio.plan import listed, printable
from gpu_studio.plan.scripts import BY_HAND, fit_in
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.admission import Admitted

_TWICE = (
    "It runs once for the data and anew for the model: what the first left, such as a folder, the "
    "second finds there."
)


class Overhearing:
    """A stream that also keeps the end of what is written to it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._said = stream, ""

    def write(self, text: str) -> Any:
        """Write it, and keep the end."""
        self._said = (self._said + text)[-_LONGEST_HEARD:]
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def last(self) -> str:
        """The last line that says anything."""
        lines = [line.strip() for line in self._said.splitlines()]
        return printable(next((line for line in reversed(lines) if line), ""))


_LONGEST_HEARD = 4096


def _words(said: str, *, by_place: bool = False) -> str:
    """Advise how a script is given what a shell would give it: what it lacks, as it has said.

    `by_place` says whether it takes words by their places, as they come in `sys.argv`.
    """
    found = re.search(r"arguments are required: (.+)$", said)
    # An option that has several names is called by all of them: `-o/--out`.
    lacking = [each.split("/")[-1] for each in found[1].split(", ")] if found else ["--epochs"]
    value = '"…"' if found else '"3"'
    pairs = [f'"{each}", {value}' if each.startswith("-") else f'"{each}"' for each in lacking]
    if by_place and not found:
        lacking, pairs = ["it"], ['"…"']
    given = f"options.arguments=[{', '.join(pairs)}]"
    return (
        "What a shell would give it stands in the plan, for the model and for the data: --set "
        f"'model.{given}' 'data.{given}'. Or give {listed(lacking)} a default in the script."
    )


_OF_SHELLS = (b"sys.argv", b"argparse", b"add_argument", b"absl", b"click", b"fire", b"typer")
"""A script that takes words of a shell mentions one of these."""


def ended_without_fit(admitted: Admitted, ended: SystemExit | None, said: str) -> UserCodeError:
    """Return why a script that has ended, by this exception if any, came to no `fit`.

    `said` is the last that it printed.
    """
    code = None if ended is None else ended.code
    if isinstance(code, str):  # of a whole text, the end says mostly how it is used
        code = printable(next(filter(None, map(str.strip, reversed(code.splitlines()))), ""))
    how = "" if ended is None else f" by sys.exit({'' if code is None else code})"
    # argparse and the like say what they lack, and end with a number; others print it.
    why = f": {said}" if said and not isinstance(code, str) else "."
    if ended is None and said:
        why = f", and said last: {said}"
    by_place = b"sys.argv" in admitted.text and b"add_argument" not in admitted.text
    advice = [_words("" if ended is None else said, by_place=by_place)]
    by_batches, by_tape = (each in admitted.text for each in (b"train_on_batch", b"GradientTape"))
    call = fit_in(admitted.text) if ended is None and not by_batches else None
    if code:
        advice.append(_TWICE)
    elif call:
        asks = any(each in admitted.text for each in _OF_SHELLS)
        other_way = (
            f"It went another way than to its call of fit in line {call.line}: look for what it "
            "reads and did not find, and for conditions that do not hold."
        )
        advice = [other_way, *advice * asks, *[f"{BY_HAND}."] * by_tape]
    elif by_batches or by_tape or not said:
        advice.insert(0, f"{BY_HAND}.")
    return UserCodeError(
        f"{admitted.path.name} ended{how} before it called the fit of a model{why}", advice
    )
