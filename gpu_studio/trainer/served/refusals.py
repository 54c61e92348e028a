"""What workers of parameter servers cannot do, found once model and optimizer are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import keras

from gpu_studio.trainer.errors import PlanRefused


def refuse_own_steps(source: str, own: str) -> NoReturn:
    """Raises PlanRefused: a `train_step` updates variables in ways that nobody here knows."""
    raise PlanRefused(
        f"{source} brings its own {own}, which knows nothing of servers: what it assigns would be "
        "lost where workers assign at the same time.",
        ["Train it with another strategy.", "Or leave its steps to GPU Studio."],
    )


def refuse_sequential(metrics: Iterable[Any]) -> None:
    """Raises PlanRefused for a metric of the user's own that must see one batch after another."""
    for each in metrics:
        if getattr(each, "sequential", False):
            raise PlanRefused(
                f"The metric {each.name} is no sum over the samples: it must see one batch after "
                "another, and here workers see some of them each, and add up what it counts.",
                ["Train it with another strategy.", f"Or leave {each.name} out."],
            )


# Scripts have the next functions as they stand, see `export.served_steps`: their lines have 88
# columns at most.


def updated_together() -> str:
    """What to do where workers on their own would undo each other's updates."""
    way = 'Set cluster.updates = "sync"'
    return f"{way}: then only the chief updates the weights."


def refuse_callbacks(names: str) -> None:
    """Raises PlanRefused for callbacks that are called at each step of one worker."""
    if names:
        raise PlanRefused(
            f"{names} is called at each step, and each worker makes steps of its own "
            "here: what it saw would be of none of them.",
            [updated_together(), "Or let it do its work at the end of an epoch."],
        )


def refuse_alone(model: Any, optimizer: Any) -> None:
    """Raises PlanRefused for what is unsound where each worker updates by itself."""
    bound = [v.path for v in model.trainable_variables if v.constraint is not None]
    if bound:
        raise PlanRefused(
            f"{', '.join(bound[:3])} has a constraint, which writes the whole weight: "
            "where each worker updates on its own, what others add meanwhile would be "
            "lost.",
            [updated_together(), "Or leave the constraint out."],
        )
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise PlanRefused(
            "Gradients in 16 bits are scaled by a number, which all workers change.",
            [updated_together(), "Or train in float32 or bfloat16, unscaled."],
        )
    refuse_overwriting(optimizer)


def refuse_overwriting(optimizer: Any) -> None:
    """Raises PlanRefused for an optimizer that writes weights anew in each step."""
    kinds = [each.__name__ for each in type(optimizer).__mro__]
    found = [each for each in kinds if each in ("Ftrl", "ScheduleFreeAdamW")]
    if found:
        raise PlanRefused(
            f"The optimizer {found[0]} writes weights anew in each step: where each "
            "worker updates on its own, what others add meanwhile would be lost.",
            [updated_together(), "Or choose one that adds to them, such as Adam."],
        )
    options = ("use_ema", "gradient_accumulation_steps")
    if kept := [each for each in options if getattr(optimizer, each, None)]:
        raise PlanRefused(
            f"The optimizer has {kept[0]}: where each worker updates on its own, it "
            "writes what it keeps from step to step over what others have kept.",
            [updated_together(), f"Or leave {kept[0]} out."],
        )


def refuse_written(names: Iterable[str]) -> None:
    """Raises PlanRefused for weights that layers write while they are trained."""
    written = ", ".join(list(names)[:3])
    if written:
        raise PlanRefused(
            f"A layer writes the weight {written} in each step, and workers would "
            "overwrite each other's.",
            [updated_together()],
        )


def refuse_python(graph: Any) -> None:
    """Raises PlanRefused if a step calls Python, which lives in the chief alone."""
    for operation in operations_in(graph):
        if operation in ("PyFunc", "PyFuncStateless", "EagerPyFunc"):
            raise PlanRefused(
                "A step calls a function of Python (tf.numpy_function or "
                "tf.py_function), and workers have none: it lives in the chief's "
                "process.",
                [
                    "Write it in TensorFlow's or Keras' operations.",
                    "Or choose another strategy.",
                ],
            )


def operations_in(graph: Any) -> Iterator[str]:
    """Return the names of all operations of a graph and its functions."""
    definition = graph.as_graph_def()
    yield from (node.op for node in definition.node)
    for function in definition.library.function:
        yield from (node.op for node in function.node_def)
