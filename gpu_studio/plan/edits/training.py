"""Edits of how a plan trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_studio.plan import EarlyStopping, Named, Plan, Training
from gpu_studio.plan.callbacks import CALLBACKS, entry_of, free_options
from gpu_studio.plan.catalogue import data_entry
from gpu_studio.plan.edits.change import keyed, value_at, with_value
from gpu_studio.plan.keras_objects import METRICS, METRICS_OF, keras_name
from gpu_studio.plan.scripts import OF_PLANS
from gpu_studio.plan.values import Callback, OutputTraining, Phase


def set_training(plan: Plan, **values: object) -> Plan:
    """`plan` with these fields of its training part."""
    return replace(plan, training=replace(plan.training, **values))  # type: ignore[arg-type]


def leave_to_script(plan: Plan, names: Sequence[str]) -> Plan:
    """`plan` in which these fields, and no others, are as its script gives them to `fit`."""
    usual = Training()
    defaults = {name: getattr(usual, name) for name in names if name in OF_PLANS}
    return set_training(plan, **defaults, as_in_script=tuple(names))


def set_optimizer(plan: Plan, name: str) -> Plan:
    """`plan` with another optimizer, without the options of the previous one."""
    same = name == plan.training.optimizer
    return plan if same else set_training(plan, optimizer=name, options={})


def set_schedule(plan: Plan, name: str | None) -> Plan:
    """`plan` with another schedule and its default options, or with none."""
    now = plan.training.schedule
    if (now.name if now else None) == name:
        return plan
    return set_training(plan, schedule=None if name is None else Named(name))


def set_loss(plan: Plan, name: str) -> Plan:
    """`plan` with another loss and its default options."""
    return plan if name == plan.training.loss.name else set_training(plan, loss=Named(name))


def set_output(plan: Plan, name: str, **values: object) -> Plan:
    """`plan` in which the output `name` learns by these fields of its own.

    An output that has nothing of its own any more is left out of the plan.
    """
    outputs = plan.training.outputs
    changed = replace(outputs.get(name, OutputTraining()), **values)  # type: ignore[arg-type]
    if changed == OutputTraining():
        return remove_output(plan, name)
    return set_training(plan, outputs={**outputs, name: changed})


def remove_output(plan: Plan, name: str) -> Plan:
    """`plan` without anything of its own for the output `name`."""
    outputs = plan.training.outputs
    return set_training(plan, outputs={key: outputs[key] for key in outputs if key != name})


def output_at(name: str) -> str:
    """The path of what the output `name` learns by, for edits."""
    return keyed("training.outputs", name)


def set_output_loss(plan: Plan, output: str, name: str | None) -> Plan:
    """`plan` with another loss of this output and its default options; None is that of all."""
    own = plan.training.outputs.get(output, OutputTraining()).loss
    same = (own.name if own else None) == name
    return plan if same else set_output(plan, output, loss=None if name is None else Named(name))


def measure_apart(plan: Plan, output: str, apart: bool) -> Plan:
    """`plan` in which this output has metrics of its own, at first those of all, or no longer."""
    own = plan.training.outputs.get(output, OutputTraining()).metrics
    if apart == (own is not None):
        return plan
    return set_output(plan, output, metrics=plan.training.metrics if apart else None)


def add_metric(plan: Plan, at: str = "training") -> Plan:
    """`plan` with one more metric: the first that suits the data and is not there yet.

    `at` is the path of what has the metrics: the training, or one of the outputs.
    """
    metrics = _metrics(plan, at)
    return with_value(plan, f"{at}.metrics", (*metrics, Named(_next_metric(plan, metrics))))


def set_metric(plan: Plan, index: int, name: str, at: str = "training") -> Plan:
    """`plan` with another metric at this index, with its default options."""
    metrics = _metrics(plan, at)
    if index >= len(metrics) or metrics[index].name == name:
        return plan
    return with_value(plan, f"{at}.metrics[{index}]", Named(name))


def remove_metric(plan: Plan, index: int, at: str = "training") -> Plan:
    """`plan` without the metric at this index."""
    metrics = _metrics(plan, at)
    return with_value(plan, f"{at}.metrics", (*metrics[:index], *metrics[index + 1 :]))


def add_callback(plan: Plan, name: str = "") -> Plan:
    """`plan` with one more callback: `name`, or the first built-in one that is not there yet."""
    callbacks = plan.training.callbacks
    taken = {each.name for each in callbacks}
    name = name or next((each for each in CALLBACKS if each not in taken), CALLBACKS[0])
    return set_training(plan, callbacks=(*callbacks, Callback(name)))


def set_callback(plan: Plan, index: int, name: str) -> Plan:
    """`plan` with another callback at this index.

    It keeps the options that may be those of the new one: letter by letter, a name is typed.
    """
    callbacks = plan.training.callbacks
    if index >= len(callbacks) or callbacks[index].name == name:
        return plan
    options, entry = callbacks[index].options, entry_of(name, ())
    if entry is not None:
        known = {*(each.name for each in entry.options), *free_options(name)}
        options = {key: value for key, value in options.items() if key in known}
    changed = Callback(name, options)
    return set_training(plan, callbacks=(*callbacks[:index], changed, *callbacks[index + 1 :]))


def remove_callback(plan: Plan, index: int) -> Plan:
    """`plan` without the callback at this index."""
    callbacks = plan.training.callbacks
    return set_training(plan, callbacks=(*callbacks[:index], *callbacks[index + 1 :]))


def move_callback(plan: Plan, index: int, by: int) -> Plan:
    """`plan` with the callback at this index called `by` places later, or earlier."""
    callbacks = list(plan.training.callbacks)
    if not (0 <= index < len(callbacks) and 0 <= index + by < len(callbacks)):
        return plan
    callbacks.insert(index + by, callbacks.pop(index))
    return set_training(plan, callbacks=tuple(callbacks))


def add_phase(plan: Plan) -> Plan:
    """`plan` with one more phase, which begins half way through the epochs that are left.

    It trains all layers, as the model was made, at a tenth of the learning rate before.
    """
    training = plan.training
    phases = training.phases
    begun = phases[-1].after if phases else training.initial_epoch
    rate = phases[-1].learning_rate if phases else training.learning_rate
    after = begun + max(1, (training.epochs - begun) // 2)
    return set_training(plan, phases=(*phases, Phase(after, rate / 10)))


def remove_phase(plan: Plan, index: int) -> Plan:
    """`plan` without the phase at this index."""
    phases = plan.training.phases
    return set_training(plan, phases=(*phases[:index], *phases[index + 1 :]))


def move_phase(plan: Plan, index: int, by: int) -> Plan:
    """`plan` with what the phase at this index trains `by` places later, or earlier.

    The epochs at which phases begin stay as they are, for they follow one another.
    """
    phases = list(plan.training.phases)
    if not (0 <= index < len(phases) and 0 <= index + by < len(phases)):
        return plan
    begins = [each.after for each in phases]
    phases.insert(index + by, phases.pop(index))
    moved = (replace(each, after=after) for each, after in zip(phases, begins, strict=True))
    return set_training(plan, phases=tuple(moved))


def stop_early(plan: Plan, on: bool) -> Plan:
    """`plan` with or without early stopping."""
    if on == (plan.training.early_stopping is not None):
        return plan
    return set_training(plan, early_stopping=EarlyStopping() if on else None)


def _metrics(plan: Plan, at: str) -> tuple[Named, ...]:
    return value_at(plan, f"{at}.metrics") or ()


def _next_metric(plan: Plan, metrics: tuple[Named, ...]) -> str:
    if not metrics:
        return "auto"
    data = data_entry(plan.data)
    fitting = METRICS_OF[data.task] if data else METRICS[2:]
    # `auto` stands for the first one that fits.
    taken = {
        fitting[0] if each.name == "auto" else keras_name(each.name, fitting) for each in metrics
    }
    return next((name for name in fitting if name not in taken), fitting[0])
