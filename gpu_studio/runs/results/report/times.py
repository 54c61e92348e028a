"""Where the time of a run went, in its report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_studio.runs.events import Communication, DeviceTimes
from gpu_studio.runs.results.report.elements import table
from gpu_studio.runs.results.report.markup import Markup, tag
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.results.training_parts import ONE_DEVICE, steps_in_words
from gpu_studio.runs.wording import UNKNOWN, share, span, spent

_EXTRAPOLATED: Final = (
    "computing, while any device does",
    "communication, while none computes",
    "idle: no device does anything",
)


def where_it_went(run: RunFigures) -> Iterator[Markup | None]:
    """The seconds of the whole run, and what the devices did in a step."""
    yield _times(run)
    if not run.times.call_seconds:
        return
    if run.training_parts is not None and run.communication is not None:
        yield from _step(run.communication)
    else:
        yield tag("p", _not_measured(run), class_="muted")


def _times(run: RunFigures) -> Markup | None:
    times = run.times
    parts = (
        ("starting: TensorFlow, model and data", times.seconds_in("starting"), ""),
        ("tracing and compiling, in the first call", times.first_call_seconds, ""),
        ("waiting for data", times.input_seconds, ""),
        *_computing(run),
        ("validation, checkpoints and the ends of epochs", times.other_seconds, ""),
        ("paused", times.seconds_in("paused"), ""),
    )
    whole = sum(seconds for _, seconds, _ in parts)
    rows = ([name, f"{about}{spent(seconds)}", share(seconds / whole)] for name, seconds, about in parts if seconds > 0)
    return table("Wall time from the first event to the last", ("", "time", "share"), rows, (1, 2))


def _computing(run: RunFigures) -> Iterator[tuple[str, float, str]]:
    parts = run.training_parts
    if parts is not None:
        seconds = (parts.compute, parts.communication, parts.idle)
        yield from ((name, each, "≈ ") for name, each in zip(_EXTRAPOLATED, seconds, strict=True))
    elif run.why_not("communication") == ONE_DEVICE:
        yield "computing", run.times.compute_seconds, ""
    else:
        yield "computing, with what goes between devices", run.times.compute_seconds, ""


def _step(told: Communication) -> Iterator[Markup | None]:
    words = (
        f"Times with ≈ are extrapolated: TensorFlow's profiler watched {steps_in_words(told)} "
        f"({span(told.seconds)} a step), and the others are taken to be like that."
    )
    yield tag("p", words, class_="muted")
    waited = any(each.waiting is not None for each in told.devices)
    headings = ["device", "computing", "communicating", "exposed", "idle", *(["waiting for others"] if waited else [])]
    rows = (_device(each, told.seconds, waited=waited) for each in told.devices)
    yield table("What each device did in such a step", headings, rows, range(1, len(headings)))
    others = " Waiting for others is part of it: the last replica had not come to the all-reduce yet." if waited else ""
    yield tag("p", f"Communication is exposed while the device computes nothing.{others}", class_="muted")


def _device(each: DeviceTimes, whole: float, *, waited: bool) -> list[str]:
    def told(seconds: float | None) -> str:
        return UNKNOWN if seconds is None else f"{span(seconds)} ({share(seconds / whole)})"

    known = [told(seconds) for seconds in (each.compute, each.communication, each.exposed, each.idle)]
    return [each.device, *known, *([told(each.waiting)] if waited else [])]


def _not_measured(run: RunFigures) -> str:
    if run.why_not("communication") == ONE_DEVICE:
        return "There was no communication between devices: the run trained on one."
    if run.timeline is None:
        return "Time in communication was not measured: it is part of computing."
    busy = ", ".join(f"{name} {share(each / run.timeline.seconds)}" for name, each in run.timeline.busy.items())
    words = f"In step {run.timeline.step:,}, which took {span(run.timeline.seconds)}, the devices were at work: {busy}."
    return f"{words} The rest they waited for each other and for what goes between them."
