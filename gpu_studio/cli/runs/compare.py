"""`runs compare`, `runs report` and `runs export`: results for people, browsers and programs.

The table of a comparison fits the terminal: columns are narrowed, and stacked if that is not
enough.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_command,
    add_force,
    add_json,
    add_run,
    add_runs,
    json_text,
    named_run,
    named_runs,
    note,
    refuse_to_replace,
    runs_folder,
    say,
    say_json,
    say_whole,
)

if TYPE_CHECKING:
    from gpu_studio.contract import RunDirectory
    from gpu_studio.runs.results.comparison import Comparison, ComparisonRow, Value
    from gpu_studio.runs.results.run_figures import RunFigures

MOST = 32
"""Runs that can still be distinguished beside each other."""
_WHAT: Final = ("steps", "epochs", "memory", "hardware")
_FORMATS: Final = ("csv", "json", "svg")
_COMPARE: Final = """\
The best of each figure is marked with *, where one is better than all the others. Of what grows
while a run goes on, as time and energy, only runs that trained as many samples have a best.

examples:
  gpu-studio runs compare latest 20261120
  gpu-studio runs compare latest 20261120 --metric val_loss --json"""
_REPORT: Final = """\
One file that opens in any browser, alone: no network, no script. Several runs are compared in it.

examples:
  gpu-studio runs report latest
  gpu-studio runs report latest --output digits.html --open
  gpu-studio runs report latest 20261120 --output compared.html"""
_EXPORT: Final = """\
  csv    a file each of steps, epochs, memory and hardware; with --what, that one
  json   all figures of the run
  svg    its curves of loss and memory, to scale; for a PNG, save the plot in the window \
(right click)

examples:
  gpu-studio runs export latest
  gpu-studio runs export latest --what steps --output steps.csv
  gpu-studio runs export latest --format json
  gpu-studio runs export latest --format svg --output figures/"""


def register(actions: Commands) -> None:
    """Add the three actions."""
    parser = add_command(
        actions,
        "compare",
        "show what differs in the plans of runs, and what came of it",
        _COMPARE,
        compare,
    )
    add_runs(parser)
    parser.add_argument("--metric", metavar="NAME", help="of the metrics show only this one")
    add_json(parser)
    parser = add_command(
        actions, "report", "write what runs came to into a file of HTML", _REPORT, write_report
    )
    add_runs(parser)
    _add_output(parser, "FILE.html", "the file (default: report-RUN.html in the current directory)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    parser = add_command(
        actions, "export", "write the curves and figures of a run into files", _EXPORT, export_run
    )
    add_run(parser)
    parser.add_argument(
        "--format", choices=_FORMATS, default="csv", help="what to write (default: csv)"
    )
    parser.add_argument(
        "--what", choices=_WHAT, help="of a csv only this one, to stdout without --output"
    )
    where = "the file, or the directory (default: the current one for all csv files, else stdout)"
    _add_output(parser, "PATH", where)


def _add_output(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    parser.add_argument("--output", "-o", "--to", metavar=metavar, type=Path, help=what)
    add_force(parser, "what is there")


def compare(chosen: argparse.Namespace) -> int:
    """Show what differs between runs."""
    from gpu_studio.runs.paths import command_in
    from gpu_studio.runs.results.comparison import compare as compared
    from gpu_studio.runs.results.comparison import metric_names
    from gpu_studio.runs.results.run_figures import figures_of

    if len(chosen.runs) < 2:
        raise RefusedError(
            "One run cannot be compared: name two or more. All of them: "
            f"{command_in(runs_folder(chosen), 'runs list')}"
        )
    figures = [figures_of(run) for run in runs_of(chosen)]
    if chosen.metric is not None:
        _refuse_unknown(chosen.metric, metric_names(figures))
    comparison = compared(figures, chosen.metric)
    if chosen.json:
        say_json(_document(comparison))
    else:
        for line in fitted(list(_table(comparison)), terminal_width()):
            say(line)
    return OK


def write_report(chosen: argparse.Namespace) -> int:
    """Write the report of one run, or of several compared."""
    import webbrowser

    from gpu_studio.runs.results.report.writing import write_report as write

    found = runs_of(chosen)
    path: Path = chosen.output or Path(
        f"report-{found[0].id if len(found) == 1 else f'of-{len(found)}-runs'}.html"
    )
    path = path / "report.html" if path.is_dir() else path
    refuse_to_replace([path], force=chosen.force)
    write(found, path)
    note(f"{path}: written. It opens in any browser, and needs nothing beside it.")
    if chosen.open and not webbrowser.open(path.absolute().as_uri()):
        note("There is no browser here to open it in: copy the file to where there is one.")
    return OK


def export_run(chosen: argparse.Namespace) -> int:
    """Write the curves and figures of a run."""
    from gpu_studio.runs.results.exporting import csv_lines
    from gpu_studio.runs.results.run_figures import figures_of

    run = named_run(chosen, elsewhere=True)
    if chosen.what and chosen.format != "csv":
        raise RefusedError(
            f"--what chooses among the files of --format csv: leave it out for {chosen.format}."
        )
    if chosen.format == "csv" and chosen.what is None:
        return _export_all(run, chosen)
    lines = (
        csv_lines(run, chosen.what)
        if chosen.what
        else _document_lines(figures_of(run), chosen.format)
    )
    name = f"{run.id}-{chosen.what}.csv" if chosen.what else f"{run.id}.{chosen.format}"
    if chosen.output is None:
        for line in lines:
            say_whole(line)
    else:
        _write_all({_inside(chosen.output, name): lines}, chosen.force)
    return OK


def runs_of(chosen: argparse.Namespace) -> list[RunDirectory]:
    """The runs that are named.

    Raises UnknownRunError, and RefusedError for one named twice and for too many.
    """
    found = named_runs(chosen, elsewhere=True)
    for place, run in enumerate(found):
        if run in found[:place]:
            raise RefusedError(f"{run.id} is named twice: name each run once.")
    if len(found) > MOST:
        raise RefusedError(
            f"{len(found)} runs cannot be distinguished side by side: name at most {MOST}."
        )
    return found


def _export_all(run: RunDirectory, chosen: argparse.Namespace) -> int:
    from gpu_studio.contract import make_private_directory
    from gpu_studio.runs.results.exporting import csv_lines

    folder: Path = chosen.output or Path.cwd()
    if folder.exists() and not folder.is_dir():
        raise RefusedError(
            f"{folder} is no directory: name a directory, or choose one of the files with --what."
        )
    make_private_directory(folder)
    _write_all(
        {folder / f"{run.id}-{what}.csv": csv_lines(run, what) for what in _WHAT}, chosen.force
    )
    return OK


def _document_lines(figures: RunFigures, kind: str) -> Iterator[str]:
    from gpu_studio.runs.results.exporting import figures_document
    from gpu_studio.runs.results.report.writing import curves_svg

    if kind == "json":
        yield json_text(figures_document(figures))
    elif curves := curves_svg(figures):
        yield curves.rstrip("\n")
    else:
        raise RefusedError(
            f"{figures.id} has reported no loss and no memory yet, so there is no curve to draw."
        )


def _inside(path: Path, name: str) -> Path:
    return path / name if path.is_dir() else path


def _write_all(files: dict[Path, Iterator[str]], force: bool) -> None:
    from gpu_studio.runs.results.exporting import write_lines

    refuse_to_replace(files, force=force)
    for path, lines in files.items():
        write_lines(path, lines)
        note(f"{path}: written.")


def _refuse_unknown(metric: str, known: Sequence[str]) -> None:
    from difflib import get_close_matches

    if metric in known:
        return
    if not known:
        raise RefusedError("None of these runs has a metric yet: wait for the end of an epoch.")
    near = get_close_matches(metric, known, 1, cutoff=0.3)
    raise RefusedError(
        f"None of these runs has a metric {metric!r}: the nearest is "
        f"{near[0] if near else known[0]}."
    )


def _table(comparison: Comparison) -> Iterator[list[str]]:
    runs = comparison.runs
    yield ["", *(run.title for run in runs)]
    yield ["run", *(run.id for run in runs)]
    yield ["state", *(run.summary.state for run in runs)]
    for rows in (comparison.plans, comparison.figures):
        if rows:
            yield [""] * (len(runs) + 1)
            yield from (_cells(row) for row in rows)


def _cells(row: ComparisonRow) -> list[str]:
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


def _row(row: ComparisonRow) -> dict[str, Any]:
    values = [_number(value) for value in row.values]
    return {
        "name": row.label,
        "unit": row.unit,
        "values": values,
        "texts": list(row.texts),
        "best": row.best,
    }


def _number(value: Value) -> Value:
    """JSON has no word for what is no number."""
    import math

    return None if isinstance(value, float) and not math.isfinite(value) else value


GAP: Final = 2
NARROWEST: Final = 18
"""Characters that a cell keeps, so that a figure with its unit can still be read."""
_ENDLESS: Final = 1 << 20

Rows = Sequence[Sequence[str]]


def terminal_width() -> int:
    """The columns of the terminal that stdout is; without an end where it is a file or a pipe."""
    return shutil.get_terminal_size((_ENDLESS, 24)).columns if sys.stdout.isatty() else _ENDLESS


def fitted(rows: Rows, width: int) -> Iterator[str]:
    """Yield the lines of a table, cut into parts that are at most `width` wide.

    The first row and the first column are repeated in each part. A part is wider if the first
    column and one more need more than `width`.
    """
    first = max((len(row[0]) for row in rows), default=0)
    for number, columns in enumerate(_parts(rows, width - first)):
        if number:
            yield ""
        yield from _lines([[row[0], *(row[column] for column in columns)] for row in rows], width)


def shortened(text: str, width: int) -> str:
    """Cut `text` to `width` characters, in its middle: ids and names differ at their ends."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _parts(rows: Rows, space: int) -> Iterator[range]:
    """Cut the columns after the first into ranges that, at their narrowest, fit into `space`."""
    widths = _widths(rows)[1:]
    begin, used = 1, 0
    for column, natural in enumerate(widths, 1):
        needed = GAP + min(natural, NARROWEST)
        if used + needed > space and column > begin:
            yield range(begin, column)
            begin, used = column, 0
        used += needed
    yield range(begin, len(widths) + 1)


def _lines(rows: Rows, width: int) -> Iterator[str]:
    widths = _narrowed(_widths(rows), width)
    for row in rows:
        cells = (
            shortened(text, space).ljust(space) for text, space in zip(row, widths, strict=True)
        )
        yield (" " * GAP).join(cells).rstrip()


def _widths(rows: Rows) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _narrowed(widths: list[int], width: int) -> list[int]:
    """Take from the widest columns but the first until all fit, or none can give any more."""
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    while excess > 0 and max(widths[1:], default=0) > NARROWEST:
        widest = max(range(1, len(widths)), key=lambda column: widths[column])
        widths = [*widths[:widest], widths[widest] - 1, *widths[widest + 1 :]]
        excess -= 1
    return widths
