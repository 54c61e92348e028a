"""`runs list`, `tag`, `note` and `rename`: all runs, the newest first, and their labels.

Runs can be selected by their labels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from gpu_studio.cli.command import (
    OK,
    Commands,
    RefusedError,
    add_command,
    add_json,
    add_run,
    add_runs,
    named_run,
    named_runs,
    note,
    runs_folder,
    say,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from gpu_studio.contract import RunDirectory
    from gpu_studio.runs.labels import Change, Labels
    from gpu_studio.runs.reading.summary import Summary

_EXAMPLES = """examples:
  gpu-studio runs list --json
  gpu-studio runs list --tag best,baseline
  gpu-studio runs list --energy"""
_HEADINGS = ("#", "RUN", "STATE", "EPOCH", "BEST", "TIME", "NAME")


def register(actions: Commands) -> None:
    """Add the action."""
    parser = add_command(actions, "list", "list all runs, the newest first", _EXAMPLES, list_all)
    parser.add_argument(
        "--energy", action="store_true", help="with the energy of its cards, which takes a while"
    )
    add_tags(parser, "--tag", "only runs that have these tags")
    add_json(parser)


def list_all(chosen: argparse.Namespace) -> int:
    """List the runs that have the tags asked for."""
    from gpu_studio.runs.catalogue import list_runs, none_yet
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
        note(none_yet(runs_folder(chosen)))
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
            elif summary.left:
                note(f"{summary.id} is lost, and {summary.reason}.")
    return OK


def _row(summary: Summary, labels: Labels) -> tuple[str, ...]:
    from gpu_studio.common.figures import duration, grouped, metric

    best = f"{summary.best.metric} {metric(summary.best.value)}" if summary.best else ""
    epochs = (
        f"{grouped(summary.epoch)}/{grouped(summary.epochs_total)}" if summary.epochs_total else ""
    )
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
    if any(summary.practice for summary in found):
        yield ["PRACTICE", *(summary.practice for summary in found)]
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
        "created": summary.started,
        "seconds": summary.seconds,
        "epoch": summary.epoch,
        "epochs": summary.epochs_total,
        "step": summary.step,
        "steps": summary.steps_total,
        "strategy": summary.strategy,
        "best": {"metric": best.metric, "value": best.value, "epoch": best.epoch} if best else None,
        "peak_bytes": summary.peaks,
        "resumed_from": summary.resumed_from,
        "practice": summary.practice,
    }


_TAG: Final = """\
Without a change the tags that stand there are shown. A tag is one word of at most 40 letters.

examples:
  gpu-studio runs tag latest --add best,to-show
  gpu-studio runs tag latest 20261120 --remove to-show
  gpu-studio runs list --tag best"""
_NOTE: Final = """Without a change the note that stands there is shown.

examples:
  gpu-studio runs note latest --message "the one to keep"
  gpu-studio runs note latest --message - < note.txt
  gpu-studio runs note latest --clear"""
_RENAME: Final = """\
A run is called by its plan until it is given a name of its own. Its number stays.

examples:
  gpu-studio runs rename 7 "smaller steps"
  gpu-studio runs rename 7 --clear"""


def register_labels(actions: Commands) -> None:
    """Add the three actions."""
    parser = add_command(actions, "tag", "show or change the tags of runs", _TAG, tag)
    add_runs(parser)
    add_tags(parser, "--add", "tags to give, with commas between them; can be given many times")
    add_tags(parser, "--remove", "tags to take away; those that a run has not are no mistake")
    parser.add_argument(
        "--clear", action="store_true", help="take all tags away, before those of --add are given"
    )
    add_json(parser)
    parser = add_command(actions, "note", "show or change the note of runs", _NOTE, write_note)
    add_runs(parser)
    change = parser.add_mutually_exclusive_group()
    change.add_argument(
        "--message",
        "-m",
        metavar="TEXT",
        help="the note, in place of what was there; -: from stdin",
    )
    change.add_argument("--clear", action="store_true", help="take the note away")
    add_json(parser)
    parser = add_command(actions, "rename", "give a run a name", _RENAME, rename)
    add_run(parser)
    named = parser.add_mutually_exclusive_group(required=True)
    named.add_argument("name", metavar="NAME", nargs="?", help="what the run is called from now on")
    named.add_argument("--clear", action="store_true", help="call it by its plan again")
    add_json(parser)


def add_tags(parser: argparse.ArgumentParser, name: str, help_: str) -> None:
    """Add an option that takes tags, with commas between them, and can be given many times."""
    parser.add_argument(name, metavar="TAG[,TAG]", action="append", default=[], help=help_)


def tag(chosen: argparse.Namespace) -> int:
    """Show the tags of runs, or change them."""
    from gpu_studio.runs.labels import with_tags

    added, removed = tags_in(chosen.add), tags_in(chosen.remove)
    if both := _alike(added, removed):
        raise RefusedError(
            f"{', '.join(both)} cannot be both given and taken away: leave one of them out."
        )

    def change(labels: Labels) -> Labels:
        return with_tags(added, labels.tags if chosen.clear else removed)(labels)

    return _act(chosen, change if added or removed or chosen.clear else None, _say_tags)


def write_note(chosen: argparse.Namespace) -> int:
    """Show the note of runs, or change it."""
    from gpu_studio.runs.labels import with_note

    change: Change | None = None
    if chosen.clear or chosen.message is not None:
        change = with_note("" if chosen.clear else _message(chosen.message))
    return _act(chosen, change, _say_notes)


def rename(chosen: argparse.Namespace) -> int:
    """Give a run a name, or the plan's again."""
    from gpu_studio.runs.labels import (
        LONGEST_NAME,
        change_labels,
        name_of,
        number_of,
        tidy_name,
        title_of,
        with_name,
    )

    name = "" if chosen.clear else tidy_name(chosen.name or "")
    if not chosen.clear and (not name or len(" ".join(chosen.name.split())) > LONGEST_NAME):
        raise RefusedError(
            f"A name has 1 to {LONGEST_NAME} letters. To have the plan's name again: --clear"
        )
    run = named_run(chosen)
    if why_not := change_labels([run], with_name(name)).why_not:
        raise RefusedError(why_not)
    if chosen.json:
        say_json({"run": run.id, "number": number_of(run), "name": name_of(run)})
    else:
        note(f"It is called {title_of(run)} now.")
    return OK


def tags_in(options: Iterable[str]) -> tuple[str, ...]:
    """The tags that were given with an option, each time with commas between them.

    Raises RefusedError if one is none, or longer than a tag can be.
    """
    from gpu_studio.runs.labels import LONGEST_TAG, split_tags

    texts = list(options)
    for text in texts:
        if not split_tags(text):
            raise RefusedError(
                f"{text!r} is no tag: write a word, or several with commas between them."
            )
        for word in text.split(","):
            if len(word.strip()) > LONGEST_TAG:
                raise RefusedError(
                    f"{word.strip()!r} is too long for a tag: write at most {LONGEST_TAG} letters."
                )
    return split_tags(",".join(texts))


def having_tags(found: list[Summary], options: Iterable[str]) -> list[Summary]:
    """Those of the runs that have all the tags. Raises RefusedError if one of these is no tag."""
    from gpu_studio.runs.labels import read_labels

    wanted = tags_in(options)
    return [
        each
        for each in found
        if len(_alike(wanted, read_labels(each.directory).tags)) == len(wanted)
    ]


def none_has(found: list[Summary], options: Iterable[str]) -> str:
    """A sentence for when none of the runs has all the tags."""
    from gpu_studio.runs.labels import read_labels

    known = {tag.casefold(): tag for each in found for tag in read_labels(each.directory).tags}
    there = ", ".join(sorted(known.values(), key=str.casefold)) or "none"
    return (
        f"No run has {' and '.join(map(repr, tags_in(options)))} among "
        f"its tags. Tags in use: {there}."
    )


def _act(
    chosen: argparse.Namespace,
    change: Change | None,
    show: Callable[[dict[RunDirectory, Labels]], None],
) -> int:
    from gpu_studio.runs.labels import change_labels, read_labels

    runs = list(dict.fromkeys(named_runs(chosen, elsewhere=change is None)))
    for run in runs:
        if problem := read_labels(run).problem:
            note(problem)
    if change is not None and (why_not := change_labels(runs, change).why_not):
        raise RefusedError(why_not)
    labels = {run: read_labels(run) for run in runs}
    if chosen.json:
        say_json([_labels_document(run, each) for run, each in labels.items()])
    else:
        show(labels)
    return OK


def _say_tags(labels: dict[RunDirectory, Labels]) -> None:
    if len(labels) == 1:
        _say_of_one(labels, lambda each: each.tags, "tags")
    else:
        say_table(
            [("RUN", "TAGS"), *((run.id, ", ".join(each.tags)) for run, each in labels.items())]
        )


def _say_notes(labels: dict[RunDirectory, Labels]) -> None:
    if len(labels) == 1:
        _say_of_one(labels, lambda each: each.note.splitlines(), "note")
        return
    for run, each in labels.items():
        say(f"{run.id}{':' if each.note else ': no note'}")
        for line in each.note.splitlines():
            say(f"  {line}")


def _say_of_one(
    labels: dict[RunDirectory, Labels], lines: Callable[[Labels], Sequence[str]], what: str
) -> None:
    ((run, each),) = labels.items()
    if not lines(each):
        note(f"{run.id} has no {what}.")
    for line in lines(each):
        say(line)


def _message(text: str) -> str:
    from gpu_studio.runs.labels import LONGEST_NOTE

    text = (sys.stdin.read() if text == "-" else text).strip()
    if len(text) > LONGEST_NOTE:
        raise RefusedError(
            f"A note has at most {LONGEST_NOTE} characters, and this one "
            f"has {len(text)}: shorten it."
        )
    return text


def _labels_document(run: RunDirectory, labels: Labels) -> dict[str, Any]:
    return {"run": run.id, "tags": list(labels.tags), "note": labels.note}


def _alike(some: Sequence[str], others: Iterable[str]) -> list[str]:
    """Those of some tags that are among others, whatever their case."""
    there = {tag.casefold() for tag in others}
    return [tag for tag in some if tag.casefold() in there]
