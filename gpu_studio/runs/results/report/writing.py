"""A report from its runs to its file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from gpu_studio import __version__
from gpu_studio.output_files import write_output
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.results.report import several, single
from gpu_studio.runs.results.report.elements import page
from gpu_studio.runs.results.report.run_charts import loss_chart, memory_chart
from gpu_studio.runs.results.report.standing import stacked
from gpu_studio.runs.results.report.words import moment
from gpu_studio.runs.results.run_figures import RunFigures, figures_of


def report(runs: Sequence[RunFigures]) -> str:
    """Return the report of one run, or of several compared, as one document of HTML. Raises OSError."""
    made = f"Written {moment(time.time())} by GPU Studio {__version__}."
    if len(runs) == 1:
        return page(f"{runs[0].title} – {runs[0].id}", single.header(runs[0]), *single.content(runs[0]), made=made)
    return page(f"{len(runs)} runs compared", several.header(runs), *several.content(runs), made=made)


def curves_svg(run: RunFigures) -> str:
    """Return the run's curves of loss and memory below each other, as an SVG that stands alone. Raises OSError.

    Of a run that has told neither it is empty.
    """
    charts = [chart for chart in (loss_chart(run), memory_chart(run)) if chart is not None]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{stacked(charts)}\n' if charts else ""


def write_report(runs: Sequence[RunDirectory], path: Path) -> None:
    """Write the report of runs to `path`, whole or not at all. Raises OSError."""
    write_output(path, [report([figures_of(run) for run in runs]).encode("utf-8")])
