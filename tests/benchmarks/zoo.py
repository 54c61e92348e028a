"""Hold the programs of the zoo, under every strategy, against Keras' own `fit`.

Each program is trained by a trainer of its own, and by `fit` in a process that does not know the
package; losses, metrics and weights are compared. Names choose programs. `--speed` measures samples
a second against `fit` instead, as it trains in a script; `--wrong` shows what the trainer says of
wrong programs; `--export` trains the programs' scripts, where the package cannot be imported, in
place of the programs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import zoo_runs
import zoo_scripts
import zoo_wrong
from rich.console import Console
from rich.table import Table
from workplace import Workplace, workplace
from zoo_runs import Trained, Verdict
from zoo_table import CLUSTERS, WAYS, ZOO, Program, programs

from gpu_studio.contract.consent import allow_folder
from gpu_studio.runs.questions.ask import AskError

AT_ONCE = 2
SPEED: Mapping[str, Any] = {"epochs": 12, "checkpoint": {"every_epochs": 0}}
NEAR = 0.5
"""Few epochs of some hundredths of a second may differ by so much from one run to the next."""
LONG = 5.0
"""Seconds of epochs that tell which of two that are near to each other is faster."""
MOST_EPOCHS = 300
COLOURS = {"equal": "green", "alike": "green", "refused": "yellow"}
Results = Mapping[str, Mapping[str, Verdict]]


def main(words: Sequence[str]) -> int:
    """Do what `words` ask for; 1 where a program trained something else than `fit`, or crashed."""
    chosen = _arguments(words)
    with workplace() as place, place.entered():
        if chosen.wrong:
            return _wrong(chosen, place)
        allow_folder(ZOO)
        table = programs()
        named = [table[name] for name in chosen.names or table]
        if chosen.speed:
            return _speed(named, place, as_json=chosen.json)
        results = _results(named, chosen.ways or list(WAYS), place, exported=chosen.export)
    _print(results, as_json=chosen.json)
    bad = ("WRONG", "crashed", "no fit")
    return int(any(each.word in bad for row in results.values() for each in row.values()))


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all by default")
    told = f"strategies; all by default, but for {', '.join(CLUSTERS)}"
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, *CLUSTERS], help=told)
    parser.add_argument("--speed", action="store_true", help="samples a second, against fit")
    parser.add_argument("--wrong", action="store_true", help="what is said of wrong programs")
    parser.add_argument("--export", action="store_true", help="their scripts, against fit")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    chosen = parser.parse_args(words)
    known = zoo_wrong.PROGRAMS if chosen.wrong else programs()
    if unknown := sorted(set(chosen.names) - set(known)):
        parser.error(f"there is no program {unknown[0]!r}; there are {', '.join(known)}")
    return chosen


def _results(
    named: Sequence[Program], ways: Sequence[str], place: Workplace, *, exported: bool
) -> Results:
    """A row for each program, with a verdict for each way."""
    progress = Console(stderr=True)

    def row(program: Program) -> tuple[str, dict[str, Verdict]]:
        folder = _folder(place, program)
        reference = zoo_runs.fitted([program.name], folder)[program.name]
        found, train = {}, _scripts(program, folder) if exported else _runs(program, folder)
        if exported:
            reference.weights = []  # a script prints the measures only
        for way in ways:
            mine = train(way)
            found[way] = zoo_runs.verdict(program, way, mine, reference)
            if not found[way].good:
                progress.print(f"{program.name}, {way}: {found[way]}", markup=False)
                progress.print(mine.trace[-1500:] if mine.crashed else "", markup=False, end="")
        return program.name, found

    return dict(_both_at_once(row, named))


def _runs(program: Program, folder: Path) -> Callable[[str], Trained]:
    return lambda way: zoo_runs.trained([program], way, folder)[program.name]


def _scripts(program: Program, folder: Path) -> Callable[[str], Trained]:
    try:
        facts = zoo_scripts.facts_of(program, folder)
    except AskError as error:
        crashed = Trained(crashed=str(error))
        return lambda _way: crashed
    return lambda way: zoo_scripts.scripted(program, way, facts, folder)


def _folder(place: Workplace, program: Program) -> Path:
    folder = place.folder / program.name
    folder.mkdir()
    return folder


def _both_at_once(work: Callable[[Program], Any], named: Iterable[Program]) -> list[Any]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, named))


def _print(results: Results, *, as_json: bool) -> None:
    if as_json:
        plain = {
            name: {
                way: {"word": each.word, "apart": each.apart, "why": each.why}
                for way, each in row.items()
            }
            for name, row in results.items()
        }
        sys.stdout.write(json.dumps(plain, indent=2) + "\n")
        return
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(_table(results), highlight=False)
    reasons: dict[str, list[str]] = {}
    for name, row in results.items():
        for way, each in row.items():
            if each.why:
                reasons.setdefault(f"{each.word}: {each.why}", []).append(f"{name} ({way})")
    for reason, where in reasons.items():
        console.print(f"{reason}\n    {', '.join(where)}", markup=False, highlight=False)


def _table(results: Results) -> Table:
    made = Table(title="Programs of the zoo against their own fit: the greatest difference")
    ways = list(next(iter(results.values())))
    made.add_column("program")
    for way in ways:
        made.add_column(way)
    for name, row in results.items():
        made.add_row(name, *(_cell(row[way]) for way in ways))
    counts = {way: Counter(row[way].word for row in results.values()) for way in ways}
    made.add_section()
    words = list(dict.fromkeys(word for count in counts.values() for word in count))
    for word in words:
        made.add_row(word, *(str(counts[way][word]) for way in ways))
    return made


def _cell(found: Verdict) -> str:
    figure = f" {found.apart:.0e}" if found.good or found.apart else ""
    return f"[{COLOURS.get(found.word, 'red')}]{found.word}{figure}[/]"


# Speed


def _speed(named: Sequence[Program], place: Workplace, *, as_json: bool) -> int:
    """Measure one after another, so that nothing else takes the cores."""
    found: dict[str, Any] = {}
    for program in named:
        found[program.name] = _measured(program, _folder(place, program))
        Console(stderr=True).print(f"{program.name}: {found[program.name]}", highlight=False)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    made = Table(title="Samples a second, of that of fit")
    made.add_column("program")
    made.add_column("× fit", justify="right")
    for name, ratio in found.items():
        made.add_row(name, f"{ratio:.2f}" if isinstance(ratio, float) else ratio)
    Console(width=None if sys.stdout.isatty() else 130).print(made, highlight=False)
    return 0


def _measured(program: Program, folder: Path) -> float | str:
    """How much faster than `fit` a program trains, by its epochs in the median.

    Where one is near to it, the median of three times, each long enough to tell.
    """

    def once(epochs: int) -> tuple[Trained, Trained]:
        settings = {**SPEED, "epochs": epochs}
        mine = zoo_runs.trained([program], "none", folder, **settings)[program.name]
        theirs = zoo_runs.fitted([program.name], folder, **settings, as_written=True)
        return mine, theirs[program.name]

    mine, reference = once(SPEED["epochs"])
    first = _ratio(mine, reference)
    if isinstance(first, str) or abs(first - 1) > NEAR:
        return first
    epochs = min(MOST_EPOCHS, max(SPEED["epochs"], int(LONG / _median_epoch(reference))))
    ratios = [_ratio(*once(epochs)) for _ in range(3)]
    return statistics.median(each for each in ratios if isinstance(each, float))


def _ratio(mine: Trained, reference: Trained) -> float | str:
    why = mine.refused or mine.crashed or reference.crashed
    if why or len(mine.ends) < 3 or len(reference.ends) < 3:
        return why or "too few epochs to measure"
    return _median_epoch(reference) / _median_epoch(mine)


def _median_epoch(found: Trained) -> float:
    return statistics.median(late - early for early, late in pairwise(found.ends))


# Wrong programs


def _wrong(chosen: argparse.Namespace, place: Workplace) -> int:
    told = zoo_wrong.told(chosen.names or list(zoo_wrong.PROGRAMS), place.folder)
    if chosen.json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return 0
    console = Console(width=None if sys.stdout.isatty() else 130)
    for name, (message, advice) in told.items():
        console.print(f"[bold]{name}[/]")
        console.print(f"  {message}", markup=False, highlight=False)
        for each in advice:
            console.print(f"    – {each}", markup=False, highlight=False)
    return 0
