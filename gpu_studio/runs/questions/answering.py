"""What the process that answers a question has said so far."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

MOST_CHATTER = 65536
LAST_WORDS = 4000


class Answering:
    """Takes what the process writes, in any pieces. `answer` is None until it has come; `ended` once no more will."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self.answer: dict[str, Any] | None = None
        self.lasting = False
        self.ended = False
        self.code: int | None = None
        self._progress = progress
        self._error = ""
        self._cut = b""
        self._chatter = b""

    def take_answer(self, data: bytes) -> None:
        """Take more of what it wrote on the descriptor for the answer; empty is its end."""
        if not data:
            self.ended = True
        *lines, self._cut = (self._cut + data).split(b"\n")
        for line in lines:
            # Whatever follows the answer, or the refusal, is none of the asker's business.
            if self.answer is None and not self._error:
                self._take_line(line)

    def take_chatter(self, data: bytes) -> None:
        """Take more of what it wrote to stderr, of which the end is kept."""
        self._chatter = (self._chatter + data)[-MOST_CHATTER:]

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        return self._chatter.decode("utf-8", "replace")[-LAST_WORDS:].strip()

    def why_not(self) -> str:
        """Why there is no answer, in a sentence."""
        if self._error:
            return self._error
        if self.code is not None and self.code < 0:
            return f"TensorFlow crashed ({signal.strsignal(-self.code) or f'signal {-self.code}'})"
        last = self.last_words().splitlines()[-1:]
        return f"TensorFlow's process ended without an answer ({last[0][:300] if last else f'exit code {self.code}'})"

    def _take_line(self, line: bytes) -> None:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(told, dict):
            return
        if "progress" in told:
            self._progress(str(told["progress"]))
        elif isinstance(told.get("answer"), dict):
            self.answer, self.lasting, self.ended = told["answer"], told.get("lasting") is True, True
        elif "error" in told:
            self._error, self.ended = str(told["error"]), True
