"""Keras' callbacks that a plan can name, with their options, and what it names in another way.

`file.py:function` gives callbacks of the user's own; those are checked when they are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_studio.plan.options import BuiltIn, Option, choose_one, with_kind
from gpu_studio.plan.references import SCHEDULE, reference
from gpu_studio.plan.values import Callback, Plan, Problem, shown

PLATEAU, SCHEDULER = "reduce_lr_on_plateau", "learning_rate_scheduler"
TERMINATE, TABLE = "terminate_on_nan", "csv_logger"
RATES, FILE = "rates", "filename"

_HELP = {
    PLATEAU: "lowers the learning rate when a metric stops improving",
    SCHEDULER: "sets each epoch's learning rate by a function or a table",
    TERMINATE: "a loss that is not finite ends the run instead of failing it",
    TABLE: "writes each epoch's metrics to a CSV file of the run",
}
CALLBACKS = tuple(_HELP)
"""The callbacks that a plan can name without a file."""

_CHECKPOINTS = "the run keeps checkpoints itself, as [training.checkpoint] says: leave it out"
_INSTEAD = {
    "early_stopping": "a plan has it as [training.early_stopping]: leave it out here",
    "model_checkpoint": _CHECKPOINTS,
    "backup_and_restore": _CHECKPOINTS,
    "tensor_board": "the run writes TensorBoard's files itself: leave it out",
    "history": "the run records every epoch itself: leave it out",
    "progbar_logger": "the run tells of its steps itself: leave it out",
}
_LEARNS_RATE = (PLATEAU, SCHEDULER)
"""Those that set the learning rate, which a schedule would set too."""


def callback_help(name: str) -> str:
    """What the built-in callback `name` does; empty for any other."""
    return _HELP.get(name, "")


def entry_of(name: str, monitors: Sequence[str]) -> BuiltIn | None:
    """The built-in callback `name`; None for any other.

    `monitors` are the metrics that the plan measures. Options that are text of a free form are
    not among its options: those of `free_options`.
    """
    if name not in CALLBACKS:
        return None
    options: dict[str, tuple[Option, ...]] = {
        PLATEAU: _plateau(tuple(monitors)),
        TABLE: (Option("separator", "choice", ",", "between two values", choices=_SEPARATORS),),
    }
    return BuiltIn(name, callback_help(name), options.get(name, ()))


def free_options(name: str) -> tuple[str, ...]:
    """The options of a built-in callback that hold text or a table."""
    return {SCHEDULER: (SCHEDULE, RATES), TABLE: (FILE,)}.get(name, ())


_SEPARATORS = (",", ";", "\t")


def _plateau(monitors: tuple[str, ...]) -> tuple[Option, ...]:
    watched = monitors[0] if monitors else "val_loss"
    return (
        Option("monitor", "choice", watched, "what has to improve", choices=monitors),
        Option("factor", "float", 0.1, "what the rate is multiplied by", above=0, below=1),
        Option("patience", "int", 10, "epochs without improvement to wait", least=0),
        Option("mode", "choice", "auto", "which way is better", choices=("auto", "min", "max")),
        Option("min_delta", "float", 1e-4, "what counts as an improvement", least=0),
        Option("cooldown", "int", 0, "epochs to wait after each reduction", least=0),
        Option("min_lr", "float", 0.0, "the rate is never made smaller than this", least=0),
        Option("verbose", "int", 0, "1: says so in trainer.log", least=0, most=1),
    )


def problems_of_callbacks(plan: Plan, monitors: Sequence[str]) -> Iterator[Problem]:
    """What is wrong with the plan's callbacks, as far as it is known without running them."""
    for place, callback in enumerate(plan.training.callbacks):
        field = f"training.callbacks[{place}]"
        if reference(callback.name):
            continue
        entry = entry_of(callback.name, monitors)
        if entry is None:
            yield _unknown(f"{field}.name", callback.name)
            continue
        yield from _problems(f"{field}.options", callback, entry)
        if callback.name in _LEARNS_RATE and plan.training.schedule is not None:
            yield Problem(
                f"{field}.name",
                shown(callback.name),
                "training.schedule sets the learning rate at each step: keep one of the two",
            )


def _unknown(field: str, name: str) -> Problem:
    squeezed = name.replace("_", "").lower()
    for known, advice in _INSTEAD.items():
        if squeezed == known.replace("_", ""):
            return Problem(field, shown(name), advice)
    own = 'or name a function of your own, "callbacks.py:make"'
    return Problem(field, shown(name), f"{choose_one(name, CALLBACKS).rstrip('.')}, {own}")


def _problems(field: str, callback: Callback, entry: BuiltIn) -> Iterator[Problem]:
    free = free_options(callback.name)
    known = {key: each for key, each in callback.options.items() if key not in free}
    yield from entry.problems(field, known)
    if callback.name == SCHEDULER:
        yield from _scheduler(field, callback.options)
    if callback.name == TABLE and FILE in callback.options:
        yield from _file_name(f"{field}.{FILE}", callback.options[FILE])


def _scheduler(field: str, options: Mapping[str, Any]) -> Iterator[Problem]:
    given = [key for key in (SCHEDULE, RATES) if key in options]
    if len(given) != 1:
        received = f"given {SCHEDULE} and {RATES}" if given else "missing"
        yield Problem(
            field,
            received,
            f'give one: {SCHEDULE} = "callbacks.py:rate", a function of the epoch and the rate, or '
            f"{RATES} = {{ 0 = 0.1, 5 = 0.01 }}, the rate from each epoch on",
        )
    elif SCHEDULE in options and not (
        isinstance(options[SCHEDULE], str) and reference(options[SCHEDULE])
    ):
        advice = 'write the file and the name of a function in it, as "callbacks.py:rate"'
        yield Problem(f"{field}.{SCHEDULE}", with_kind(options[SCHEDULE]), advice)
    elif RATES in options and rates_of(options[RATES]) is None:
        yield Problem(
            f"{field}.{RATES}",
            shown(options[RATES]),
            "give a rate above 0 for some epochs, counted from 0: { 0 = 0.1, 5 = 0.01 }",
        )


def rates_of(table: Any) -> dict[int, float] | None:
    """The rate from each epoch on, in order of the epochs, counted from 0; None if it is wrong."""
    if not isinstance(table, Mapping) or not table:
        return None
    if not all(str(key).isdecimal() and _is_rate(rate) for key, rate in table.items()):
        return None
    return {epoch: float(rate) for epoch, rate in sorted((int(k), r) for k, r in table.items())}


def _is_rate(rate: Any) -> bool:
    return isinstance(rate, int | float) and not isinstance(rate, bool) and rate > 0


def _file_name(field: str, name: Any) -> Iterator[Problem]:
    if not isinstance(name, str) or not _is_plain(name):
        advice = "give the name of a file that ends in .csv, without folders: it is put beside "
        yield Problem(field, with_kind(name), f"{advice}the run's events")


def _is_plain(name: str) -> bool:
    stem = name.removesuffix(".csv")
    return stem != name and bool(stem) and name.isprintable() and not {"/", "\\"} & set(name)
