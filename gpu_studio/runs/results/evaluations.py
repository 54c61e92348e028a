"""What checkpoints were evaluated to, kept beside the run: one line of `evaluations.jsonl` for each evaluation."""

from __future__ import annotations

import msgspec

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import append_line
from gpu_studio.runs.reading.lines import LineTail


class Evaluation(msgspec.Struct, kw_only=True, frozen=True):
    """How good a checkpoint was on a split (`test` or `validation`) of so many `samples`.

    `metrics` holds `loss` and the metrics, None for what is no number. `device` is where it was evaluated, in
    `seconds`; `time` is when, in seconds since 1970 (UTC).
    """

    checkpoint: str
    split: str
    metrics: dict[str, float | None]
    samples: int
    seconds: float
    device: str
    time: float


_decoder = msgspec.json.Decoder(Evaluation)


def keep(run: RunDirectory, evaluation: Evaluation) -> None:
    """Write an evaluation down beside its run. Raises OSError if that cannot be."""
    append_line(run.evaluations_file, msgspec.json.encode(evaluation) + b"\n")


def evaluations(run: RunDirectory) -> dict[str, Evaluation]:
    """The newest evaluation of each checkpoint, by its name, in the order in which they were made.

    What cannot be read is left out.
    """
    found: dict[str, Evaluation] = {}
    try:
        for line in LineTail(run.evaluations_file).read_all():
            _take(line, found)
    except OSError:
        return found
    return found


def _take(line: bytes, found: dict[str, Evaluation]) -> None:
    try:
        told = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    found.pop(told.checkpoint, None)
    found[told.checkpoint] = told
