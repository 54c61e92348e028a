"""Run a script of the user's up to its call of `fit`, and hand over what that is given.

That call trains nothing: it ends the script. It runs once for the data, and anew for each model,
so that each is made where the plan wants it; once for both where Keras trains earlier calls.
"""

from __future__ import annotations

import atexit
import gc
import inspect
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.placement.plan_facts import ModelNote
from gpu_studio.plan import Plan, Training, reference, shown
from gpu_studio.plan.script_calls import again, call_of, number_of
from gpu_studio.plan.scripts import OF_PLANS, FitCall, as_in_plan
from gpu_studio.trainer.errors import UserCodeError
from gpu_studio.trainer.user_code.admission import Admitted, admit
from gpu_studio.trainer.user_code.earlier_fits import Found, keep, kept, ran_out, training_before
from gpu_studio.trainer.user_code.leaving import registering_of_others
from gpu_studio.trainer.user_code.places import started_in
from gpu_studio.trainer.user_code.stream_kinds import is_stream
from gpu_studio.trainer.user_code.without_fit import Overhearing, ended_without_fit

_given: dict[Path, dict[str, Any]] = {}
"""By the scripts: what `fit` was given beside the data when the last model was made.

Its callbacks know that model.
"""
_STREAMS, _STRATEGY = "streams", "strategy"


def what_fit_is_given(
    part: str, admitted: Admitted, call: FitCall, fit: dict[str, Any]
) -> Callable[..., Any]:
    """Return the function that `file.py:fit` stands for in a part of a plan, or another `call`.

    It gives the compiled model, the data as a data function returns them, or the callbacks, which
    are those of the model that was made last. `arguments` are what a shell would give the script.
    With the data `fit` is filled with what a plan has by the same names. Raises UserCodeError for
    what cannot be taken over.
    """
    number = call.number

    def model(arguments: Sequence[str] = ()) -> Any:
        found = kept(admitted, number, arguments) or _run(admitted, arguments, number)
        model, given = found
        data = ("x", "y", "sample_weight", "validation_data")
        _given[admitted.path] = {name: given[name] for name in given if name not in data}
        _given[admitted.path][_STREAMS] = is_stream(given["x"])
        return model

    def data(arguments: Sequence[str] = ()) -> Any:
        found = _run(admitted, arguments, number)
        keep(admitted, number, arguments, found)
        given = found[1]
        pairs = {name: _in_plan(name, given[name]) for name in OF_PLANS}
        fit.update({name: value for name, value in pairs.items() if value is not None})
        _refuse_mixed(admitted, given)
        return data_given(given)

    def callbacks() -> Any:
        if admitted.path not in _given:
            name, script = admitted.path.name, f"{admitted.path.name}:{call.function}"
            raise UserCodeError(
                f"The callbacks of {name} are made for the model of {name}, which is not trained.",
                [f"Train it, too: model.python = {script}. Or leave the callbacks out."],
            )
        return _given[admitted.path]["callbacks"] or []

    return {"data": data, "model": model}.get(part, callbacks)


def _refuse_mixed(admitted: Admitted, given: Mapping[str, Any]) -> None:
    held = given["validation_data"]
    if held is not None and is_stream(held) and not is_stream(given["x"]):
        raise UserCodeError(
            f"{admitted.path.name} gives fit arrays to train on, and batches to validate on.",
            ["Give both as arrays, or both as a tf.data.Dataset or a PyDataset."],
        )


def _in_plan(name: str, given: Any) -> Any:
    """How a plan has what `fit` is given; None if it cannot have it."""
    return getattr(Training(), name) if given is None else as_in_plan(name, given)


def _run(admitted: Admitted, arguments: Sequence[str], number: int) -> Found:
    """Return what `call_of_fit` finds. Raises UserCodeError where the script ends without one."""
    admitted.show_lines()
    heard: Any = Overhearing(sys.stderr)
    shown: Any = Overhearing(sys.stdout)
    found: Found | None
    trained: list[int] = []
    try:
        # What it wants of warnings, such as that each is an error, is not meant for the trainer.
        with (
            started_in(admitted.folder),
            _signals_kept(),
            redirect_stderr(heard),
            redirect_stdout(shown),
            warnings.catch_warnings(),
            training_before(admitted, number) as trained,
        ):
            found, makes = _noting_strategies(
                lambda: call_of_fit(str(admitted.path), admitted.started(), arguments, number)
            )
    except SystemExit as ended:
        if trained:
            raise ran_out(admitted, number, trained) from ended
        raise ended_without_fit(admitted, ended, heard.last or shown.last) from ended
    finally:
        gc.collect()  # of the runs for model and data, each leaves what the other one is for
    if found is None and trained:
        raise ran_out(admitted, number, trained)
    if found is None:
        raise ended_without_fit(admitted, None, shown.last)
    found[1][_STRATEGY] = makes
    return found


def _noting_strategies(run: Callable[[], Any]) -> tuple[Any, bool]:
    """Return what `run` returns, and whether a strategy is made meanwhile."""
    in_use, made = tf.distribute.get_strategy, []

    def noted() -> Any:
        asking = inspect.currentframe()
        # What stands for the classes of strategies gives the one that is in use.
        code = asking and asking.f_back and asking.f_back.f_code
        if code and (code.co_filename, code.co_name) == (__file__, "__call__"):
            made.append(code)
        return in_use()

    return with_others([(tf.distribute, "get_strategy", noted)], run), bool(made)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Have signals do afterwards what they do now: SIGTERM stops a run with a checkpoint."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


# These are also written into exported scripts, as they are.


def call_of_fit(
    path: str, code: CodeType, arguments: Sequence[str], number: int = 1
) -> tuple[Any, dict[str, Any]] | None:
    """Run a script up to this call of a model's fit; return that, and its arguments.

    The calls before train. None if there are fewer. What sets up devices or a strategy is idle.
    """

    class CalledError(SystemExit):
        """Ends the script, or a thread of it, in silence. No `except Exception` keeps it."""

    def fit(*given: Any, **named: Any) -> None:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        calls.append((bound.arguments.pop("self"), dict(bound.arguments)))
        raise CalledError

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        wait_for(thread, timeout)
        if calls:  # in that thread: what comes next needs a model that is trained
            raise CalledError

    calls: list[tuple[Any, dict[str, Any]]] = []
    owner = next(kind for kind in keras.Model.__mro__ if "fit" in vars(kind))
    signature, wait_for = inspect.signature(owner.fit), threading.Thread.join
    module = type(sys)("__main__")
    module.__file__ = path
    others = [*instead_of_set_up(), (threading.Thread, "join", join)]
    others.append((owner, "fit", at_call(number, owner.fit, fit)))
    others.append((sys, "argv", [path, *map(str, arguments)]))
    others.append((atexit, "register", registering_of_others(path)))
    started, sys.modules["__main__"] = sys.modules["__main__"], module
    try:
        with_others(others, lambda: exec(code, vars(module)))  # noqa: S102 (it is allowed)
    except (Exception, SystemExit):
        if not calls:
            raise
    finally:
        sys.modules["__main__"] = started
    return calls[0] if calls else None


def at_call(number: int, trains: Callable[..., Any], ends: Callable[..., Any]) -> Any:
    """Return what stands for a fit: it `trains` until its call of this number, which `ends` it.

    One that is called meanwhile is not counted: a model may train another in its callbacks.
    """
    count, within = 0, False

    def fit(*given: Any, **named: Any) -> Any:
        nonlocal count, within
        if within:
            return trains(*given, **named)
        count += 1
        if count >= number:
            return ends(*given, **named)
        within = True
        try:
            return trains(*given, **named)
        finally:
            within = False

    return fit


def with_others(others: Sequence[tuple[Any, str, Any]], work: Callable[[], Any]) -> Any:
    """Return the result of `work`, while names of modules and classes stand for others."""
    kept = [(place, name, getattr(place, name)) for place, name, _ in others]
    for place, name, other in others:
        setattr(place, name, other)
    try:
        return work()
    finally:
        for place, name, own in kept:
            setattr(place, name, own)


def strategy_in_use(own: Any) -> Any:
    """Return what stands for this class of strategies: to make one gives the one that is in use."""

    class InPlace(type):
        def __call__(cls, *_: Any, **_named: Any) -> Any:
            return tf.distribute.get_strategy()

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, own)

    return InPlace(own.__name__, (), {})


def instead_of_set_up() -> list[tuple[Any, str, Any]]:
    """Return what stands for the ways in which a script sets up devices and a strategy.

    Devices and threads are left as they are, steps are compiled and timed, which determinism
    forbids, and the strategy is the one that is in use. TF32 is off where plan or script say so.
    """
    tf32 = tf.config.experimental.enable_tensor_float_32_execution

    def nothing(*_: Any, **_named: Any) -> None:
        pass

    def less_tf32(enabled: Any) -> None:
        if not enabled:
            tf32(False)

    names = (
        "enable_op_determinism",
        "run_functions_eagerly",
        "set_inter_op_parallelism_threads",
        "set_intra_op_parallelism_threads",
        "set_logical_device_configuration",
        "set_memory_growth",
        "set_virtual_device_configuration",
        "set_visible_devices",
    )
    places = (tf.config, tf.config.experimental, tf.config.threading)
    found = [(place, each, nothing) for place in places for each in names]
    found.append((tf.config.experimental, tf32.__name__, less_tf32))
    # The strategy is one of this graph: clear_session of Keras would take it away.
    found.append((tf.compat.v1, "reset_default_graph", nothing))
    for place in (tf.distribute, tf.distribute.experimental):
        kinds = [each for each in dir(place) if each.endswith("Strategy")]
        found += [(place, each, strategy_in_use(getattr(place, each))) for each in kinds]
    return [each for each in found if hasattr(*each[:2])]


def data_given(given: Mapping[str, Any]) -> Any:
    """Return the data that fit is given, as a data function returns them."""
    from keras.src.trainers.data_adapters import array_slicing

    x, held = given["x"], given["validation_data"]
    train = (x, given["y"], given["sample_weight"])
    if is_stream(x):
        if isinstance(held, tuple | list):
            size = given["validation_batch_size"] or given["batch_size"] or 32
            held = tf.data.Dataset.from_tensor_slices(tuple(held)).batch(size)
        return x if held is None else (x, held)
    if held is None and given["validation_split"]:
        train, held = array_slicing.train_validation_split(train, given["validation_split"])
    if held is None:
        return named_arrays("", train)
    return named_arrays("_train", train) | named_arrays("_val", held)


def named_arrays(split: str, arrays: Sequence[Any]) -> dict[str, Any]:
    """Return samples, targets and weights by the names that they have in an .npz file."""
    x, y, weights = (*arrays, None, None)[:3]
    named = {f"x{split}": x, f"y{split}": y}
    return named if weights is None else named | {f"sample_weight{split}": weights}


def as_given_to_fit(plan: Plan) -> Iterator[ModelNote]:
    """Yield a note on what the script of the plan does with `fit`, and no plan says."""
    file, call, given = _script_of(plan)
    if call is None:
        return
    if call.later:
        yield ModelNote("fit is called again", *again(file.name, call))
    if given[_STRATEGY]:
        yield from _spread_otherwise(file, call, plan)
    unlike = [name for name in OF_PLANS if _in_plan(name, given[name]) is None]
    for name in unlike:
        yield ModelNote(
            f"fit is given {name}",
            f"{file.name} gives fit {name}={shown(given[name])} {call.place}, which no plan has.",
            f"It is trained as without {name}.",
        )
    yield from _validated_otherwise(file, call, given)


def left_out(plan: Plan) -> Iterator[str]:
    """Yield a sentence on what the script of the plan would do after `fit`, where no run comes.

    Nothing is lost: a run keeps its model, so that this is no warning.
    """
    file, call, _ = _script_of(plan)
    if call is not None and call.counted:
        yield f"{file.name} is left at call {call.number} of fit: what comes after it does not run."
    if call is None or not (call.unwritten or call.unmeasured):
        return
    instead = "`gpu-studio runs save-model` writes the model"
    if not call.unwritten:
        instead = "`gpu-studio runs evaluate` and `runs predict` try the model"
    yield (
        f"{call.module or file.name} is left at its fit, before "
        f"{call.unwritten or call.unmeasured}: {instead} of this run."
    )


def _spread_otherwise(file: Path, call: FitCall, plan: Plan) -> Iterator[ModelNote]:
    """Yield a note where the script makes a strategy, and the plan has none."""
    if call.strategy and plan.distribution.strategy == "none":
        yield ModelNote(
            "the script makes a strategy",
            f"{call.module or file.name} makes a tf.distribute strategy that is "
            f"{call.strategy} here, and the plan has none, which counts: one device trains.",
            f'Set distribution.strategy to "{call.strategy}" to train as the script does.',
        )


def _validated_otherwise(
    file: Path, call: FitCall, given: Mapping[str, Any]
) -> Iterator[ModelNote]:
    """Yield a note where `validation_steps` are of batches that no run has."""
    steps, size = given["validation_steps"], given["validation_batch_size"]
    batch = given["batch_size"] or Training().batch_size
    if steps and size and size != batch and not given[_STREAMS]:
        yield ModelNote(
            "fit is given validation_batch_size",
            f"{file.name} gives fit validation_steps={steps} of validation_batch_size={size} "
            f"{call.place}: a run validates with as many batches of training.batch_size, and "
            "so with other samples.",
            "Give fit the samples to validate with, without validation_steps.",
        )


def not_compiled(plan: Plan) -> Iterator[ModelNote]:
    """Yield a note that the script of the plan, if any, calls `fit` of an uncompiled model."""
    file, call, _ = _script_of(plan)
    if call is not None:
        yield ModelNote(
            "fit without compile",
            f"{file.name} calls fit {call.place}, but the model is not compiled: "
            "fit itself would refuse that.",
            "The plan's loss, optimizer and metrics train it. Call compile before, and its own do.",
        )


def given_otherwise(plan: Plan) -> Iterator[ModelNote]:
    """Yield a note where the script of the plan gives `fit` what the plan has otherwise.

    What can be read in the text of the script is in the plan, or a person changed it there. This is
    about the rest, and about what another module or an argument gives in the place of the text.
    """
    file, call, given = _script_of(plan)
    if call is None:
        return
    if given["callbacks"] and not (call.callbacks or plan.training.callbacks):
        yield ModelNote(
            "fit is given callbacks",
            f"{file.name} gives fit callbacks, and the plan has none.",
            f"Add the callback {file.name}:{call.function} to the plan.",
        )
    for name in OF_PLANS:
        usual, mine = getattr(Training(), name), getattr(plan.training, name)
        value = _in_plan(name, given[name])
        said = () if name in call.unknown else (call.known.get(name, usual),)
        if value not in (None, mine, *said) and mine in (usual, *said):  # else a person wants it so
            # Else the call is another than the text shows, such as one of a module beside it.
            line = f" {call.place}" if name in (*call.known, *call.unknown) else ""
            yield ModelNote(
                f"fit is given {name}",
                f"{file.name} gives fit {name}={shown(value)}{line}, and the plan has "
                f"{shown(mine)}, which counts.",
                f'Set training.{name} to that, or name "{name}" in training.as_in_script.',
            )


def _script_of(plan: Plan) -> tuple[Path, FitCall | None, Mapping[str, Any]]:
    """Return the script of the plan's model, its call (None if none ran), and what it was given."""
    named = reference(plan.model.python or "")
    if not named or not number_of(named.function):
        return Path(), None, {}
    admitted = admit(Path(named.file))
    given = _given.get(admitted.path, {})
    call = call_of(admitted.path, admitted.text, named.function) if given else None
    return admitted.path, call, given
