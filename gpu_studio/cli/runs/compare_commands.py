"""`runs compare`, `runs report` and `runs export`: what runs came to, for a person, a browser and other programs."""

from __future__ import annotations

import argparse
import math
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from gpu_studio.cli import exit_codes
from gpu_studio.cli.output import RefusedError, json_text, note, say, say_json
from gpu_studio.cli.placing.fitting import fitted, terminal_width
from gpu_studio.cli.replacing import refuse_to_replace
from gpu_studio.cli.runs.compare_arguments import WHAT
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import make_private_directory
from gpu_studio.runs.finding import find
from gpu_studio.runs.paths import runs_dir
from gpu_studio.runs.results.comparison import Comparison, Row, Value, metric_names
from gpu_studio.runs.results.comparison import compare as compared
from gpu_studio.runs.results.exporting import csv_lines, figures_document, write_lines
from gpu_studio.runs.results.report.writing import curves_svg
from gpu_studio.runs.results.report.writing import write_report as write
from gpu_studio.runs.results.run_figures import RunFigures, figures_of

MOST = 32
"""Runs that can still be told apart beside each other."""


def compare(chosen: argparse.Namespace) -> int:
    """Show what differs between runs."""
    if len(chosen.runs) < 2:
        raise RefusedError("One run cannot be compared: name two or more. All of them: gpu-studio runs list")
    figures = [figures_of(run) for run in runs_of(chosen)]
    if chosen.metric is not None:
        _refuse_unknown(chosen.metric, metric_names(figures))
    comparison = compared(figures, chosen.metric)
    if chosen.json:
        say_json(_document(comparison))
    else:
        for line in fitted(list(_table(comparison)), terminal_width()):
            say(line)
    return exit_codes.OK


def write_report(chosen: argparse.Namespace) -> int:
    """Write the report of one run, or of several compared."""
    found = runs_of(chosen)
    path: Path = chosen.output or Path(f"report-{found[0].id if len(found) == 1 else f'of-{len(found)}-runs'}.html")
    path = path / "report.html" if path.is_dir() else path
    refuse_to_replace([path], force=chosen.force)
    write(found, path)
    note(f"{path}: written. It opens in any browser, and needs nothing beside it.")
    if chosen.open and not webbrowser.open(path.absolute().as_uri()):
        note("There is no browser here to open it in: copy the file to where there is one.")
    return exit_codes.OK


def export_run(chosen: argparse.Namespace) -> int:
    """Write the curves and figures of a run."""
    run = find(runs_dir(chosen.runs_dir), chosen.run, elsewhere=True)
    if chosen.what and chosen.format != "csv":
        raise RefusedError(f"--what chooses among the files of --format csv: leave it out for {chosen.format}.")
    if chosen.format == "csv" and chosen.what is None:
        return _export_all(run, chosen)
    lines = csv_lines(run, chosen.what) if chosen.what else _document_lines(figures_of(run), chosen.format)
    name = f"{run.id}-{chosen.what}.csv" if chosen.what else f"{run.id}.{chosen.format}"
    if chosen.output is None:
        for line in lines:
            say(line)
    else:
        _write_all({_inside(chosen.output, name): lines}, chosen.force)
    return exit_codes.OK


def runs_of(chosen: argparse.Namespace) -> list[RunDirectory]:
    """The runs that are named. Raises UnknownRunError, and RefusedError for one named twice and for too many."""
    found = [find(runs_dir(chosen.runs_dir), name, elsewhere=True) for name in chosen.runs]
    for place, run in enumerate(found):
        if run in found[:place]:
            raise RefusedError(f"{run.id} is named twice: name each run once.")
    if len(found) > MOST:
        raise RefusedError(f"{len(found)} runs cannot be told apart side by side: name at most {MOST}.")
    return found


def _export_all(run: RunDirectory, chosen: argparse.Namespace) -> int:
    folder: Path = chosen.output or Path.cwd()
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is no directory: name a directory, or choose one of the files with --what.")
    make_private_directory(folder)
    _write_all({folder / f"{run.id}-{what}.csv": csv_lines(run, what) for what in WHAT}, chosen.force)
    return exit_codes.OK


def _document_lines(figures: RunFigures, kind: str) -> Iterator[str]:
    if kind == "json":
        yield json_text(figures_document(figures))
    elif curves := curves_svg(figures):
        yield curves.rstrip("\n")
    else:
        raise RefusedError(f"{figures.id} has told no loss and no memory yet, so there is no curve to draw.")


def _inside(path: Path, name: str) -> Path:
    return path / name if path.is_dir() else path


def _write_all(files: dict[Path, Iterator[str]], force: bool) -> None:
    refuse_to_replace(files, force=force)
    for path, lines in files.items():
        write_lines(path, lines)
        note(f"{path}: written.")


def _refuse_unknown(metric: str, known: Sequence[str]) -> None:
    if metric in known:
        return
    if not known:
        raise RefusedError("None of these runs has a metric yet: wait for the end of an epoch.")
    near = get_close_matches(metric, known, 1, cutoff=0.3)
    raise RefusedError(f"None of these runs has a metric {metric!r}: the nearest is {near[0] if near else known[0]}.")


def _table(comparison: Comparison) -> Iterator[list[str]]:
    runs = comparison.runs
    yield ["", *(run.title for run in runs)]
    yield ["run", *(run.id for run in runs)]
    yield ["state", *(run.summary.state for run in runs)]
    for rows in (comparison.plans, comparison.figures):
        if rows:
            yield [""] * (len(runs) + 1)
            yield from (_cells(row) for row in rows)


def _cells(row: Row) -> list[str]:
    marked = (f"{text} *" if place == row.best else text for place, text in enumerate(row.texts))
    return [row.label, *marked]


def _document(comparison: Comparison) -> dict[str, Any]:
    return {
        "runs": [_run(run) for run in comparison.runs],
        "plans": [_row(row) for row in comparison.plans],
        "figures": [_row(row) for row in comparison.figures],
    }


def _run(run: RunFigures) -> dict[str, Any]:
    return {
        "run": run.id,
        "number": run.summary.number,
        "name": run.labels.name or run.summary.plan,
        "plan": run.summary.plan,
        "state": run.summary.state,
    }


def _row(row: Row) -> dict[str, Any]:
    values = [_number(value) for value in row.values]
    return {"name": row.label, "unit": row.unit, "values": values, "texts": list(row.texts), "best": row.best}


def _number(value: Value) -> Value:
    """JSON has no word for what is no number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


ACTIONS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "compare": compare,
    "report": write_report,
    "export": export_run,
}
"""What each action of `runs` that is about more than one run, or makes files of it, does."""
