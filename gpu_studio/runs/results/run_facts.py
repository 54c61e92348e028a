"""Everything known of one run: as lines for a person, and as JSON values for a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from gpu_studio.common.figures import duration, metrics_in_words, share, size
from gpu_studio.contract.checkpoints import checkpoints
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import as_dict
from gpu_studio.contract.inheritance import resumed_from
from gpu_studio.plan.strategies import strategy_named
from gpu_studio.runs.diagnosis import explain
from gpu_studio.runs.labels import read_labels
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.naming import number_of, plan_name, title_of
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.placement_words import headline
from gpu_studio.runs.reading.placements import judged
from gpu_studio.runs.results.evaluations import evaluations
from gpu_studio.runs.results.ran_code import ran_code


def run_document(run: RunDirectory) -> dict[str, Any]:
    """Everything known of `run` as plain JSON values.

    Raises OSError if its events cannot be read.
    """
    history = read_history(run)
    why, labels = explain(run), read_labels(run)
    return {
        "run": run.id,
        "number": number_of(run),
        "name": labels.name or plan_name(run),
        "directory": str(run.path),
        "plan": plan_name(run),
        "tags": list(labels.tags),
        "note": labels.note,
        "state": history.state,
        "message": why.message,
        "suggestions": list(why.suggestions),
        "mends": [
            {"text": mend.text, "field": mend.field, "value": mend.value} for mend in why.mends
        ],
        "details": why.details,
        "epoch": history.epoch,
        "epochs": history.epochs_total,
        "step": history.step,
        "steps": history.steps_total,
        "seconds": history.seconds,
        "eta_seconds": history.eta_seconds,
        "samples_per_second": history.samples_per_second,
        "resumed_from": _parent(run),
        "devices": as_dict(history.devices) if history.devices else None,
        "model": as_dict(history.model) if history.model else None,
        "code": [asdict(code) for code in ran_code(history.code.values())],
        "placement": headline(judged(history.placement)) if history.placement else None,
        "epochs_table": [as_dict(row) for row in history.epochs.rows],
        "metrics": history.finished.metrics if history.finished else None,
        "peak_bytes": {device: memory.peak for device, memory in history.memory.items()},
        "checkpoints": [saved.name for saved in checkpoints(run)],
        "evaluations": [to_builtins(found) for found in evaluations(run).values()],
        "warnings": [warning.message for warning in history.warnings],
    }


def run_lines(run: RunDirectory) -> Iterator[str]:
    """The same for a person, as lines. Raises OSError if its events cannot be read."""
    history = read_history(run)
    yield f"{title_of(run)}: {history.state}"
    yield from (f"  {name:<12} {text}" for name, text in _facts(run, history) if text)
    yield from (
        f"  epoch {row.epoch:<6} {metrics_in_words(row.metrics)}"
        for row in history.epochs.rows[-10:]
    )
    if history.finished and history.finished.metrics:
        yield f"  {'at the end':<12} {metrics_in_words(history.finished.metrics)}"
    if history.state in ("failed", "lost"):
        yield from _why(run)


def _facts(run: RunDirectory, history: History) -> Iterator[tuple[str, str]]:
    labels = read_labels(run)
    yield "run", run.id
    yield "plan", plan_name(run) if labels.name else ""
    yield "directory", str(run.path)
    yield "tags", ", ".join(labels.tags)
    yield "note", labels.note.replace("\n", f"\n{' ' * 15}")
    yield "resumed from", _parent(run) or ""
    if history.devices:
        held = "layers" if strategy_named(history.devices.strategy).places_layers else "replicas"
        yield (
            "strategy",
            f"{history.devices.strategy}, {held} on {', '.join(history.devices.replicas)}",
        )
    if history.model:
        yield "model", f"{history.model.name}, {history.model.parameters:,} parameters"
        yield "data", f"{history.model.data}, {history.model.train_samples:,} samples"
        yield (
            "trained",
            f"{history.step:,} of {history.steps_total:,} steps ({share(history.progress)})",
        )
    for code in ran_code(history.code.values()):
        yield f"{code.part} code", code.words
    if history.placement:
        yield "placement", headline(judged(history.placement))
    yield "time", duration(history.seconds)
    yield (
        "peak memory",
        ", ".join(f"{device} {size(memory.peak)}" for device, memory in history.memory.items()),
    )
    yield "checkpoints", ", ".join(saved.name for saved in checkpoints(run))
    for name, found in evaluations(run).items():
        yield "evaluated", f"{name} on the {found.split} split: {metrics_in_words(found.metrics)}"


def _why(run: RunDirectory) -> Iterator[str]:
    why = explain(run)
    yield why.message
    yield from (f"  - {suggestion}" for suggestion in (*why.suggestions, *why.settings))
    if why.details:
        yield from ("", *why.details.splitlines())


def _parent(run: RunDirectory) -> str | None:
    parent = resumed_from(run)
    return parent.run if parent else None
