"""The lines of a script that save its model: at the end of epochs, and after so many steps."""

from __future__ import annotations

from gpu_studio.export import workers
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import comment, fill, literal
from gpu_studio.export.stopping import due_validation, may_average, monitored
from gpu_studio.plan import reference
from gpu_studio.plan.keras_objects import more_is_better

_SAVE = """\
$if_due    # The last $keep stay, and the best by $monitor.
    path = arguments.output / f"epoch-{epoch + 1:05}$suffix"
    $save(path)
    saved.append(path)
    if len(saved) > $keep:
        saved.pop(0).unlink($missing)
    value = $value
    if $measured:
        best = value
        $save(arguments.output / "best$suffix")"""

_EVERY_STEPS = """\
if step % $every == 0:
    $save(arguments.output / "last-step$suffix")"""


_AT_END = """\
# The weights that the end of training has left.
$save(arguments.output / "last$suffix")"""

_AVERAGES_AT_END = """\
if getattr(optimizer, "inner_optimizer", optimizer).use_ema:
    $save(arguments.output / "last$suffix")"""


def saves(facts: ScriptFacts) -> bool:
    """Return whether anything is saved."""
    settings = facts.plan.training.checkpoint
    return settings.every_epochs > 0 or settings.every_steps > 0 or facts.clusters


def saving_setup(facts: ScriptFacts) -> str:
    """Return the lines before the first epoch."""
    return "best, saved = None, []" if facts.plan.training.checkpoint.every_epochs else ""


def saving_in_epoch(facts: ScriptFacts) -> str:
    """Return the lines after each step."""
    every = facts.plan.training.checkpoint.every_steps
    if facts.clusters:
        return workers.in_epoch(facts)
    return fill(_EVERY_STEPS, every=str(every), **_saving_words(facts)) if every else ""


def _saving_words(facts: ScriptFacts) -> dict[str, str]:
    """Say what is saved.

    Of a model that a function makes, only the weights are saved: its classes need not be Keras'.
    """
    weights = facts.plan.model.python is not None
    save = "save" if facts.agrees else "model.save_weights" if weights else "model.save"
    missing = "missing_ok=True" if facts.clusters else ""
    return {"save": save, "suffix": ".weights.h5" if weights else ".keras", "missing": missing}


def saving_at_end(facts: ScriptFacts) -> str:
    """Return the lines after the last epoch, where the weights are then others than it saved."""
    training, settings = facts.plan.training, facts.plan.training.checkpoint
    rule, average = training.early_stopping, may_average(facts)
    restores = rule is not None and rule.restore_best
    if not (settings.every_epochs or settings.every_steps) or not (restores or average):
        return ""
    surely = restores or reference(training.optimizer) is None
    words = _saving_words(facts)
    return fill(_AT_END if surely else _AVERAGES_AT_END, save=words["save"], suffix=words["suffix"])


def saving_at_end_of_epoch(facts: ScriptFacts) -> str:
    """Return the lines after each epoch."""
    settings = facts.plan.training.checkpoint
    if not settings.every_epochs:
        return ""
    monitor = monitored(facts, settings.monitor)
    due = f"(epoch + 1) % {settings.every_epochs} == 0 or epoch + 1 == arguments.epochs"
    key, sometimes = literal(monitor), bool(due_validation(facts, monitor))
    better = f"best is None or value {'>' if more_is_better(monitor) else '<'} best"
    whole = fill(
        _SAVE,
        if_due="" if settings.every_epochs == 1 else f"if {due}:\n",
        keep=str(settings.keep),
        monitor=comment(monitor),
        value=f"results.get({key})" if sometimes else f"results[{key}]",
        measured=f"value is not None and ({better})" if sometimes else better,
        **_saving_words(facts),
    )
    return (
        whole
        if settings.every_epochs > 1
        else "\n".join(line.removeprefix("    ") for line in whole.split("\n"))
    )
