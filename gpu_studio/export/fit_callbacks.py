"""The part of a script for `fit` that makes the callbacks, in the order of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from gpu_studio.export.fit_model import table
from gpu_studio.export.fit_workers import ONE_WRITER, kept_state
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.locating import located
from gpu_studio.export.own_code import called
from gpu_studio.export.phases import made_callback
from gpu_studio.export.saving import saves
from gpu_studio.export.script_text import call, indented, literal, options
from gpu_studio.plan import Callback, reference
from gpu_studio.plan import callbacks as known
from gpu_studio.plan.keras_objects import VALIDATION, more_is_better
from gpu_studio.plan.references import SCHEDULE

_SHOWN = "keras.callbacks.LambdaCallback(on_epoch_end=tell)"


def callbacks_of(fitted: FittedPlan) -> Iterator[str]:
    """Return the lines that make the callbacks, in the order of a run."""
    training, built_in, own = fitted.plan.training, [], []
    for place, each in enumerate(training.callbacks):
        if not reference(each.name):
            yield from _rates(place, each)
            built_in.append(_built_in(fitted, place, each))
            continue
        yield from _own_callback(fitted, place, each)
        own.append(f"*keras.tree.flatten(own_{place})")
    yield from _refused_at_steps(fitted)
    mine = [*built_in, *own]
    if training.phases and mine:
        yield from _listed("others", mine)
        mine = ["*others"]
    first = ["SameDraws()"] if fitted.draws else []
    first = ["numbers"] if fitted.facts.serves else first
    phase = [made_callback(fitted.facts)] if training.phases else []
    if fitted.facts.clusters:
        yield from _of_workers(fitted, phase, [*first, *mine, *_of_plan(fitted)])
        return
    yield from _listed("callbacks", [*first, *phase, *mine, *_of_plan(fitted), _SHOWN])


def _of_workers(fitted: FittedPlan, phase: list[str], kept: list[str]) -> Iterator[str]:
    """Return the lines for workers, which keep the state of these callbacks."""
    if kept:
        yield from _listed("kept", kept)
    if kept and fitted.facts.agrees:
        yield ONE_WRITER
    if phase:
        yield f"later = {phase[0]}"
    others = [*(["later"] if phase else []), *(["*kept"] if kept else [])]
    state = kept_state(fitted, "kept" if kept else "[]")
    yield from _listed("callbacks", [*others, _SHOWN, state])


def _refused_at_steps(fitted: FittedPlan) -> Iterator[str]:
    """Return the line that refuses callbacks which workers on their own cannot call."""
    given = enumerate(fitted.plan.training.callbacks)
    own = {
        PurePath(each.name).name: f"own_{place}" for place, each in given if reference(each.name)
    }
    if own and fitted.facts.apart:
        yield table("seen", own)
        yield "refuse_at_steps(seen)"


def _listed(name: str, items: Iterable[str]) -> Iterator[str]:
    """Return the lines that make a list of these expressions."""
    yield f"{name} = ["
    yield from (indented(f"{each},", 4) for each in items)
    yield "]"


def _of_plan(fitted: FittedPlan) -> list[str]:
    """Return the callbacks that do what a run does by itself: stop early, and keep the best."""
    training, made = fitted.plan.training, []
    if rule := training.early_stopping:
        given = {"monitor": rule.monitor, "min_delta": rule.min_delta}
        given |= {"patience": max(rule.patience, 1), "mode": _mode(rule.monitor)}
        given |= {"restore_best_weights": True} if rule.restore_best else {}
        made.append(call("", "keras.callbacks.EarlyStopping", options(given), indent=8))
    # Which measures a step of its own returns, and whether it can be saved so early, is not known.
    wanted = training.checkpoint.every_epochs > 0 or training.checkpoint.every_steps > 0
    if wanted and not fitted.built.own_steps:
        monitor = training.checkpoint.monitor
        if "validation" not in fitted.splits:  # a run judges by what is trained on, too
            monitor = monitor.removeprefix(VALIDATION)
        given = {"save_best_only": True, "save_weights_only": True}
        given |= {"monitor": monitor, "mode": _mode(monitor)}
        path = 'arguments.output / "best.weights.h5"'
        made.append(call("", "keras.callbacks.ModelCheckpoint", [path, *options(given)], indent=8))
    return made


def _mode(monitor: str) -> str:
    return "max" if more_is_better(monitor) else "min"


def _own_callback(fitted: FittedPlan, place: int, named: Callback) -> Iterator[str]:
    field = f"training.callbacks[{place}]"
    where = reference(named.name)
    if where is None:
        raise AssertionError(named.name)
    file = literal(str(located(field, where.file, fitted.facts.base)))
    offered = {"model": "model", "epochs": "arguments.epochs", "batch_size": "BATCH_SIZE"}
    steps = "steps_per_epoch" if fitted.counts_steps else "None"
    yield table("offered", {**offered, "steps_per_epoch": steps, "seed": "SEED"})
    given = [
        call("", "Path", [file], indent=9),  # with the comma behind it
        called(where, "callbacks", fitted.facts),
        literal(named.options),
        "offered",
    ]
    yield call(f"own_{place} = ", "call_own", given, indent=4)


def _rates(place: int, named: Callback) -> Iterator[str]:
    """Return the lines that make the table of rates that a callback of the plan goes by."""
    table = known.rates_of(named.options.get(known.RATES, {})) or {}
    if named.name == known.SCHEDULER and table:
        rows = (f"    {epoch}: {literal(rate)}," for epoch, rate in table.items())
        yield "\n".join([f"rates_{place} = {{", *rows, "}"])


def _built_in(fitted: FittedPlan, place: int, named: Callback) -> str:
    given = dict(named.options)
    if named.name == known.PLATEAU:
        return call("", "keras.callbacks.ReduceLROnPlateau", options(given), indent=8)
    if named.name == known.TERMINATE:
        return "keras.callbacks.TerminateOnNaN()"
    if named.name == known.TABLE:
        file = literal(given.get(known.FILE, "epochs.csv"))
        path = f"arguments.output / {file}" if saves(fitted.facts) else file
        separator = literal(given.get("separator", ","))
        more = ["append=begun > 0"] if fitted.facts.clusters else []
        return call("", "keras.callbacks.CSVLogger", [path, separator, *more], indent=8)
    own = f"lambda epoch, now: rate_at(rates_{place}, epoch, now)"
    where = reference(str(given.get(SCHEDULE, "")))
    if where is not None:
        file = literal(str(located("training.callbacks", where.file, fitted.facts.base)))
        path = call("", "Path", [file], indent=17)
        own = call("", "own", [path, literal(where.function)], indent=12)
    return call("", "keras.callbacks.LearningRateScheduler", [own], indent=8)
