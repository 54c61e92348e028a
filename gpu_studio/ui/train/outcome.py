"""How a run ended, in words, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gpu_studio import plan as plans
from gpu_studio.contract import Failed, RunDirectory, checkpoints
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.failure_mends import offered
from gpu_studio.plan import part_of, reference, references_of
from gpu_studio.runs.diagnosis import Explanation, explain
from gpu_studio.runs.left_job import LeftJob, with_job
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.progress import reached
from gpu_studio.runs.sources import not_allowed
from gpu_studio.runs.state import terminal_event

USER_CODE = "user_code"


def own_code(run: RunDirectory) -> tuple[str, Path | None]:
    """Return the failing part of the plan, such as `model`, and a file of it not allowed now.

    The part is empty if the run failed for another reason, or if its plan names no Python.
    """
    end = terminal_event(run)
    if not isinstance(end, Failed) or end.kind != USER_CODE:
        return "", None
    try:
        plan = run.load_plan()
    except plans.PlanError:
        return "", None
    missing = not_allowed(plan)
    return _part(plan, end), missing[0] if missing else None


def _part(plan: plans.Plan, end: Failed) -> str:
    """Return the first part whose file the failure names; the model's, if it names none."""
    named = [(part_of(field), reference(text)) for field, text in references_of(plan)]
    reported = "\n".join((end.message, *end.suggestions, end.traceback))
    spoken_of = [part for part, each in named if each and each.file_name in reported]
    return next(iter(spoken_of), next((part for part, _each in named), ""))


Tone = Literal["plain", "bad"]
MOST_MENDS: Final = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened, what to try, and the lines that say so.

    `resumable`: there is a checkpoint to go on from.

    `mends` are changes of the run's plan that may help. A failure in Python of the user's own is
    about a `part` of the plan, such as `model`; `not_allowed` is a file of it that may not run.
    `place` is where the guide says what to do about a failure.
    """

    message: str
    suggestions: tuple[str, ...] = ()
    details: str = ""
    tone: Tone = "bad"
    resumable: bool = False
    mends: tuple[SuggestedChange, ...] = ()
    part: str = ""
    not_allowed: Path | None = None
    place: str = ""


def outcome(run: RunDirectory, history: History, left: LeftJob | None = None) -> Outcome | None:
    """How the run ended, and what job of Slurm it has `left` behind, if that is known by now.

    None for one that is alive, that did all that its plan asked for, or whose folder is gone.
    """
    if not run.exists():
        return None
    if history.state in ("failed", "lost"):
        reported = with_job(explain(run), left)
        mends = _that_can_be_made(run, reported.mends)
        words = _for_the_window(reported, run, mends)
        part, missing = own_code(run)
        resumable = bool(checkpoints(run))
        return Outcome(
            message=reported.message,
            suggestions=words,
            details=reported.details,
            resumable=resumable,
            mends=mends,
            part=part,
            not_allowed=missing,
            place=reported.place,
        )
    finished = history.finished
    if finished is None or finished.state != "stopped":
        return None
    because = f" {finished.because}" if finished.because else ""
    saved = checkpoints(run)
    if not saved:
        return Outcome(
            "The run was stopped and has no checkpoint.", ("Train its plan again.",), tone="plain"
        )
    per_epoch = history.model.steps_per_epoch if history.model else None
    when = reached(saved[-1].step, per_epoch)
    return Outcome(
        f"The run was stopped.{because} Its newest checkpoint was made {when}.",
        tone="plain",
        resumable=True,
    )


def _that_can_be_made(
    run: RunDirectory, mends: Sequence[SuggestedChange]
) -> tuple[SuggestedChange, ...]:
    """Keep the first few that result in a runnable plan: a later version may suggest others."""
    try:
        plan = plans.load(run.plan_file)
    except plans.PlanError:
        return ()
    return tuple(offered(plan, mends)[:MOST_MENDS])


def _for_the_window(
    reported: Explanation, run: RunDirectory, mends: Sequence[SuggestedChange]
) -> tuple[str, ...]:
    """Return the suggestions without those that the window has a button for.

    These are to resume, to read the end of the log, and to change the plan.
    """
    # A whole table, `distribution`, is named in advice about other things in it, too.
    fields = [mend.field for mend in mends if "." in mend.field]
    # Only the option is named: `global_clipnorm` of `training.options.global_clipnorm`.
    options = [field.rpartition(".")[2] for field in fields if "options." in field]
    buttons = ("with: gpu-studio ", str(run.log_file), *fields, *options)
    return tuple(
        text for text in reported.suggestions if not any(words in text for words in buttons)
    )
