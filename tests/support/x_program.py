"""Programs with windows on a real X server: their output lines, and pointer and key input."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from patience import PATIENCE_S

Program = subprocess.Popen[bytes]


@contextmanager
def started(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Program]:
    """A program that ends when its standard input is closed; one that does not is killed."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environment), bufsize=0
    ) as child:
        try:
            yield child
        finally:
            assert child.stdin is not None
            child.stdin.close()
            try:
                child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()


def told(program: Program, key: str, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
    """The next value that the program tells under this key and that is as wanted."""
    return facts_with(program, key, wanted)[key]


def at_rest(program: Program) -> dict[str, Any]:
    """What a window of `telling_window` sees once it has looked several times and nothing moved.

    It is the window that counts: of one that is held up nobody can tell by silence.
    """
    assert program.stdin is not None
    program.stdin.write(b"?")
    facts = facts_with(program, "still", bool)
    del facts["still"]
    return facts


def facts_with(program: Program, key: str, wanted: Callable[[Any], bool]) -> dict[str, Any]:
    """The next line that the program tells with such a value under this key."""
    assert program.stdout is not None
    while True:  # unbuffered: what is read ahead would not be seen by select
        ready, _, _ = select.select([program.stdout], [], [], PATIENCE_S)
        line = program.stdout.readline() if ready else b""
        assert line, f"the window ended, or said nothing of {key} as wanted"
        facts: dict[str, Any] = json.loads(line)
        if key in facts and wanted(facts[key]):
            return facts


def xdotool(environment: Mapping[str, str], *words: object) -> str:
    """Move the real pointer and press real keys; what xdotool answers."""
    command = ["xdotool", *map(str, words)]
    done = subprocess.run(
        command, env=dict(environment), check=True, timeout=PATIENCE_S, capture_output=True
    )
    return done.stdout.decode()
