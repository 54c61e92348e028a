"""What TensorFlow's native code writes to stderr: kept while it goes there, and read.

TensorFlow tells only there why it uses no card.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, Final

LOUD: Final[Mapping[str, str]] = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "dso_loader=1"}
"""The variables that have it name each library that it cannot open; set before its import."""
_UNLOADED = re.compile(
    r"Could not load dynamic library '([^'\n]+)'; dlerror: (.*?)(?:; LD_LIBRARY_PATH: .*)?$",
    re.MULTILINE,
)
_WARNING = re.compile(r"^[WEF]\d{4} [^\]\n]*\] (.+)$", re.MULTILINE)
"""A line of its log as it looks since 2.17: level and date, time, thread, place, and the words."""
_MOST_WORDS, _MOST_LETTERS = 3, 500
_ENDS_S = 5.0
"""Seconds within which `tee` has read the rest, unless somebody else holds its pipe open."""


class Overheard:
    """What was written; empty until the block has ended."""

    words = ""


@contextmanager
def overheard() -> Iterator[Overheard]:
    """While entered, keep what is written to stderr, which shows it as ever.

    A process of its own passes it on, so that nothing is lost if this one crashes. Where that
    cannot be started, or there is no place for a file, nothing is kept.
    """
    heard = Overheard()
    with ExitStack() as held:
        begun = _begun(held)
        if begun is None:
            yield heard
            return
        kept, own, passing = begun
        assert passing.stdin is not None
        os.dup2(passing.stdin.fileno(), 2)
        passing.stdin.close()
        try:
            yield heard
        finally:
            os.dup2(own, 2)
            _end(passing)
            kept.seek(0)
            heard.words = kept.read().decode("utf-8", "replace")


def _begun(held: ExitStack) -> tuple[IO[bytes], int, subprocess.Popen[bytes]] | None:
    """Return the file, a copy of stderr, and what writes to both; None if there cannot be any."""
    try:
        # Without a name, for a crash would leave it behind.
        kept = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        own = os.dup(2)
        held.callback(os.close, own)
        number = kept.fileno()
        command = ["tee", "-i", f"/dev/fd/{number}"]
        passing = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=2, pass_fds=(number,))
    except OSError:
        return None
    return kept, own, passing


def _end(passing: subprocess.Popen[bytes]) -> None:
    """Wait for its end; a process that inherited stderr may hold it up for ever."""
    try:
        passing.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        passing.kill()
        passing.wait()


def unloaded(words: str) -> dict[str, str]:
    """Return the libraries that TensorFlow could not open, each with the system's reason."""
    return dict(_UNLOADED.findall(words))


def warnings_in(words: str) -> list[str]:
    """Return TensorFlow's last warnings and errors, each once, without time and place."""
    said = dict.fromkeys(line.strip()[:_MOST_LETTERS] for line in _WARNING.findall(words))
    return list(said)[-_MOST_WORDS:]
