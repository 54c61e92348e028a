"""The parts of a script that save the model."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.literals import literal
from gpu_studio.export.monitors import monitored
from gpu_studio.plan.monitors import more_is_better

_SAVE = """\
$if_due    # The last $keep stay, and the best by $monitor.
    path = arguments.output / f"epoch-{epoch + 1:05}$suffix"
    model.$save(path)
    saved.append(path)
    if len(saved) > $keep:
        saved.pop(0).unlink()
    value = results[$key]
    if best is None or value $sign best:
        best = value
        model.$save(arguments.output / "best$suffix")"""

_EVERY_STEPS = """\
if step % $every == 0:
    model.$save(arguments.output / "last-step$suffix")"""


def saves(facts: ScriptFacts) -> bool:
    """Return whether anything is saved."""
    settings = facts.plan.training.checkpoint
    return settings.every_epochs > 0 or settings.every_steps > 0


def before(facts: ScriptFacts) -> str:
    """Return the lines before the first epoch."""
    return "best, saved = None, []" if facts.plan.training.checkpoint.every_epochs else ""


def in_epoch(facts: ScriptFacts) -> str:
    """Return the lines after each step."""
    every = facts.plan.training.checkpoint.every_steps
    return fill(_EVERY_STEPS, every=str(every), **_saving(facts)) if every else ""


def _saving(facts: ScriptFacts) -> dict[str, str]:
    """Return what is saved.

    Of a model that a function makes only the weights are saved, as its classes need not be Keras'.
    """
    if facts.plan.model.python is not None:
        return {"save": "save_weights", "suffix": ".weights.h5"}
    return {"save": "save", "suffix": ".keras"}


def at_end_of_epoch(facts: ScriptFacts) -> str:
    """Return the lines after each epoch."""
    settings = facts.plan.training.checkpoint
    if not settings.every_epochs:
        return ""
    monitor = monitored(facts, settings.monitor)
    due = f"(epoch + 1) % {settings.every_epochs} == 0 or epoch + 1 == arguments.epochs"
    whole = fill(
        _SAVE,
        if_due="" if settings.every_epochs == 1 else f"if {due}:\n",
        keep=str(settings.keep),
        monitor=monitor,
        key=literal(monitor),
        sign=">" if more_is_better(monitor) else "<",
        **_saving(facts),
    )
    return (
        whole
        if settings.every_epochs > 1
        else "\n".join(line.removeprefix("    ") for line in whole.split("\n"))
    )
