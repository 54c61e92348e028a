"""Evaluations of checkpoints, kept beside the run: one line of `evaluations.jsonl` each."""

from __future__ import annotations

import msgspec

from gpu_studio.contract import JSON_ERRORS, LineTail, RunDirectory, append_line, json_line


class Evaluation(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The metrics of a checkpoint on a split (`test` or `validation`) of `samples` samples.

    `metrics` holds `loss` and the metrics, None for what is not a number. `device` is where it was
    evaluated, in `seconds`; `time` is when, in seconds since 1970 (UTC). `warning` says why the
    figures may mislead: the data are no longer those that the checkpoint was trained with; normally
    it is empty, and not in the file.
    """

    checkpoint: str
    split: str
    metrics: dict[str, float | None]
    samples: int
    seconds: float
    device: str
    time: float
    warning: str = ""


_decoder = msgspec.json.Decoder(Evaluation)


def keep(run: RunDirectory, evaluation: Evaluation) -> None:
    """Append an evaluation to its run's file. Raises OSError if that fails."""
    append_line(run.evaluations_file, json_line(evaluation))


def evaluations(run: RunDirectory) -> dict[str, Evaluation]:
    """The newest evaluation of each checkpoint, by name, in the order in which they were made.

    Unreadable lines are left out.
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
        reported = _decoder.decode(line)
    except JSON_ERRORS:
        return
    found.pop(reported.checkpoint, None)
    found[reported.checkpoint] = reported
