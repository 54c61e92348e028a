"""What a model of the user's own was compiled with, and where the plan overrides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import keras

from gpu_studio.placement.plan_facts import ModelNote
from gpu_studio.plan import Training, listed
from gpu_studio.plan.keras_objects import COMPILED

_AS_COMPILED = ("auto", COMPILED)
Guard = Callable[..., Any]
"""Runs code of the user's own, and explains what goes wrong in it, and if given, doing what."""
_guards: WeakKeyDictionary[Any, Guard] = WeakKeyDictionary()
_seeds: WeakKeyDictionary[Any, ModelNote] = WeakKeyDictionary()


def given_seed(name: str, made: keras.Model, default: Any, given: int) -> None:
    """Remember that the function `name` made a model by a seed that is not its own default."""
    if default not in (None, given):
        _seeds[made] = ModelNote(
            "seed",
            f"{name} is given seed={given}, which is training.seed, and not its own {default}.",
            f"Write model.options.seed = {default} to keep its own.",
        )


def seed_notes(model: keras.Model) -> list[ModelNote]:
    """Return what to tell of the seed by which the model was made: nothing, if that is its own."""
    return [note for each in (model, made_by_user(model)) if (note := _seeds.get(each))][:1]


def came_from(model: keras.Model, guard: Guard) -> None:
    """Remember what explains the failures of the code that `model` came from."""
    _guards[model] = guard


def guard_of(model: keras.Model) -> Guard:
    """Return what runs code that came with `model`. It raises UserCodeError if that fails."""
    return _guards.get(model, unguarded)


def unguarded(work: Callable[[], Any], doing: str = "") -> Any:  # noqa: ARG001
    """Return the result of `work`: the guard of what is Keras' own."""
    return work()


def compiled_model(model: keras.Model | None) -> keras.Model | None:
    """Return the model that was compiled: this one, or the only layer of it; None if none was."""
    own = None if model is None else made_by_user(model)
    return own if getattr(own, "compiled", False) else None


def made_by_user(model: keras.Model) -> keras.Model:
    """Return the model as its function made it: this one, or the only layer of it."""
    # A model that is no graph became the only layer of one of the same name.
    inner = model.layers[-1] if model.layers else model
    return inner if isinstance(inner, keras.Model) and inner.name == model.name else model


def compiled_optimizer(model: keras.Model | None) -> Any:
    """Return the optimizer that the model was compiled with; None if there is none."""
    return getattr(compiled_model(model), "optimizer", None)


def keeps_optimizer(training: Training, model: keras.Model) -> bool:
    """Return whether the model trains by the optimizer that it was compiled with."""
    return training.optimizer in _AS_COMPILED and compiled_optimizer(model) is not None


def compiled_loss(model: keras.Model) -> Any:
    """Return the keras.trainers.CompileLoss of the model; None if it was compiled without a loss.

    Its `_user_loss` and `_user_loss_weights` are what was given to `compile`.
    """
    return getattr(compiled_model(model), "_compile_loss", None)


def ends_with_loss(model: keras.Model, ends: Sequence[Any], targets: int) -> Sequence[Any]:
    """Return the outputs that the targets are for: all of these `ends`, or as `fit` finds them.

    Where losses are listed, it takes fewer targets for those of the outputs that have a loss.
    """
    given = getattr(compiled_loss(model), "_user_loss", None)
    if targets == len(ends) or not isinstance(given, list | tuple) or len(given) != len(ends):
        return ends
    found = [end for end, loss in zip(ends, given, strict=True) if loss is not None]
    return found if len(found) == targets else ends


def by_name(model: keras.Model, targets: Any) -> Any:
    """Return a dictionary of targets with None for an output that has no target and no loss.

    Other structures stay as they are.
    """
    if not isinstance(targets, dict):
        return targets
    made, form = compiled_loss(model), getattr(compiled_model(model), "_outputs_struct", None)
    given = getattr(made, "_user_loss", None)
    names = form if isinstance(form, dict) else getattr(made, "output_names", None) or ()
    found = {name: each for name, each in targets.items() if keras.tree.flatten(each)}
    lossless = [name for name in names if isinstance(given, dict) and given.get(name) is None]
    return dict.fromkeys(lossless) | found


_ALIGNING = ("CTC", "Circle", "ctc", "circle")
"""Keras' losses that do not hold outputs against targets number by number."""


def aligns_by_itself(model: keras.Model) -> bool:
    """Whether the model was compiled with a loss that may take targets of any shape.

    It is one of the user's own, aligns sequences or samples, or leaves out a class that the model
    does not know. `fit` asks no more of it than that it gives a number.
    """
    made = compiled_loss(model)
    given = [] if made is None else keras.tree.flatten(made._user_loss)  # noqa: SLF001
    return any(map(_aligns, given))


def _aligns(loss: Any) -> bool:
    if loss is None or isinstance(loss, str):
        return loss in _ALIGNING
    if getattr(loss, "ignore_class", None) is not None:
        return True
    named = loss if hasattr(loss, "__name__") else type(loss)
    return named.__name__ in _ALIGNING or not named.__module__.startswith("keras.")


def compiled_metrics(model: keras.Model) -> Any:
    """Return the CompileMetrics of the model; None if it was compiled without metrics."""
    return getattr(compiled_model(model), "_compile_metrics", None)


def is_as_compiled(name: str, model: keras.Model | None) -> bool:
    """Whether the plan's `name` of a loss or metric means what `model` was compiled with."""
    return name == COMPILED or (name == "auto" and compiled_model(model) is not None)


def forget_compiled(model: keras.Model) -> None:
    """Take the model for one that was not compiled."""
    found = compiled_model(model)
    if found is not None:
        found.compiled = False


def compiled_notes(name: str, training: Training, model: keras.Model) -> Iterator[ModelNote]:
    """Return what to tell of the compiled model `name`: what the plan overrides, what has no use.

    Nothing is said of one that trains as it was compiled.
    """
    made = compiled_model(model)
    if made is None:
        return
    if over := list(_overridden(training, made)):
        yield ModelNote(
            "compiled model",
            f"{name} is compiled, but the plan's {listed(over)}.",
            'Write "compiled" in the plan to train with what the model brings.',
        )
    if unused := list(_unused(made)):
        yield ModelNote(
            "compiled settings",
            f"{name} is compiled with {listed(unused)}, which {_have(unused)} no effect on how "
            "steps run here.",
            "Steps are compiled into one function, as many a call as training.steps_per_call says.",
        )
    asked, at_once = training.steps_per_epoch, made.steps_per_execution
    if asked and isinstance(at_once, int) and (more := -(-asked // at_once) * at_once) > asked:
        yield ModelNote(
            "steps of fit",
            f"Of data that go on, fit would train {more} steps an epoch, as it does {at_once} at "
            f"a time (steps_per_execution). Here it is {asked}, as steps_per_epoch says.",
            f"Set training.steps_per_epoch = {more} to train as many.",
        )


def _overridden(training: Training, made: keras.Model) -> Iterator[str]:
    optimizer = type(getattr(made.optimizer, "inner_optimizer", made.optimizer)).__name__
    if made.optimizer is not None and training.optimizer not in _AS_COMPILED:
        yield f"optimizer {_short(training.optimizer)} overrides the compiled {optimizer}"
    elif made.optimizer is not None and training.schedule is not None:
        schedule = _short(training.schedule.name)
        yield f"schedule {schedule} overrides the learning rate of the compiled {optimizer}"
    if made.loss is not None and training.loss.name not in _AS_COMPILED:
        yield f"loss {_short(training.loss.name)} overrides the compiled {_loss(made.loss)}"
    if compiled_metrics(made) is not None and not any(
        each.name in _AS_COMPILED for each in training.metrics
    ):
        names = [_short(each.name) for each in training.metrics]
        said = f"metrics, {listed(names)}," if names else "lack of metrics"
        yield f"{said} overrides the compiled ones" if not names else f"{said} override its own"


def _unused(made: keras.Model) -> Iterator[str]:
    if made.run_eagerly:
        yield "run_eagerly"
    if getattr(made, "steps_per_execution", 1) not in (1, None):
        yield "steps_per_execution"


def _have(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _short(name: str) -> str:
    """Return a function's name without the folders of its file."""
    return name.replace("\\", "/").rpartition("/")[2]


def _loss(loss: Any) -> str:
    if isinstance(loss, str):
        return loss
    if isinstance(loss, dict | list | tuple):
        return "losses"
    return str(getattr(loss, "__name__", type(loss).__name__))
