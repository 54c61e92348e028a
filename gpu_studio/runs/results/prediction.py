"""What was predicted of a run when it was started, kept beside it to be held against its peaks."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import read_json, write_private


class Prediction(msgspec.Struct, kw_only=True, frozen=True):
    """`bytes` that a step takes at its peak on each logical device, and the seconds of a step; None: not predicted."""

    bytes: dict[str, int] = {}
    step_seconds: float | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing was predicted."""
        return not self.bytes and self.step_seconds is None


_decoder = msgspec.json.Decoder(Prediction)


def write(run: RunDirectory, prediction: Prediction) -> None:
    """Keep a prediction beside its run. One that says nothing, or that the disk does not take, is not kept."""
    if not prediction.empty:
        with suppress(OSError):
            write_private(run.prediction_file, msgspec.json.encode(prediction) + b"\n")


def read(run: RunDirectory) -> Prediction | None:
    """Return what was predicted of `run`; None if nothing was, or it cannot be made out."""
    try:
        found = read_json(run.prediction_file, _decoder.decode)
    except OSError:
        return None
    return None if found.empty else found
