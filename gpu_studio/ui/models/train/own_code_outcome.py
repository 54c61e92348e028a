"""Where the plan of a run that failed in Python of its user's own names that Python, and whether it is allowed now."""

from __future__ import annotations

from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.plan.references import reference
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import Failed
from gpu_studio.runs.state import terminal_event
from gpu_studio.ui.models.plan.own_code import not_allowed

USER_CODE = "user_code"


def own_code(run: RunDirectory) -> tuple[str, Path | None]:
    """The part of the plan that the failure is about, `model` or `data`, and a file of it that is not allowed now.

    The part is empty where the run failed otherwise, or its plan names no Python.
    """
    end = terminal_event(run)
    if not isinstance(end, Failed) or end.kind != USER_CODE:
        return "", None
    try:
        plan = plans.load(run.plan_file)
    except plans.PlanError:
        return "", None
    missing = not_allowed(plan, run.path)
    return _part(plan, end), missing[0] if missing else None


def _part(plan: plans.Plan, end: Failed) -> str:
    """The data only where the failure speaks of their function, and not of the model's."""
    named = {part: reference(text) for part, text in (("model", plan.model.python), ("data", plan.data.python)) if text}
    told = "\n".join((end.message, *end.suggestions, end.traceback))
    spoken_of = [part for part, each in named.items() if each and each.file_name in told]
    return next(iter(spoken_of), next(iter(named), ""))
