"""What a trainer is asked to do: one JSON object a line in `commands.jsonl`, which the trainer polls."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import msgspec

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import append_line
from gpu_studio.runs.reading.lines import LineTail

Action = Literal["pause", "resume", "stop", "stop_now", "checkpoint"]


class Command(msgspec.Struct, frozen=True):
    """One request, made at `time` (seconds since the epoch, UTC)."""

    action: Action
    time: float = 0.0


_decoder = msgspec.json.Decoder(Command)
_encoder = msgspec.json.Encoder()


def send(run: RunDirectory, action: Action) -> Command:
    """Ask the trainer of `run` for `action`. Raises OSError if that cannot be written down."""
    command = Command(action, time.time())
    append_line(run.commands_file, _encoder.encode(command) + b"\n")
    return command


class CommandReader:
    """The commands that came since the last time; lines that are no command are passed over."""

    def __init__(self, path: Path) -> None:
        self._lines = LineTail(path)

    def read(self) -> list[Command]:
        """Return the new commands, oldest first; none if nobody has asked for anything yet."""
        return [command for line in self._lines.read() if (command := _decode(line)) is not None]


def _decode(line: bytes) -> Command | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
