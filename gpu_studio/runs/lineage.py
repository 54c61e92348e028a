"""The runs that a run was resumed from, read as one training from its first step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import AnyEvent, Epoch, LearningRate, Steps, decode
from gpu_studio.runs.inheritance import resumed_from
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.lines import LineTail
from gpu_studio.runs.state import is_live


def read_history(run: RunDirectory, runs: Path | None = None) -> History:
    """Return everything known of `run` now, its state concluded, with what it inherited from runs that are still there.

    `runs` is where those are looked for, by default beside `run`.
    """
    history = History()
    history.inherit_all(inherited_events(run, runs))
    # Asked before the events are read: a trainer that ends in between has told so in them.
    live = is_live(run)
    history.apply_all(events_of(run))
    if not live:
        history.conclude_lost()
    return history


def events_of(run: RunDirectory) -> Iterator[AnyEvent]:
    """Yield the events of `run` so far, read in bounded batches."""
    for line in LineTail(run.events_file).read_all():
        event = decode(line)
        if event is not None:
            yield event


def inherited_events(run: RunDirectory, runs: Path | None = None) -> Iterator[AnyEvent]:
    """Yield what the ancestors of `run` trained up to the steps at which they were resumed: for `History.inherit`."""
    folder = runs or run.path.parent
    for ancestor, end in reversed(_ancestors(run, folder)):
        for event in events_of(ancestor):
            kept = _until(event, end)
            if kept is not None:
                yield kept


def in_training_time(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """Yield the same events; the time of each is the seconds that had been trained by then.

    So runs that were resumed days later follow one another at once.
    """
    seconds = 0.0
    for event in events:
        if isinstance(event, Steps):
            seconds += max(event.seconds, 0.0)
        yield replace(event, time=seconds, elapsed=0.0)


def ancestors(run: RunDirectory, runs: Path | None = None) -> list[tuple[RunDirectory, int]]:
    """Return the runs that `run` goes on from and that are still there, nearest first.

    With each comes the number of its steps that `run` stands on. `runs` is as in `read_history`.
    """
    return _ancestors(run, runs or run.path.parent)


def _ancestors(run: RunDirectory, runs: Path) -> list[tuple[RunDirectory, int]]:
    """Return the ancestors still there, nearest first, each with the number of its steps that `run` stands on."""
    found: list[tuple[RunDirectory, int]] = []
    seen = {run.id}
    end: int | None = None
    while (note := resumed_from(run)) and note.run not in seen:
        seen.add(note.run)
        run = RunDirectory(runs / Path(note.run).name)
        end = note.step if end is None else min(end, note.step)
        if not run.exists():
            break
        found.append((run, end))
    return found


def _until(event: AnyEvent, end: int) -> AnyEvent | None:
    """Return what of `event` belongs to the first `end` steps; None if nothing does."""
    match event:
        case Steps():
            return _cut(event, end - event.first_step)
        case Epoch():
            return event if event.step <= end else None
        case LearningRate():
            return event if event.step < end else None
    return None


def _cut(event: Steps, count: int) -> Steps | None:
    if count >= len(event.losses):
        return event
    if count <= 0:
        return None
    part = count / len(event.losses)
    return replace(
        event,
        losses=event.losses[:count],
        samples=round(event.samples * part),
        seconds=event.seconds * part,
        input_seconds=event.input_seconds * part,
    )
