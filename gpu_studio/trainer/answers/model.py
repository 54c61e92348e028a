"""The layers of a plan's model, the cost of each, and what a training step holds.

Everything is built as a run builds it, on the CPU. One training step is traced into a graph; no
step is run.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.placement.plan_facts import ModelFacts, encoded
from gpu_studio.trainer.answers.memory_limit import limit_memory
from gpu_studio.trainer.environment import settle
from gpu_studio.trainer.errors import TrainerError, UserCodeError
from gpu_studio.trainer.failures import explain


def answer(about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """Describe the model of the plan in `about`.

    Also say whether the answer lasts as long as the plan and its files stay as they are.
    """
    limit_memory()
    plan = plans.loads(about["plan"])
    settle(plan)
    progress("importing TensorFlow")
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    facts = _facts(plan, about["data"], progress)
    return encoded(facts), not facts.model_error and not facts.training_error


def _facts(plan: plans.Plan, data: dict[str, Any], progress: Callable[[str], None]) -> ModelFacts:
    from gpu_studio.trainer.answers import building

    policy = building.set_precision(plan)
    dataset = building.stand_in(data)
    progress("building the model")
    try:
        model = building.model_of(plan, dataset)
    # Whatever Keras raises about a model, the window must be told.
    except Exception as error:  # noqa: BLE001
        return _refused("Keras cannot build this model", error, policy)
    progress("tracing a training step")
    notes = building.notes_of(plan, model, dataset, data)
    try:
        facts = building.facts_of(plan.training, dataset, model, loaded=bool(plan.model.file))
        return replace(facts, policy=policy, notes=notes)
    except TrainerError as error:
        # More can be said about the layers than that their training is refused.
        facts = building.facts_of(plans.Training(), dataset, model)
        refused = replace(facts, training_error=error.message, advice=error.suggestions)
        return replace(refused, policy=policy, slots={}, steps={}, notes=notes)
    except Exception as error:  # noqa: BLE001
        return _refused("Keras cannot train this model on these data", error, policy)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether the host ran out of memory, judging by Python's or TensorFlow's words."""
    return isinstance(error, MemoryError) or "OOM when allocating" in str(error)


def _refused(what: str, error: Exception, policy: str) -> ModelFacts:
    facts = ModelFacts(
        policy=policy, of_the_moment=is_out_of_memory(error) or is_out_of_memory(error.__cause__)
    )
    if isinstance(error, TrainerError):
        details = error.trace if isinstance(error, UserCodeError) else ""
        return replace(facts, model_error=error.message, advice=error.suggestions, details=details)
    if facts.of_the_moment:
        advice = (
            "Choose a smaller model, or fewer units.",
            "Look who else uses the memory of this machine.",
        )
        return replace(facts, model_error=explain(error).message, advice=advice)
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    advice = ("Hold the shape of the data against the model's input.", "Check the model's options.")
    details = "".join(traceback.format_exception(error))
    return replace(facts, model_error=f"{what}: {first}", advice=advice, details=details)
