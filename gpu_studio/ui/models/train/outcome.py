"""How a run ended, in words, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gpu_studio import plan as plans
from gpu_studio.runs.checkpoints import checkpoints
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.event_parts import Mend
from gpu_studio.runs.failures.diagnosis import Explanation, explain
from gpu_studio.runs.failures.failure_mends import offered
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.reached import reached
from gpu_studio.ui.models.train.own_code_outcome import own_code

Tone = Literal["plain", "bad"]
MOST_MENDS: Final = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened, what to try, and the lines it was told from. `resumable`: there is a checkpoint to go on from.

    `mends` are changes of the run's plan that may help. A failure in Python of the user's own is about a `part` of the
    plan, `model` or `data`; `not_allowed` is a file of it that may not run.
    """

    message: str
    suggestions: tuple[str, ...] = ()
    details: str = ""
    tone: Tone = "bad"
    resumable: bool = False
    mends: tuple[Mend, ...] = ()
    part: str = ""
    not_allowed: Path | None = None


def outcome(run: RunDirectory, history: History) -> Outcome | None:
    """How the run ended; None for one that is alive, that did all that its plan asked for, or whose folder is gone."""
    if not run.exists():
        return None
    if history.state in ("failed", "lost"):
        told = explain(run)
        mends = _that_can_be_made(run, told.mends)
        words = _for_the_window(told, run, mends)
        part, missing = own_code(run)
        resumable = bool(checkpoints(run))
        return Outcome(told.message, words, told.details, "bad", resumable, mends, part, missing)
    finished = history.finished
    if finished is None or finished.state != "stopped":
        return None
    saved = checkpoints(run)
    if not saved:
        return Outcome("The run was stopped and has no checkpoint.", ("Train its plan again.",), tone="plain")
    per_epoch = history.model.steps_per_epoch if history.model else None
    when = reached(saved[-1].step, per_epoch)
    return Outcome(f"The run was stopped. Its newest checkpoint was made {when}.", tone="plain", resumable=True)


def _that_can_be_made(run: RunDirectory, mends: Sequence[Mend]) -> tuple[Mend, ...]:
    """The first few of those that leave a plan which can be run: a later version may tell of others."""
    try:
        plan = plans.load(run.plan_file)
    except plans.PlanError:
        return ()
    return tuple(offered(plan, mends)[:MOST_MENDS])


def _for_the_window(told: Explanation, run: RunDirectory, mends: Sequence[Mend]) -> tuple[str, ...]:
    """The suggestions, but for those that the window has a button for: to resume, to read the log's end, to mend."""
    fields = [mend.field for mend in mends]
    # An option is named alone: `global_clipnorm` of `training.options.global_clipnorm`.
    options = [field.rpartition(".")[2] for field in fields if "options." in field]
    buttons = ("with: gpu-studio ", str(run.log_file), *fields, *options)
    return tuple(text for text in told.suggestions if not any(words in text for words in buttons))
