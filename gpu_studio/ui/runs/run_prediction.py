"""Save the prediction for a run that the window starts, to be compared with its results."""

from __future__ import annotations

from gpu_studio import plan as plans
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.prediction import Prediction


def keep_prediction(
    run: RunDirectory,
    plan: plans.Plan,
    machine: plans.Machine,
    facts: PlanFacts | None,
    step_seconds: float | None,
) -> None:
    """Save what a step of `plan` was predicted to take, without what was unknown."""
    memory = predict(plan, machine, facts) if facts is not None else ()
    taken = {each.device: each.total for each in memory if each.total}
    prediction.write(run, Prediction(bytes=taken, step_seconds=step_seconds))
