"""Read the runs that a run was resumed from as one training, from its first step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import AnyEvent, Epoch, LearningRate, Steps, decode
from gpu_studio.contract.inheritance import resumed_from
from gpu_studio.contract.lines import LineTail
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.state import is_live


def read_history(run: RunDirectory, runs: Path | None = None) -> History:
    """Return all that is known of `run`, with its present state and what it inherited.

    `runs` is where its ancestors are looked for, by default beside `run`.
    """
    history = History()
    history.inherit_all(inherited_events(run, runs))
    # Checked before the events are read: a trainer that ends in between has then written so.
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
    """Yield what the ancestors of `run` trained before it resumed: for `History.inherit`."""
    folder = runs or run.path.parent
    for ancestor, end in reversed(_ancestors(run, folder)):
        for event in events_of(ancestor):
            kept = _until(event, end)
            if kept is not None:
                yield kept


def in_training_time(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """Yield the same events, each with the seconds trained by then as its time.

    So runs that were resumed days later follow each other directly.
    """
    seconds = 0.0
    for event in events:
        if isinstance(event, Steps):
            seconds += max(event.seconds, 0.0)
        yield replace(event, time=seconds, elapsed=0.0)


def ancestors(run: RunDirectory, runs: Path | None = None) -> list[tuple[RunDirectory, int]]:
    """Return the existing ancestors of `run`, nearest first, with the number of their steps used.

    `runs` is as in `read_history`.
    """
    return _ancestors(run, runs or run.path.parent)


def _ancestors(run: RunDirectory, runs: Path) -> list[tuple[RunDirectory, int]]:
    """Return the existing ancestors, nearest first, each with the number of its steps used."""
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
    """Return the part of `event` within the first `end` steps; None if there is none."""
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
