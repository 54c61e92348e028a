"""The prediction made when a run started, kept beside it for comparison with its peaks."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from gpu_studio.contract import RunDirectory, read_json, write_private


class Prediction(msgspec.Struct, kw_only=True, frozen=True):
    """Predicted peak `bytes` of a step on each logical device, and its seconds.

    None: not predicted.
    """

    bytes: dict[str, int] = {}
    step_seconds: float | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing was predicted."""
        return not self.bytes and self.step_seconds is None


_decoder = msgspec.json.Decoder(Prediction)


def write(run: RunDirectory, prediction: Prediction) -> None:
    """Store a prediction beside its run. An empty one, or one that the disk refuses, is dropped."""
    if not prediction.empty:
        with suppress(OSError):
            write_private(run.prediction_file, msgspec.json.encode(prediction) + b"\n")


def read(run: RunDirectory) -> Prediction | None:
    """Return the prediction for `run`; None if there is none or it cannot be read."""
    try:
        found = read_json(run.prediction_file, _decoder.decode)
    except OSError:
        return None
    return None if found.empty else found
