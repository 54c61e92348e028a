"""`make bench`: measure what the budgets speak of.

Nothing fails for being slow; only for not working.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import card_memory
import cluster_pace
import flood
import full_disk
import guide_opening
import history_frame
import hostile
import lab_figures
import memory_prediction
import out_of_memory
import pipeline_prediction
import placed_pace
import placement_search
import plan_page
import run_opening
import sampler_cost
import server_updates
import stop_latency
import streamed
import telemetry_cost
import throughput
import window_start
import zoo
from measuring import Row
from rich.console import Console
from rich.table import Table
from workplace import BenchmarkError, Workplace, workplace

Rows = Callable[[Workplace, int], Iterator[Row]]
BENCHMARKS: Mapping[str, Rows] = {
    "window": window_start.rows,
    "throughput": throughput.rows,
    "telemetry": telemetry_cost.rows,
    "stop": stop_latency.rows,
    "sampler": sampler_cost.rows,
    "memory": memory_prediction.rows,
    "out-of-memory": out_of_memory.rows,
    "cards": card_memory.rows,
    "history": history_frame.rows,
    "open": run_opening.rows,
    "flood": flood.rows,
    "placed": placed_pace.rows,
    "pipeline": pipeline_prediction.rows,
    "search": placement_search.rows,
    "plan": plan_page.rows,
    "guide": guide_opening.rows,
    "hostile": hostile.rows,
    "full-disk": full_disk.rows,
    "streamed": streamed.rows,
    "lab": lab_figures.rows,
    "cluster": cluster_pace.rows,
    "servers": server_updates.rows,
}
ZOO = "zoo"
"""No figures, but a table of verdicts, with arguments of its own."""
UNITS = {
    "ms": "{:.0f} ms",
    "ms, exactly": "{:.2f} ms",
    "s": "{:.2f} s",
    "samples/s": "{:,.0f}/s",
    "MB/s": "{:.0f} MB/s",
    "%": "{:.2f} %",
    "MiB": "{:.0f} MiB",
    "plans": "{:.0f}",
    "steps/s": "{:.1f}/s",
    "calls/s": "{:.0f}/s",
    "loss": "{:.4f}",
    "updates": "{:.2f}",
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is named, all by default.

    0 if everything could be measured, whatever came out.
    """
    asked = sys.argv[1:] if words is None else words
    if asked[:1] == [ZOO]:
        return zoo.main(asked[1:])
    chosen = _arguments(asked)
    progress = Console(stderr=True)
    rows, works = list[Row](), True
    with workplace() as place:
        for name in chosen.benchmarks or BENCHMARKS:
            try:
                for row in BENCHMARKS[name](place, chosen.times):
                    rows.append(row)
                    progress.print(
                        f"{row.what}: {row.ratio:.2f} × {row.reference_what}", highlight=False
                    )
            except BenchmarkError as error:
                progress.print(f"{name} cannot be measured: {error}", markup=False, highlight=False)
                works = False
    _print(rows, as_json=chosen.json)
    return 0 if works else 1


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "benchmarks",
        nargs="*",
        metavar="NAME",
        help=f"what to measure: {', '.join((*BENCHMARKS, f'or {ZOO} alone'))}",
    )
    parser.add_argument(
        "--times", type=_count, default=3, help="repetitions of each, in turn with its reference"
    )
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    chosen = parser.parse_args(words)
    if unknown := sorted(set(chosen.benchmarks) - set(BENCHMARKS)):
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return chosen


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _print(rows: Sequence[Row], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(
            json.dumps({"machine": _machine(), "rows": [row.plain() for row in rows]}, indent=2)
            + "\n"
        )
    else:
        # A table in a file need not be as narrow as no terminal at all is taken to be.
        Console(width=None if sys.stdout.isatty() else 130).print(table(rows), highlight=False)


def table(rows: Sequence[Row]) -> Table:
    """The results as a table; a budget that is missed says by how much."""
    made = Table(title="Ratios of medians (where it is named, of the worst), measured in turn")
    for title, justify in (
        ("what", "left"),
        ("", "right"),
        ("against", "left"),
        ("", "right"),
        ("ratio", "right"),
    ):
        made.add_column(title, justify=justify)  # type: ignore[arg-type]
    made.add_column("budget", justify="right")
    made.add_column("")
    for row in rows:
        unit = UNITS[row.unit]
        kept = "kept" if row.ok else f"missed by {abs(row.ratio / row.budget.limit - 1):.0%}"
        measured = unit.format(row.median) + (
            f", worst {unit.format(row.worst)}" if row.by_worst else ""
        )
        figures = (
            measured,
            row.reference_what,
            unit.format(row.reference_median),
            f"{row.ratio:.2f}",
        )
        made.add_row(row.what, *figures, str(row.budget), kept)
    return made


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    sys.exit(main())
