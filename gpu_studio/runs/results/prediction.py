"""The prediction made when a run started, kept beside it for comparison with its peaks."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

import msgspec

from gpu_studio.contract import RunDirectory, json_line, read_json, write_private

NOT_PREDICTED = "cuDNN's workspaces or what XLA changes"


class Prediction(msgspec.Struct, kw_only=True, frozen=True):
    """Predicted peak `bytes` of a step on each logical device, and its seconds.

    None: not predicted. On the devices in `incomplete` it is without NOT_PREDICTED; on those in
    `bounds` it is a bound, which most steps do not reach.
    """

    bytes: dict[str, int] = {}
    step_seconds: float | None = None
    incomplete: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()

    def at_most(self, device: str) -> str:
        """What is said before the bytes of this device: nothing, if they are no bound."""
        return "at most " if device in self.bounds else ""

    def missing_on(self, device: str) -> str:
        """What is not in the bytes of this device, after them in words; empty if nothing is."""
        return f", without {NOT_PREDICTED}" if device in self.incomplete else ""

    @property
    def empty(self) -> bool:
        """Whether nothing was predicted."""
        return not self.bytes and self.step_seconds is None


class Foreseen(Protocol):
    """What is stored of the memory that was predicted for one device."""

    @property
    def device(self) -> str:
        """TensorFlow's name for it."""

    @property
    def total(self) -> int:
        """The bytes; 0 of a device that takes no part."""

    @property
    def without(self) -> str:
        """What is not in them; empty if nothing is."""

    @property
    def bound(self) -> bool:
        """Whether most steps do not reach them."""


def of_memories(memories: Iterable[Foreseen], step_seconds: float | None = None) -> Prediction:
    """What to store of the memory that was predicted, without devices that take no part."""
    used = [each for each in memories if each.total]
    return Prediction(
        bytes={each.device: each.total for each in used},
        step_seconds=step_seconds,
        incomplete=tuple(each.device for each in used if each.without),
        bounds=tuple(each.device for each in used if each.bound),
    )


_decoder = msgspec.json.Decoder(Prediction)


def write(run: RunDirectory, prediction: Prediction) -> None:
    """Store a prediction beside its run. An empty one, or one that the disk refuses, is dropped."""
    if not prediction.empty:
        with suppress(OSError):
            write_private(run.prediction_file, json_line(prediction))


def read(run: RunDirectory) -> Prediction | None:
    """Return the prediction for `run`; None if there is none or it cannot be read."""
    try:
        found = read_json(run.prediction_file, _decoder.decode)
    except OSError:
        return None
    return None if found.empty else found
