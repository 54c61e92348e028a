"""New lines of what a trainer process printed."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.runs.lines import LineTail

# The end of a long output is what is asked for; the whole of it lies in the file.
_LAST_BYTES = 256 * 1024


class OutputLog:
    """The lines of `trainer.log`, from its last 256 KiB on."""

    def __init__(self, path: Path) -> None:
        self._tail = LineTail(path)
        self._tail.offset = max(0, _size(path) - _LAST_BYTES)
        self._cut = self._tail.offset > 0
        self._problem = ""

    def new(self) -> list[str]:
        """The complete lines that have come since the last time, at most a mebibyte of them."""
        try:
            lines = [line.decode("utf-8", "replace").rstrip("\r") for line in self._tail.read()]
        except OSError as error:
            return self._tell(f"{self._tail.path} cannot be read: {error.strerror or error}.")
        if self._cut and lines:
            self._cut = False
            lines[0] = "… earlier lines stand in the file"
        return lines

    def _tell(self, problem: str) -> list[str]:
        """A problem as a line, once."""
        before, self._problem = self._problem, problem
        return [problem] if problem != before else []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
