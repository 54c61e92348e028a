"""The lines of a script that stop early, by the plan's rule and the metric that decides it."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import comment, fill, literal
from gpu_studio.plan import reference
from gpu_studio.plan.keras_objects import VALIDATION, more_is_better
from gpu_studio.plan.rules.training_rules import measured

_STOP = """\
# Stop once $monitor has not become better for $patience.
if $better:
    record, waited = $value, 0
    $keep
else:
    waited += 1
if waited >= $limit:
    break"""
_STOP_WHERE_VALIDATED = """\
# Stop once $monitor has not become better for $patience.
if $due:
    waited += 1
    if $better:
        record, waited = $value, 0
        $keep
if waited >= $limit:
    break"""

_RESTORE = """\
# Back to the weights of the best epoch.
if best_weights is not None:
    model.set_weights(best_weights)"""


_AVERAGES = """\
# Averages that the optimizer keeps become the weights, as at the end of fit.
optimizer.finalize_variable_values(model.trainable_variables)"""


def stopping_setup(facts: ScriptFacts) -> str:
    """Return the lines before the first epoch."""
    rule = facts.plan.training.early_stopping
    if rule is None:
        return ""
    return (
        "record, waited, best_weights = None, 0, None"
        if rule.restore_best
        else "record, waited = None, 0"
    )


def stopping_at_end_of_epoch(facts: ScriptFacts) -> str:
    """Return the lines after each epoch."""
    rule = facts.plan.training.early_stopping
    if rule is None:
        return ""
    monitor = monitored(facts, rule.monitor)
    value = f"results[{literal(monitor)}]"
    limit, due = max(rule.patience, 1), due_validation(facts, monitor)
    gain = f"{value} - record" if more_is_better(monitor) else f"record - {value}"
    better = f"record is None or {gain} > {literal(rule.min_delta)}"
    return fill(
        _STOP_WHERE_VALIDATED if due else _STOP,
        due=due,
        monitor=comment(monitor),
        patience="an epoch" if limit == 1 else f"{limit:,} epochs",
        better=better,
        value=value,
        keep="best_weights = model.get_weights()" if rule.restore_best else "",
        limit=str(limit),
    )


def after_stopping(facts: ScriptFacts) -> str:
    """Return the lines after the last epoch."""
    rule = facts.plan.training.early_stopping
    # A later start goes on from the weights before they become averages.
    kept = "keep(arguments.epochs)" if rule and facts.clusters else ""
    averages = may_average(facts)
    ended = _AVERAGES if averages else ""
    restored = _RESTORE if rule and rule.restore_best else ""
    lines = [kept, ended, restored] if averages else [restored, kept]
    return "\n".join(filter(None, lines))


def may_average(facts: ScriptFacts) -> bool:
    """Return whether the optimizer keeps averages of the weights, as far as the plan shows."""
    training = facts.plan.training
    return reference(training.optimizer) is not None or bool(training.options.get("use_ema"))


def due_validation(facts: ScriptFacts, monitor: str = VALIDATION) -> str:
    """Return the condition of an epoch that measures `monitor`; empty where each does."""
    often = facts.plan.training.validation_freq
    there = often > 1 and monitor.startswith(VALIDATION)
    return f"(epoch + 1) % {often} == 0" if there else ""


def monitored(facts: ScriptFacts, monitor: str) -> str:
    """Return the metric meant by `monitor`.

    It is that of the training split where nothing is validated.
    """
    if monitor in measured(facts.plan) or not monitor.startswith(VALIDATION):
        return monitor
    return monitor.removeprefix(VALIDATION)
