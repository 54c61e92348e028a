"""The layers of a plan's model, what each costs, and what a training step holds.

Everything is built as a run builds it, on the CPU; one training step is traced into a graph, and none is run.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpu_studio import plan as plans
from gpu_studio.placement.plan_facts import ModelFacts, encoded
from gpu_studio.trainer.answers.modesty import be_modest
from gpu_studio.trainer.environment import settle
from gpu_studio.trainer.errors import TrainerError, UserCodeError
from gpu_studio.trainer.failures import explain


def answer(about: dict[str, Any], progress: Callable[[str], None]) -> tuple[dict[str, Any], bool]:
    """The model of the plan in `about`, and whether that holds as long as the plan and its files stay as they are."""
    be_modest()
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
    except Exception as error:  # noqa: BLE001  (whatever Keras raises about a model, the window must be told)
        return _refused("Keras cannot build this model", error, policy)
    progress("tracing a training step")
    notes = building.notes_of(plan, model, dataset, data)
    try:
        return replace(building.facts_of(plan.training, dataset, model), policy=policy, notes=notes)
    except TrainerError as error:
        # Of the layers more can be told than that their training is refused.
        facts = building.facts_of(plans.Training(), dataset, model)
        refused = replace(facts, training_error=error.message, advice=error.suggestions)
        return replace(refused, policy=policy, slots={}, steps={}, notes=notes)
    except Exception as error:  # noqa: BLE001
        return _refused("Keras cannot train this model on these data", error, policy)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether this machine's memory was too small, by Python's words or TensorFlow's."""
    return isinstance(error, MemoryError) or "OOM when allocating" in str(error)


def _refused(what: str, error: Exception, policy: str) -> ModelFacts:
    facts = ModelFacts(policy=policy, of_the_moment=is_out_of_memory(error) or is_out_of_memory(error.__cause__))
    if isinstance(error, TrainerError):
        details = error.trace if isinstance(error, UserCodeError) else ""
        return replace(facts, model_error=error.message, advice=error.suggestions, details=details)
    if facts.of_the_moment:
        advice = ("Choose a smaller model, or fewer units.", "Look who else uses the memory of this machine.")
        return replace(facts, model_error=explain(error).message, advice=advice)
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    advice = ("Hold the shape of the data against the model's input.", "Check the model's options.")
    details = "".join(traceback.format_exception(error))
    return replace(facts, model_error=f"{what}: {first}", advice=advice, details=details)
