"""`runs …`: what there is, and what a run is asked to do."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.following import follow
from gpu_studio.cli.interrupts import LeaveRun, counted_interrupts
from gpu_studio.cli.output import note, say, say_json
from gpu_studio.cli.run_actions import checkpoint, delete, pause, resume, stop
from gpu_studio.cli.run_report import report, report_lines
from gpu_studio.cli.sinks import sink_for
from gpu_studio.runs.catalogue import find, list_runs, restore
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.summary import Summary
from gpu_studio.runs.wording import duration, metric

_HEADINGS = ("RUN", "STATE", "EPOCH", "BEST", "TIME", "PLAN")


def runs(chosen: argparse.Namespace) -> int:
    """Do what `chosen.action` says."""
    if chosen.action == "list":
        return _list(chosen)
    if chosen.action == "restore":
        return _restore(chosen)
    return _ACTIONS[chosen.action](find(runs_dir(chosen.runs_dir), chosen.run), chosen)


def _list(chosen: argparse.Namespace) -> int:
    found = list_runs(runs_dir(chosen.runs_dir))
    if chosen.json:
        say_json([_document(summary) for summary in found])
    elif not found:
        note(f"There are no runs in {runs_dir(chosen.runs_dir)} yet: start one, with: gpu-studio train")
    else:
        _say_table([_HEADINGS, *(_row(summary) for summary in found)])
    return exit_codes.OK


def _row(summary: Summary) -> tuple[str, ...]:
    best = f"{summary.best.metric} {metric(summary.best.value)}" if summary.best else ""
    epochs = f"{summary.epoch}/{summary.epochs_total}" if summary.epochs_total else ""
    return summary.id, summary.state, epochs, best, duration(summary.seconds), summary.plan


def _say_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        say("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _document(summary: Summary) -> dict[str, Any]:
    best = summary.best
    return {
        "run": summary.id,
        "directory": str(summary.directory.path),
        "plan": summary.plan,
        "state": summary.state,
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
    text = run.log_file.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    for line in lines if chosen.tail is None else lines[len(lines) - min(chosen.tail, len(lines)) :]:
        say(line)
    return exit_codes.OK


def _restore(chosen: argparse.Namespace) -> int:
    run = restore(runs_dir(chosen.runs_dir), chosen.run)
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
    "delete": delete,
    "log": _log,
}
