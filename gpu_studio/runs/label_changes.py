"""Names, tags and notes of several runs changed at once, and how they were before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.labels import Labels, read_labels, tidy_name, tidy_tags, write_labels

Change = Callable[[Labels], Labels]


@dataclass(frozen=True, slots=True)
class Changed:
    """What was done: how each run that was changed was `before`, and in a sentence `why_not` to the others."""

    before: dict[RunDirectory, Labels]
    why_not: str = ""

    def undo(self) -> Changed:
        """Write what was there before."""
        return _write(self.before)


def change_labels(runs: Iterable[RunDirectory], change: Change) -> Changed:
    """Change the labels of each run as they are on disk now; those that stay the same are not written."""
    return _write({run: new for run in runs if (new := change(old := read_labels(run))) != old})


def with_tags(tags: Sequence[str], shared: Sequence[str]) -> Change:
    """Have these tags instead of those that all the runs shared, and the others that each has as they are."""
    gone = {tag.casefold() for tag in shared} - {tag.casefold() for tag in tags}
    return lambda labels: replace(
        labels, tags=tidy_tags([*(tag for tag in labels.tags if tag.casefold() not in gone), *tags]), problem=""
    )


def with_note(note: str) -> Change:
    """Have this note."""
    return lambda labels: replace(labels, note=note, problem="")


def with_name(name: str) -> Change:
    """Have this name; an empty one is that of the plan again."""
    return lambda labels: replace(labels, name=tidy_name(name), problem="")


def shared_tags(several: Sequence[Labels]) -> tuple[str, ...]:
    """The tags that all of them have, in the order of the first."""
    if not several:
        return ()
    return tuple(tag for tag in several[0].tags if all(tag in labels.tags for labels in several))


def shared_note(several: Sequence[Labels]) -> str | None:
    """The note that all of them have; None where they have different ones."""
    notes = {labels.note for labels in several}
    return notes.pop() if len(notes) == 1 else None


def _write(wanted: dict[RunDirectory, Labels]) -> Changed:
    before: dict[RunDirectory, Labels] = {}
    failed: list[str] = []
    for run, labels in wanted.items():
        old = read_labels(run)
        try:
            write_labels(run, labels)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            failed.append(f"{run.id}: {why or error}")
        else:
            before[run] = old
    return Changed(before, _sentence(failed))


def _sentence(failed: Sequence[str]) -> str:
    if not failed:
        return ""
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"This could not be written on {failed[0]}{more}. Look whether the folder is there and may be written."
