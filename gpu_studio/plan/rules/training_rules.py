"""Rules for `[training]`: numbers in range, names that Keras knows, monitors that are measured."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.plan.catalogue import OPTIMIZERS, SCHEDULES, data_entry
from gpu_studio.plan.data import may_validate
from gpu_studio.plan.keras_objects import (
    AUTO_CANDIDATES,
    AUTO_METRICS,
    LOSSES,
    LOSSES_OF,
    METRICS,
    METRICS_OF,
    keras_name,
    result_name,
)
from gpu_studio.plan.options import (
    CHECKPOINT_LIMITS,
    EARLY_STOPPING_LIMITS,
    TRAINING_LIMITS,
    Option,
    bounded,
)
from gpu_studio.plan.values import (
    CheckpointSettings,
    Named,
    Plan,
    Problem,
    choose_one,
    listed,
    shown,
)

CLIPPING = ("clipnorm", "clipvalue", "global_clipnorm")
MOST_LETTERS = 200


def name(plan: Plan) -> Iterator[Problem]:
    """The plan has a name that fits a line."""
    if not plan.name.strip() or not plan.name.isprintable() or len(plan.name) > MOST_LETTERS:
        yield Problem(
            "name",
            shown(plan.name),
            f"give the plan a name of 1 to {MOST_LETTERS} letters on one line",
        )


def numbers(plan: Plan) -> Iterator[Problem]:
    """Epochs, batch size, learning rate and the others are in range."""
    training = plan.training
    yield from bounded("training", training, TRAINING_LIMITS)
    yield from bounded("training.checkpoint", training.checkpoint, CHECKPOINT_LIMITS)
    if training.early_stopping:
        yield from bounded(
            "training.early_stopping", training.early_stopping, EARLY_STOPPING_LIMITS
        )


def optimizer(plan: Plan) -> Iterator[Problem]:
    """The optimizer is one of Keras', and its clipping positive and of one kind.

    Keras checks its other options.
    """
    training = plan.training
    if not keras_name(training.optimizer, OPTIMIZERS):
        yield Problem(
            "training.optimizer",
            shown(training.optimizer),
            choose_one(training.optimizer, OPTIMIZERS),
        )
    if "learning_rate" in training.options:
        yield Problem(
            "training.options.learning_rate",
            "in the wrong place",
            "write it as training.learning_rate",
        )
    clipping = [key for key in CLIPPING if key in training.options]
    if len(clipping) > 1:
        yield Problem(
            "training.options",
            f"given {listed(clipping)}",
            "keep one of them: gradients are clipped in one way",
        )
    for key in clipping:
        problem = Option(key, "float", 1.0, "", above=0).problem(
            f"training.options.{key}", training.options[key]
        )
        yield from [problem] if problem else []


def schedule(plan: Plan) -> Iterator[Problem]:
    """The schedule is known, and counts in either epochs or steps."""
    chosen = plan.training.schedule
    if chosen is None:
        return
    field = "training.schedule"
    if chosen.name not in SCHEDULES:
        yield Problem(f"{field}.name", shown(chosen.name), choose_one(chosen.name, SCHEDULES))
        return
    yield from SCHEDULES[chosen.name].problems(field, chosen.options)
    for epochs, steps in (("every_epochs", "every_steps"), ("warmup_epochs", "warmup_steps")):
        if chosen.options.get(epochs) and chosen.options.get(steps):
            yield Problem(field, f"given {epochs} and {steps}", "keep one of them")


def loss_and_metrics(plan: Plan) -> Iterator[Problem]:
    """The loss and the metrics are Keras'."""
    yield from _known("training.loss", plan.training.loss, LOSSES)
    for index, metric in enumerate(plan.training.metrics):
        yield from _known(f"training.metrics[{index}]", metric, METRICS)


def fit_the_data(plan: Plan) -> Iterator[Problem]:
    """The loss and the metrics suit the known targets of the data: classes, or numbers.

    What a model of one's own gives is known once it is built: with it, other losses may fit.
    """
    data = data_entry(plan.data)
    if data is None or plan.model.file is not None or plan.model.python is not None:
        return
    training = plan.training
    yield from _fits("training.loss", training.loss, LOSSES, LOSSES_OF[data.task], data.name)
    for index, metric in enumerate(training.metrics):
        yield from _fits(
            f"training.metrics[{index}]", metric, METRICS, METRICS_OF[data.task], data.name
        )


def metrics_once(plan: Plan) -> Iterator[Problem]:
    """Each metric appears once, counting the one that `auto` stands for."""
    seen: set[str] = set()
    for index, metric in enumerate(plan.training.metrics):
        names = _results(metric, plan)
        if not seen.isdisjoint(names):
            yield Problem(
                f"training.metrics[{index}]",
                f"{shown(metric.name)} a second time",
                "name each metric once",
            )
        seen.update(names if len(names) == 1 else ())


def monitors(plan: Plan) -> Iterator[Problem]:
    """Early stopping and the best checkpoint monitor values that are measured.

    The checkpoint's default is accepted without a validation split: the training loss replaces it.
    """
    training = plan.training
    if training.early_stopping:
        yield from _monitor(
            "training.early_stopping.monitor", training.early_stopping.monitor, plan
        )
    if training.checkpoint.monitor != CheckpointSettings().monitor:
        yield from _monitor("training.checkpoint.monitor", training.checkpoint.monitor, plan)


def measured(plan: Plan) -> tuple[str, ...]:
    """The names that each epoch of this plan measures and a plan can monitor."""
    names = ["loss"]
    for metric in plan.training.metrics:
        names += _results(metric, plan)
    validated = [f"val_{each}" for each in names] if may_validate(plan) else []
    return tuple(dict.fromkeys([*validated, *names]))


def _results(metric: Named, plan: Plan) -> list[str]:
    """A metric's names in the results; `auto` has several candidates with the user's own data."""
    if metric.name != "auto":
        return [result_name(metric.name)]
    data = data_entry(plan.data)
    return [AUTO_METRICS[data.task]] if data else list(AUTO_CANDIDATES)


def _monitor(field: str, monitor: str, plan: Plan) -> Iterator[Problem]:
    names = measured(plan)
    if monitor in names:
        return
    advice = choose_one(monitor, names)
    if monitor.startswith("val_") and not may_validate(plan):
        advice = (
            "nothing is validated while data.validation_fraction is 0: raise it, or choose "
            f"{listed(names, 'or')}"
        )
    yield Problem(field, shown(monitor), advice)


def _known(field: str, chosen: Named, known: tuple[str, ...]) -> Iterator[Problem]:
    if not keras_name(chosen.name, known):
        yield Problem(field, shown(chosen.name), choose_one(chosen.name, known))
    if chosen.name == "auto" and chosen.options:
        yield Problem(field, "auto with options", "give options only to what is named")
    elif "name" in chosen.options:
        yield Problem(
            f"{field}.name",
            "an option too",
            "a metric or loss goes by Keras' name: leave the option out",
        )


def _fits(
    field: str, chosen: Named, known: tuple[str, ...], fitting: tuple[str, ...], data: str
) -> Iterator[Problem]:
    name = keras_name(chosen.name, known)
    if name and name != "auto" and name not in fitting:
        advice = (
            f'it does not fit the targets of {data}: write "auto", or choose '
            f"{listed(fitting, 'or')}"
        )
        yield Problem(field, shown(chosen.name), advice)
