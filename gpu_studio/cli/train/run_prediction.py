"""What is known beforehand of a run that the command line starts, kept beside the run to be held against what comes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.runs.directory import RunDirectory


def keep_prediction(run: RunDirectory, machine: plans.Machine) -> None:
    """Write down what a step of the run's plan was predicted to take, if TensorFlow told of it before: nobody is asked.

    The trainer is at work meanwhile, so nothing waits for this.
    """
    from gpu_studio.runs.results import prediction

    # The plan of a run that is gone already is no reason to say anything.
    with suppress(plans.PlanError):
        taken = predicted_bytes(plans.load(run.plan_file), run.path, machine)
        prediction.write(run, prediction.Prediction(bytes=taken))


def predicted_bytes(plan: plans.Plan, base: Path, machine: plans.Machine) -> dict[str, int]:
    """What a step of `plan` takes of each logical device, if TensorFlow told of it before; else nothing.

    The plan's relative files are looked for in `base`.
    """
    from gpu_studio.placement.memory import predict
    from gpu_studio.placement.plan_facts import decoded
    from gpu_studio.runs.questions.plan_question import kept_about

    # Answers of another version are none.
    with suppress(ValueError):
        if (answer := kept_about(plan, base)) is not None:
            return {each.device: each.total for each in predict(plan, machine, decoded(answer)) if each.total}
    return {}
