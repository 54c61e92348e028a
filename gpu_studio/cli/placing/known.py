"""What earlier answers of TensorFlow's show to be wrong with a plan: told at once, without asking again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gpu_studio import plan as plans
from gpu_studio.runs.launch import problems_of


def every_problem(plan: plans.Plan, base: Path, machine: plans.Machine) -> tuple[plans.Problem, ...]:
    """All that keeps `plan` from being run, also what its data and model are known to have; `base` is its folder."""
    from gpu_studio.placement.known_problems import known_problems
    from gpu_studio.placement.plan_facts import decoded
    from gpu_studio.runs.questions.plan_question import kept_about

    found = tuple(problems_of(plan, base, machine))
    # Answers of another version are none.
    with suppress(ValueError):
        if (kept := kept_about(plan, base)) is not None:
            return (*found, *known_problems(plan, decoded(kept), found))
    return found
