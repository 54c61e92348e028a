"""Save the prediction for a run that the window starts, to be compared with its results."""

from __future__ import annotations

from contextlib import suppress

from gpu_studio import plan as plans
from gpu_studio.contract import RunDirectory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import AbsolutePlan
from gpu_studio.runs.questions.plan_question import kept_about
from gpu_studio.runs.results import prediction


def known_about(plan: AbsolutePlan) -> PlanFacts | None:
    """Return what was answered about `plan` before, in any window or terminal; asks nothing."""
    # Answers of another version are none.
    with suppress(ValueError):
        if (kept := kept_about(plan)) is not None:
            return decoded(kept)
    return None


def keep_prediction(
    run: RunDirectory,
    plan: plans.Plan,
    machine: plans.Machine,
    facts: PlanFacts | None,
    step_seconds: float | None,
) -> None:
    """Save what a step of `plan` was predicted to take, without what was unknown."""
    memory = predict(facts.completed(plan), machine, facts) if facts is not None else ()
    prediction.write(run, prediction.of_memories(memory, step_seconds))
