"""`runs …`: what there is, and what a run is asked to do."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterator
from typing import Any, Final

from gpu_studio.cli import exit_codes
from gpu_studio.cli.output import note, say, say_json, say_table
from gpu_studio.cli.runs import compare_commands as several
from gpu_studio.cli.runs import label_commands as labelling
from gpu_studio.cli.runs.checkpoint_commands import evaluate_checkpoint, save_checkpoint_model
from gpu_studio.cli.runs.placement_command import placement
from gpu_studio.cli.runs.run_actions import checkpoint, delete, pause, resume, stop
from gpu_studio.cli.runs.run_report import report, report_lines
from gpu_studio.cli.train.following import follow
from gpu_studio.cli.train.interrupts import LeaveRun
from gpu_studio.cli.train.sinks import sink_for
from gpu_studio.interrupts import counted_interrupts
from gpu_studio.regular_files import opened
from gpu_studio.runs.catalogue import list_runs, restore
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import last_lines
from gpu_studio.runs.finding import deleted, find
from gpu_studio.runs.labels import Labels, read_labels
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.runs.results.run_figures import joules_of
from gpu_studio.runs.wording import duration, metric
from gpu_studio.runs.wording import energy as watt_hours

_HEADINGS = ("#", "RUN", "STATE", "EPOCH", "BEST", "TIME", "NAME")
_READING = frozenset({"show", "log", "placement"})
"""What changes nothing in the folder of a run, and so can be done to one that is kept elsewhere."""

_LAST_BYTES: Final = 64 * 1024 * 1024
"""So far back the last lines of a log are looked for, and no line of it is longer."""


def runs(chosen: argparse.Namespace) -> int:
    """Do what `chosen.action` says."""
    if chosen.action == "list":
        return _list(chosen)
    if chosen.action == "restore":
        return _restore(chosen)
    if chosen.action in several.ACTIONS:
        return several.ACTIONS[chosen.action](chosen)
    if chosen.action in labelling.ACTIONS:
        return labelling.ACTIONS[chosen.action](chosen)
    run = find(runs_dir(chosen.runs_dir), chosen.run, elsewhere=chosen.action in _READING)
    return _ACTIONS[chosen.action](run, chosen)


def _list(chosen: argparse.Namespace) -> int:
    everything = list_runs(runs_dir(chosen.runs_dir))
    found = labelling.having_tags(everything, chosen.tag)
    if chosen.json:
        say_json([_document(summary) | _labelled(summary) | _measured(summary, chosen) for summary in found])
    elif everything and not found:
        note(labelling.none_has(everything, chosen.tag))
    elif not found:
        note(f"There are no runs in {runs_dir(chosen.runs_dir)} yet: start one, with: gpu-studio train")
    else:
        labels = [read_labels(summary.directory) for summary in found]
        columns = [_HEADINGS, *(_row(*each) for each in zip(found, labels, strict=True))]
        more = list(_more_columns(found, labels, energy=chosen.energy))
        say_table([(*row, *(column[place] for column in more)) for place, row in enumerate(columns)])
        for summary in found:
            if summary.problem:
                note(f"{summary.id} cannot be read: {summary.problem}.")
    return exit_codes.OK


def _row(summary: Summary, labels: Labels) -> tuple[str, ...]:
    best = f"{summary.best.metric} {metric(summary.best.value)}" if summary.best else ""
    epochs = f"{summary.epoch:,}/{summary.epochs_total:,}" if summary.epochs_total else ""
    name = labels.name or summary.plan
    return str(summary.number or ""), summary.id, summary.standing, epochs, best, duration(summary.seconds), name


def _more_columns(found: list[Summary], labels: list[Labels], *, energy: bool) -> Iterator[list[str]]:
    """Those that cost reading, where somebody asks for them, or that most people leave empty."""
    tags = [", ".join(each.tags) for each in labels]
    if any(tags):
        yield ["TAGS", *tags]
    if energy:
        yield ["ENERGY", *(watt_hours(_joules(summary)) for summary in found)]


def _labelled(summary: Summary) -> dict[str, Any]:
    labels = read_labels(summary.directory)
    return {"name": labels.name or summary.plan, "tags": list(labels.tags), "note": labels.note}


def _measured(summary: Summary, chosen: argparse.Namespace) -> dict[str, Any]:
    return {"joules": _joules(summary)} if chosen.energy else {}


def _joules(summary: Summary) -> float | None:
    try:
        return joules_of(summary)
    except OSError:  # a list goes on without what one of its runs does not let be read
        return None


def _document(summary: Summary) -> dict[str, Any]:
    best = summary.best
    return {
        "run": summary.id,
        "number": summary.number,
        "directory": str(summary.directory.path),
        "plan": summary.plan,
        "state": summary.standing,
        "reason": summary.reason,
        "created": summary.created,
        "seconds": summary.seconds,
        "epoch": summary.epoch,
        "epochs": summary.epochs_total,
        "step": summary.step,
        "steps": summary.steps_total,
        "strategy": summary.strategy,
        "best": {"metric": best.metric, "value": best.value, "epoch": best.epoch} if best else None,
        "peak_bytes": summary.peaks,
        "resumed_from": summary.resumed_from,
    }


def _show(run: RunDirectory, chosen: argparse.Namespace) -> int:
    if chosen.json:
        say_json(report(run))
    else:
        for line in report_lines(run):
            say(line)
    return exit_codes.OK


def _attach(run: RunDirectory, chosen: argparse.Namespace) -> int:
    with counted_interrupts() as interrupts:
        return follow(run, sink_for(json=chosen.json), interrupts, LeaveRun)


def _log(run: RunDirectory, chosen: argparse.Namespace) -> int:
    if chosen.tail is not None:
        for last in last_lines(run.log_file, _LAST_BYTES)[-chosen.tail :] if chosen.tail else ():
            say(last.decode("utf-8", "replace"))
        return exit_codes.OK
    # A line at a time: user code may have printed more than there is memory for.
    with io.TextIOWrapper(opened(run.log_file), encoding="utf-8", errors="replace") as log:
        while line := log.readline(_LAST_BYTES):
            say(line.rstrip("\n"))
    return exit_codes.OK


def _restore(chosen: argparse.Namespace) -> int:
    runs = runs_dir(chosen.runs_dir)
    run = restore(runs, deleted(runs, chosen.run))
    if chosen.json:
        say_json({"run": run.id, "directory": str(run.path)})
    else:
        note(f"{run.id} is back.")
    return exit_codes.OK


_ACTIONS: dict[str, Callable[[RunDirectory, argparse.Namespace], int]] = {
    "show": _show,
    "attach": _attach,
    "pause": pause,
    "resume": resume,
    "stop": stop,
    "checkpoint": checkpoint,
    "evaluate": evaluate_checkpoint,
    "save-model": save_checkpoint_model,
    "placement": placement,
    "delete": delete,
    "log": _log,
}
