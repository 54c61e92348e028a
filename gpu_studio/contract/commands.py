"""Requests to the trainer: one JSON object per line of `commands.jsonl`, which it polls."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import msgspec

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.files import append_line
from gpu_studio.contract.lines import LineTail

Action = Literal["pause", "resume", "stop", "stop_now", "checkpoint"]


class Command(msgspec.Struct, frozen=True):
    """One request, made at `time` (seconds since the epoch, UTC)."""

    action: Action
    time: float = 0.0


_decoder = msgspec.json.Decoder(Command)
_encoder = msgspec.json.Encoder()


def send(run: RunDirectory, action: Action) -> Command:
    """Append a request for `action` to the commands of `run`.

    Raises OSError if it cannot be written.
    """
    command = Command(action, time.time())
    append_line(run.commands_file, _encoder.encode(command) + b"\n")
    return command


class CommandReader:
    """Reads the commands that came since the last time; lines that hold no command are skipped."""

    def __init__(self, path: Path) -> None:
        self._lines = LineTail(path)

    def read(self) -> list[Command]:
        """Return the new commands, oldest first; none if there is no file yet."""
        return [command for line in self._lines.read() if (command := _decode(line)) is not None]


def _decode(line: bytes) -> Command | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
