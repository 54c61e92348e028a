"""One asking about a plan: what is told meanwhile, and how it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import Plan
from gpu_studio.runs.questions.ask import AskError
from gpu_studio.runs.questions.plan_question import ask_about
from gpu_studio.ui.models.background import Background, Tell
from gpu_studio.ui.units import sentence


@dataclass(frozen=True, slots=True)
class Progress:
    """What is waited for now."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more will be told; `error` says why, and is empty if everything has been."""

    error: str = ""


Told = Progress | PlanFacts | Ended


def inquire(plan: Plan, base: Path, command: Sequence[str] | None) -> Background[Told]:
    """Ask about a plan from now on. `Ended` is told exactly once, and last."""

    def ask(tell: Tell[Told], cancelled: threading.Event) -> None:
        tell(Ended(_why_not(partial(_asked, plan, base, command, tell, cancelled))))

    return Background("plan-facts", ask)


def _asked(plan: Plan, base: Path, command: Sequence[str] | None, tell: Tell[Told], cancelled: threading.Event) -> None:
    answer = ask_about(
        plan,
        base,
        command=command,
        told=lambda answer: tell(decoded(answer)),
        progress=lambda text: tell(Progress(text)),
        cancel=cancelled,
    )
    tell(decoded(answer))


def _why_not(asked: Callable[[], None]) -> str:
    """Why not everything was told; empty if it was."""
    try:
        asked()
    except AskError as failure:
        return sentence(str(failure))
    except ValueError as failure:
        return f"The answer about the plan cannot be read: {failure}."
    except OSError as failure:
        return f"The plan could not be asked about: {failure.strerror or failure}."
    return ""
