"""Rules for `[training]`: numbers in range, names that Keras knows, monitors that are measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpu_studio.common.figures import plural
from gpu_studio.plan.callbacks import problems_of_callbacks
from gpu_studio.plan.catalogue import SCHEDULES, data_entry
from gpu_studio.plan.data import may_validate
from gpu_studio.plan.keras_objects import (
    AUTO_CANDIDATES,
    AUTO_METRICS,
    COMPILED,
    LOSSES,
    LOSSES_OF,
    METRICS,
    METRICS_OF,
    OPTIMIZER_CHOICES,
    keras_name,
    result_name,
)
from gpu_studio.plan.options import (
    CHECKPOINT_LIMITS,
    EARLY_STOPPING_LIMITS,
    TRAINING_LIMITS,
    Option,
    bounded,
    choose_one,
    with_kind,
)
from gpu_studio.plan.references import reference
from gpu_studio.plan.script_calls import number_of
from gpu_studio.plan.scripts import OF_PLANS
from gpu_studio.plan.strategies import strategy_of
from gpu_studio.plan.values import (
    CheckpointSettings,
    Named,
    Plan,
    Problem,
    listed,
    path_to,
    shown,
)

CLIPPING = ("clipnorm", "clipvalue", "global_clipnorm")
CONDITIONAL = ("gradient_accumulation_steps", "ema_overwrite_frequency")
"""Options of optimizers for which Keras changes variables in a condition, and so on one replica."""
MOST_LETTERS = 200
_UNTRAINED = "or nothing is trained"


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
    for problem in bounded("training", training, TRAINING_LIMITS):
        untrained = problem.field == "training.epochs" and training.epochs == 0
        yield replace(problem, advice=f"{problem.advice}, {_UNTRAINED}") if untrained else problem
    known = {"epochs", "initial_epoch"}.isdisjoint(training.as_in_script)
    if known and 0 < training.epochs <= training.initial_epoch:
        least = f"give less than training.epochs, which is {training.epochs}"
        yield Problem(
            "training.initial_epoch", str(training.initial_epoch), f"{least}, {_UNTRAINED}"
        )
    yield from bounded("training.checkpoint", training.checkpoint, CHECKPOINT_LIMITS)
    if training.early_stopping:
        yield from bounded(
            "training.early_stopping", training.early_stopping, EARLY_STOPPING_LIMITS
        )


def optimizer(plan: Plan) -> Iterator[Problem]:
    """The optimizer is known, and its clipping positive and of one kind.

    Keras checks its other options, and a function of the user's own its arguments.
    """
    training = plan.training
    yield from _nameable(
        "training.optimizer", training.optimizer, OPTIMIZER_CHOICES, "optimizers.py:make", plan
    )
    if training.optimizer == COMPILED and training.options:
        yield Problem(
            "training.options",
            "given to the compiled optimizer",
            "it has its own: leave them out, or name the optimizer",
        )
    if "learning_rate" in training.options and not reference(training.optimizer):
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
    """The schedule is known, counts in either epochs or steps, and has ended its warm-up in time.

    How many steps an epoch has is known once the data are read: then the trainer counts those.
    """
    chosen = plan.training.schedule
    if chosen is None:
        return
    field = "training.schedule"
    if chosen.name not in SCHEDULES:
        yield from _nameable(f"{field}.name", chosen.name, SCHEDULES, "schedules.py:make", plan)
        return
    yield from SCHEDULES[chosen.name].problems(field, chosen.options)
    for epochs, steps in (("every_epochs", "every_steps"), ("warmup_epochs", "warmup_steps")):
        if chosen.options.get(epochs) and chosen.options.get(steps):
            yield Problem(field, f"given {epochs} and {steps}", "keep one of them")
    warmup, whole = chosen.options.get("warmup_epochs"), plan.training.trained_epochs
    known = "epochs" not in plan.training.as_in_script
    if known and isinstance(warmup, int) and 0 < whole <= warmup:
        yield Problem(
            f"{field}.options.warmup_epochs",
            f"{warmup}, and the whole run has {plural(whole, 'epoch')}",
            "warm up for fewer epochs, or train for more",
        )


def loss_and_metrics(plan: Plan) -> Iterator[Problem]:
    """The loss and the metrics are known."""
    yield from _known("training.loss", plan.training.loss, LOSSES, "losses.py:focal", plan)
    for index, metric in enumerate(plan.training.metrics):
        yield from _known(f"training.metrics[{index}]", metric, METRICS, "metrics.py:iou", plan)
    for name, output in plan.training.outputs.items():
        field = path_to("training.outputs", name)
        if output.loss is not None and output.loss.name != "none":
            yield from _known(f"{field}.loss", output.loss, LOSSES, "losses.py:focal", plan)
        for index, metric in enumerate(output.metrics or ()):
            yield from _known(f"{field}.metrics[{index}]", metric, METRICS, "metrics.py:iou", plan)


def class_weight(plan: Plan) -> Iterator[Problem]:
    """Each class is a whole number, and its weight a number of 0 or more."""
    for key, weight in plan.training.class_weight.items():
        field = path_to("training.class_weight", key)
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not (key.isascii() and key.isdecimal()):
            yield Problem(field, "no number of a class", "write { 0 = 1.0, 1 = 2.5 }")
        elif not number or not 0 <= weight < math.inf:
            yield Problem(field, with_kind(weight), "give a number of 0 or more")


def as_in_script(plan: Plan) -> Iterator[Problem]:
    """What is left to a script is an argument of `fit`, and the data are that script's."""
    field, left = "training.as_in_script", plan.training.as_in_script
    named = reference(plan.data.python or "")
    for name in left:
        if name not in OF_PLANS:
            yield Problem(field, shown(name), choose_one(name, OF_PLANS))
    if left and (named is None or not number_of(named.function)):
        advice = 'only a script says them: write data.python = "train.py:fit", or leave it out'
        yield Problem(field, shown(left), advice)


def later_fits(plan: Plan) -> Iterator[Problem]:
    """A later call of `fit` is that of model and data alike, and what comes before is on a device.

    That is trained by Keras, and so is the model that the run goes on with.
    """
    named = {"model.python": plan.model.python, "data.python": plan.data.python}
    found = {field: reference(text or "") for field, text in named.items()}
    calls = {field: each for field, each in found.items() if each and number_of(each.function)}
    later = [field for field, each in calls.items() if number_of(each.function) > 1]
    if not later:
        return
    model, data = calls.get("model.python"), calls.get("data.python")
    if model and data and model.file == data.file and model != data:
        advice = f"the data are those of {data.function}: name the same call for both"
        yield Problem("model.python", shown(plan.model.python), advice)
    if strategy_of(plan).pace != "one replica":
        advice = (
            f"{later[0]} is {calls[later[0]]}, and Keras trains by the calls of fit before it on "
            'one device: choose "none" or "one_device"'
        )
        yield Problem("distribution.strategy", shown(plan.distribution.strategy), advice)


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


def callbacks(plan: Plan) -> Iterator[Problem]:
    """The callbacks are known, and their options of the right kind."""
    yield from problems_of_callbacks(plan, measured(plan))


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
        own = metric.name == COMPILED or reference(metric.name)
        return [] if own else [result_name(metric.name)]
    data = data_entry(plan.data)
    return [AUTO_METRICS[data.task]] if data else list(AUTO_CANDIDATES)


def _monitor(field: str, monitor: str, plan: Plan) -> Iterator[Problem]:
    names = measured(plan)
    may_be = _is_of_an_output(monitor, plan) or _may_measure_others(plan)
    if monitor in names or (may_be and monitor.isprintable()):
        return
    advice = choose_one(monitor, names)
    if monitor.startswith("val_") and not may_validate(plan):
        advice = (
            "nothing is validated while data.validation_fraction is 0: raise it, or choose "
            f"{listed(names, 'or')}"
        )
    yield Problem(field, shown(monitor), advice)


def _is_of_an_output(monitor: str, plan: Plan) -> bool:
    """Whether the name may be that of one of several outputs: only the built model tells."""
    own = plan.model.file is not None or plan.model.python is not None
    validated = monitor.startswith("val_")
    of_outputs = [name for each in plan.training.outputs.values() for name in each.metrics or ()]
    named = [_results(metric, plan) for metric in (*plan.training.metrics, *of_outputs)]
    names = ["loss", *(name for each in named for name in each)]
    return (
        own
        and (may_validate(plan) or not validated)
        and monitor.removeprefix("val_").endswith(tuple(f"_{name}" for name in names))
    )


def _may_measure_others(plan: Plan) -> bool:
    """Whether metrics have names that only the trainer learns, which then checks the monitors."""
    own = plan.model.python is not None
    return any(
        reference(each.name) or (own and each.name in ("auto", COMPILED))
        for each in plan.training.metrics
    )


def _known(
    field: str, chosen: Named, known: tuple[str, ...], example: str, plan: Plan
) -> Iterator[Problem]:
    yield from _nameable(field, chosen.name, known, example, plan)
    if chosen.name in ("auto", COMPILED) and chosen.options:
        said = f"{chosen.name} with options"
        yield Problem(field, said, "give options only to what is named")
    elif "name" in chosen.options and not reference(chosen.name):
        yield Problem(
            f"{field}.name",
            "an option too",
            "a metric or loss goes by Keras' name: leave the option out",
        )


def _nameable(
    field: str, chosen: str, known: Iterable[str], example: str, plan: Plan
) -> Iterator[Problem]:
    """The name is known, a function of the user's own, or what the user's own model brings."""
    if chosen == COMPILED and COMPILED in known and plan.model.python is None:
        advice = (
            "only a model from a Python function of your own brings what it was compiled with: "
            'write "auto"'
        )
        yield Problem(field, shown(chosen), advice)
    elif not (keras_name(chosen, known) or reference(chosen)):
        names_file = ".py" in chosen.lower() or ":" in chosen
        advice = f'write the file and the name of a function in it, as "{example}"'
        yield Problem(field, shown(chosen), advice if names_file else choose_one(chosen, known))


def _fits(
    field: str, chosen: Named, known: tuple[str, ...], fitting: tuple[str, ...], data: str
) -> Iterator[Problem]:
    name = keras_name(chosen.name, known)
    if name and name not in ("auto", COMPILED, *fitting):
        advice = (
            f'it does not fit the targets of {data}: write "auto", or choose '
            f"{listed(fitting, 'or')}"
        )
        yield Problem(field, shown(chosen.name), advice)
