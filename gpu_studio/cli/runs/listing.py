"""`runs list`: all runs, the newest first."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpu_studio.cli import exit_codes
from gpu_studio.cli.arguments import Commands, add_command, add_json, runs_folder
from gpu_studio.cli.output import note, say_json, say_table

if TYPE_CHECKING:
    from gpu_studio.runs.labels import Labels
    from gpu_studio.runs.reading.summary import Summary

_EXAMPLES = """examples:
  gpu-studio runs list --json
  gpu-studio runs list --tag best,baseline
  gpu-studio runs list --energy"""
_HEADINGS = ("#", "RUN", "STATE", "EPOCH", "BEST", "TIME", "NAME")


def register(actions: Commands) -> None:
    """Add the action."""
    from gpu_studio.cli.runs.labels import add_tags

    parser = add_command(actions, "list", "list all runs, the newest first", _EXAMPLES, list_all)
    parser.add_argument(
        "--energy", action="store_true", help="with the energy of its cards, which takes a while"
    )
    add_tags(parser, "--tag", "only runs that have these tags")
    add_json(parser)


def list_all(chosen: argparse.Namespace) -> int:
    """List the runs that have the tags asked for."""
    from gpu_studio.cli.runs.labels import having_tags, none_has
    from gpu_studio.runs.catalogue import list_runs
    from gpu_studio.runs.labels import read_labels

    everything = list_runs(runs_folder(chosen))
    found = having_tags(everything, chosen.tag)
    if chosen.json:
        say_json(
            [
                _document(summary) | _labelled(summary) | _measured(summary, chosen)
                for summary in found
            ]
        )
    elif everything and not found:
        note(none_has(everything, chosen.tag))
    elif not found:
        note(f"There are no runs in {runs_folder(chosen)} yet: start one, with: gpu-studio train")
    else:
        labels = [read_labels(summary.directory) for summary in found]
        columns = [_HEADINGS, *(_row(*each) for each in zip(found, labels, strict=True))]
        more = list(_more_columns(found, labels, energy=chosen.energy))
        say_table(
            [(*row, *(column[place] for column in more)) for place, row in enumerate(columns)]
        )
        for summary in found:
            if summary.problem:
                note(f"{summary.id} cannot be read: {summary.problem}.")
    return exit_codes.OK


def _row(summary: Summary, labels: Labels) -> tuple[str, ...]:
    from gpu_studio.common.figures import duration, metric

    best = f"{summary.best.metric} {metric(summary.best.value)}" if summary.best else ""
    epochs = f"{summary.epoch:,}/{summary.epochs_total:,}" if summary.epochs_total else ""
    name = labels.name or summary.plan
    return (
        str(summary.number or ""),
        summary.id,
        summary.standing,
        epochs,
        best,
        duration(summary.seconds),
        name,
    )


def _more_columns(
    found: list[Summary], labels: list[Labels], *, energy: bool
) -> Iterator[list[str]]:
    """Those that cost reading, where somebody asks for them, or that most people leave empty."""
    from gpu_studio.common.figures import energy as watt_hours

    tags = [", ".join(each.tags) for each in labels]
    if any(tags):
        yield ["TAGS", *tags]
    if energy:
        yield ["ENERGY", *(watt_hours(_joules(summary)) for summary in found)]


def _labelled(summary: Summary) -> dict[str, Any]:
    from gpu_studio.runs.labels import read_labels

    labels = read_labels(summary.directory)
    return {"name": labels.name or summary.plan, "tags": list(labels.tags), "note": labels.note}


def _measured(summary: Summary, chosen: argparse.Namespace) -> dict[str, Any]:
    return {"joules": _joules(summary)} if chosen.energy else {}


def _joules(summary: Summary) -> float | None:
    from gpu_studio.runs.results.run_figures import joules_of

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
