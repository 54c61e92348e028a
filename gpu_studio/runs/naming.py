"""What a run is called wherever it is named: `#7 digits on four devices`, the same in window and terminal."""

from __future__ import annotations

import tomllib

from gpu_studio.plan.files import LARGEST_BYTES
from gpu_studio.regular_files import read_regular
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.labels import read_labels
from gpu_studio.runs.numbers import number_of


def title(number: int | None, name: str) -> str:
    """A run's number and its name; the name alone where it has no number."""
    return f"#{number} {name}" if number is not None else name


def title_of(run: RunDirectory) -> str:
    """What `run` is called, as its files say it now."""
    return title(number_of(run), name_of(run))


def name_of(run: RunDirectory) -> str:
    """The name that a person gave to `run`, else that of its plan."""
    return read_labels(run).name or plan_name(run)


def plan_name(run: RunDirectory) -> str:
    """Return the plan's name as the run's plan file says it; the run's id if that cannot be read."""
    try:
        text = read_regular(run.plan_file, LARGEST_BYTES).decode("utf-8-sig")
        name = tomllib.loads(text).get("name", run.id)
    except (OSError, ValueError, RecursionError):
        return run.id
    return str(name)
