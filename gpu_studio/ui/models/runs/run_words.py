"""A run's figures as they stand in the cells of a table and in their tooltips."""

from __future__ import annotations

from gpu_studio.runs import wording
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.runs.run_row import RunRow
from gpu_studio.ui.units import duration


def progress(row: RunRow) -> str:
    """How far a live run is, or how long a run took that has ended."""
    summary = row.summary
    if summary.live and summary.epochs_total:
        return f"epoch {figures.count(summary.epoch)}/{figures.count(summary.epochs_total)}"
    return wording.UNKNOWN if summary.seconds is None else duration(summary.seconds)


def best(row: RunRow) -> str:
    """The best value of the metric that says most."""
    return wording.metric(row.summary.best.value) if row.summary.best else wording.UNKNOWN


def best_of(row: RunRow) -> str:
    """What the best value is of, and when it was reached."""
    found = row.summary.best
    return f"{found.metric}, epoch {figures.count(found.epoch)}" if found else "No epoch has ended"


def peak(row: RunRow) -> str:
    """The most memory that any one device held."""
    return wording.UNKNOWN if row.peak is None else figures.size(row.peak)


def peaks(row: RunRow) -> str:
    """The most memory that each device held, a line each."""
    return "\n".join(f"{device}: {figures.size(peak)}" for device, peak in row.summary.peaks.items())


def energy(joules: float | None) -> str:
    """What was drawn, in watt-hours alone: `44 Wh`, `3.1 Wh`, `0.02 Wh`."""
    if joules is None:
        return wording.UNKNOWN
    hours = joules / 3600
    return f"{figures.count(hours)} Wh" if hours >= 10 else f"{hours:.1f} Wh" if hours >= 0.1 else f"{hours:.1g} Wh"


def whole(row: RunRow) -> str:
    """The run's name and id, where it comes from, and what a person wrote on it, a line each."""
    parent, labels = row.summary.resumed_from, row.labels
    lines = (
        row.title,
        f"plan: {row.summary.plan}" if labels.name else "",
        row.id,
        f"resumed from {parent}" if parent else "",
        f"tags: {', '.join(labels.tags)}" if labels.tags else "",
        labels.note,
        labels.problem,
    )
    return "\n".join(filter(None, lines))


def spoken(row: RunRow) -> str:
    """The run's name, and its tags, in one line."""
    return f"{row.title}, tagged {', '.join(row.labels.tags)}" if row.labels.tags else row.title
