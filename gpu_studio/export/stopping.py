"""The parts of a script that stop it early."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.literals import literal
from gpu_studio.export.monitors import monitored
from gpu_studio.plan.monitors import more_is_better

_STOP = """\
# Stop once $monitor has not become better for $patience.
if record is None or $gain > $delta:
    record, waited = $value, 0
    $keep
else:
    waited += 1
if waited >= $limit:
    break"""

_RESTORE = """\
# Back to the weights of the best epoch.
if best_weights is not None:
    model.set_weights(best_weights)"""


def before(facts: Facts) -> str:
    """What stands before the first epoch."""
    rule = facts.plan.training.early_stopping
    if rule is None:
        return ""
    return "record, waited, best_weights = None, 0, None" if rule.restore_best else "record, waited = None, 0"


def at_end_of_epoch(facts: Facts) -> str:
    """What stands after each epoch."""
    rule = facts.plan.training.early_stopping
    if rule is None:
        return ""
    monitor = monitored(facts, rule.monitor)
    value = f"results[{literal(monitor)}]"
    limit = max(rule.patience, 1)
    return fill(
        _STOP,
        monitor=monitor,
        patience="an epoch" if limit == 1 else f"{limit:,} epochs",
        gain=f"{value} - record" if more_is_better(monitor) else f"record - {value}",
        delta=literal(rule.min_delta),
        value=value,
        keep="best_weights = model.get_weights()" if rule.restore_best else "",
        limit=str(limit),
    )


def after(facts: Facts) -> str:
    """What stands after the last epoch."""
    rule = facts.plan.training.early_stopping
    return _RESTORE if rule and rule.restore_best else ""
