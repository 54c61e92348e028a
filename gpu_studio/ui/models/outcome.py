"""How a run ended, in words, and what can be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpu_studio.runs.checkpoints import checkpoints
from gpu_studio.runs.diagnosis import Explanation, explain
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.history import History

Tone = Literal["plain", "bad"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened, what to try, and the lines it was told from. `resumable`: there is a checkpoint to go on from."""

    message: str
    suggestions: tuple[str, ...] = ()
    details: str = ""
    tone: Tone = "bad"
    resumable: bool = False


def outcome(run: RunDirectory, history: History) -> Outcome | None:
    """How the run ended; None for one that is alive, or that did all that its plan asked for."""
    if history.state in ("failed", "lost"):
        told = explain(run)
        return Outcome(told.message, _for_the_window(told, run), told.details, resumable=bool(checkpoints(run)))
    finished = history.finished
    if finished is None or finished.reason not in ("stopped", "stopped_now"):
        return None
    saved = checkpoints(run)
    if not saved:
        return Outcome("The run was stopped and has no checkpoint.", ("Train its plan again.",), tone="plain")
    where = f"epoch {saved[-1].epoch}, step {saved[-1].step}"
    return Outcome(f"The run was stopped. Its newest checkpoint is of {where}.", tone="plain", resumable=True)


def _for_the_window(told: Explanation, run: RunDirectory) -> tuple[str, ...]:
    """The suggestions, but for those that the window has a button for: to resume, and to read the log's end."""
    buttons = ("with: gpu-studio ", str(run.log_file))
    return tuple(text for text in told.suggestions if not any(words in text for words in buttons))
