"""Export the curves and figures of a run: CSV, one row at a time however long the run, and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import msgspec

from gpu_studio.common.safe_files import csv_line, write_output
from gpu_studio.contract import Epoch, LearningRate, Memory, RunDirectory, Steps
from gpu_studio.contract.samples import Fast, FastFigures, SampleError, Slow, SlowFigures
from gpu_studio.contract.samples import decode as decode_sample
from gpu_studio.hardware.accounting import lines_of
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.runs.results.run_figures import RunFigures

Cell = str | int | float | None
Rows = Iterator[Sequence[Cell]]
_FAST: Final = tuple(name for name in FastFigures.__struct_fields__ if name not in ("card", "why"))
_SLOW: Final = tuple(name for name in SlowFigures.__struct_fields__ if name not in ("card", "why"))
_EXPORTED: Final = (b'{"sample":"fast"', b'{"sample":"slow"')


def csv_lines(run: RunDirectory, what: str) -> Iterator[str]:
    """Yield the lines of a CSV of `steps`, `epochs`, `memory` or `hardware`, the headings first.

    Unknown figures are empty. Times are in seconds since 1970 (UTC). What a run inherited is in its
    parent's files. Raises OSError if the run cannot be read.
    """
    for row in _ROWS[what](run):
        yield csv_line(row)


def figures_document(run: RunFigures) -> dict[str, Any]:
    """All figures of a run as plain JSON values; non-finite numbers are null."""
    summary = run.summary
    document: dict[str, Any] = _plain(
        {
            **_summary(summary),
            "metrics": run.metrics,
            "best": _best(summary),
            "samples_per_second": run.samples_per_second,
            "step_seconds": run.step_seconds,
            "predicted_step_seconds": run.prediction.step_seconds,
            "state_seconds": run.times.states,
            "input_seconds": run.times.input_seconds,
            "first_call_seconds": run.times.first_call_seconds,
            "compute_seconds": run.times.compute_seconds,
            "communication": _communication(run),
            "other_seconds": run.times.other_seconds,
            "peak_bytes": run.peaks,
            "predicted_bytes": run.predicted,
            "predicted_without_workspaces": list(run.prediction.incomplete),
            "predicted_at_most": list(run.prediction.bounds),
            "limit_bytes": run.limits,
            "joules": run.joules,
            "idle_seconds": run.idle_seconds,
            "throttled_seconds": run.throttled_seconds,
            "cards": [_card(run, place) for place in range(len(run.cards))],
            "epochs_table": [msgspec.to_builtins(row) for row in run.epochs],
            "checkpoints": [saved.name for saved in run.checkpoints],
            "warnings": [warning.message for warning in run.warnings],
            "message": run.why.message if run.why else "",
            "environment": run.environment,
            "plan_fields": run.plan_values,
        }
    )
    return document


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to `path` as they arrive, whole or not at all. Raises OSError."""
    write_output(path, (f"{line}\n".encode() for line in lines))


def _steps(run: RunDirectory) -> Rows:
    yield "step", "epoch", "time", "loss", "learning_rate"
    rates: list[LearningRate] = []
    call: Steps | None = None
    for event in events_of(run):
        if isinstance(event, LearningRate):
            rates.append(event)
        elif isinstance(event, Steps):
            # A call's learning rate is reported after it.
            yield from _call(call, rates) if call else ()
            rates, call = rates[-1:], event
    yield from _call(call, rates) if call else ()


def _call(event: Steps, rates: Sequence[LearningRate]) -> Rows:
    """The steps of a call, spread evenly over its time.

    A step is counted from 1, as along every curve.
    """
    count = len(event.losses)
    for place, loss in enumerate(event.losses):
        step = event.first_step + place
        time = event.time - event.seconds * (count - 1 - place) / count
        rate = next((reported.value for reported in reversed(rates) if reported.step <= step), None)
        yield step + 1, event.epoch, f"{time:.6f}", loss, rate


def _epochs(run: RunDirectory) -> Rows:
    rows = [event for event in events_of(run) if isinstance(event, Epoch)]
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    yield "epoch", "step", "time", "seconds", "samples_per_second", *names
    for row in rows:
        known = (row.metrics.get(name) for name in names)
        yield row.epoch, row.step, f"{row.time:.6f}", row.seconds, row.samples_per_second, *known


def _memory(run: RunDirectory) -> Rows:
    yield (
        "time",
        "device",
        "bytes",
        "most_bytes",
        "least_bytes",
        "peak_bytes",
        "limit_bytes",
        "counted",
    )
    for event in events_of(run):
        if isinstance(event, Memory):
            for sample in event.devices:
                yield (
                    f"{event.time:.6f}",
                    sample.device,
                    sample.current,
                    sample.most,
                    sample.least,
                    sample.peak,
                    sample.limit,
                    sample.source,
                )


def _hardware(run: RunDirectory) -> Rows:
    """Each fast sample of each card, with the slow figures as of then."""
    yield "time", "card", *_FAST, *_SLOW
    slow: dict[str, SlowFigures] = {}
    for sample in _samples(run):
        if isinstance(sample, Slow):
            slow |= {card.card: card for card in sample.cards}
        else:
            for card in sample.cards:
                held = slow.get(card.card)
                yield (
                    f"{sample.time:.6f}",
                    card.card,
                    *_figures(card, _FAST),
                    *_figures(held, _SLOW),
                )


def _samples(run: RunDirectory) -> Iterator[Fast | Slow]:
    with suppress(FileNotFoundError):
        for line in lines_of(run.hardware_file):
            if line.startswith(_EXPORTED):
                with suppress(SampleError):
                    sample = decode_sample(line)
                    if isinstance(sample, Fast | Slow):
                        yield sample


def _figures(card: FastFigures | SlowFigures | None, names: Sequence[str]) -> Iterator[Cell]:
    for name in names:
        value = getattr(card, name, None)
        yield "; ".join(value) if isinstance(value, list) else value


_ROWS: Final[dict[str, Callable[[RunDirectory], Rows]]] = {
    "steps": _steps,
    "epochs": _epochs,
    "memory": _memory,
    "hardware": _hardware,
}


def _summary(summary: Summary) -> dict[str, Any]:
    names = (
        "plan",
        "state",
        "reason",
        "created",
        "seconds",
        "epoch",
        "step",
        "strategy",
        "resumed_from",
    )
    return {
        "run": summary.id,
        "number": summary.number,
        **{name: getattr(summary, name) for name in names},
    }


def _best(summary: Summary) -> dict[str, Any] | None:
    best = summary.best
    return {"metric": best.metric, "value": best.value, "epoch": best.epoch} if best else None


def _communication(run: RunFigures) -> dict[str, Any]:
    """The known parts of `compute_seconds`, and the profiled steps from which they are derived."""
    if run.training_parts is None or run.communication is None:
        return {"why": run.why_not("communication")}
    seconds = {f"{name}_seconds": value for name, value in asdict(run.training_parts).items()}
    return {**seconds, "profiled": msgspec.to_builtins(run.communication)}


def _card(run: RunFigures, place: int) -> dict[str, Any]:
    card, total = run.cards[place], run.card_totals[place]
    names = (
        "joules", "joules_from", "energy_seconds", "seconds", "missing_seconds", "throttled",
        "throttled_seconds", "idle_seconds", "busy_percent", "peak_used", "peak_celsius", "why",
    )  # fmt: skip
    return {"card": card.key, "name": total.name, "devices": list(card.devices)} | {
        name: getattr(total, name) for name in names
    }


def _plain(value: Any) -> Any:
    """JSON has no word for what is no number."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
