"""The second form of a script: it hands a model and data of the user's own to Keras' `fit`.

That is written for what the loop of the first form cannot train: models that are compiled or bring
steps of their own, several inputs or outputs, streams, callbacks, and weights of classes. `fit`
gets the samples in the order of a run and draws the same random numbers: losses are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_compile import own_functions
from gpu_studio.export.fit_data import loading
from gpu_studio.export.fit_model import building, model_parameters, table
from gpu_studio.export.fit_placed import PLACING, fit_placed
from gpu_studio.export.fit_shares import (
    ADDED,
    ADDING,
    APART,
    JOINED,
    PARTS_OF_ALL,
    ROWS_ONCE,
    SHARES,
)
from gpu_studio.export.fit_streams import AFTER_DATA, AS_DATASET, COPIED, NEXT_ONES
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.joined_updates import UPDATE_BY_SUMS, UPDATE_FOR_ALL
from gpu_studio.export.locating import located
from gpu_studio.export.model import counts_tokens
from gpu_studio.export.own_code import called
from gpu_studio.export.passes import SHOW
from gpu_studio.export.phases import made_callback, phases, phases_callback, slots_moved
from gpu_studio.export.prepared import prepared, preparing
from gpu_studio.export.script_text import call, fill, functions_of, indented, literal, options
from gpu_studio.export.strategies import written_as
from gpu_studio.export.training import main, precision, saves
from gpu_studio.plan import Callback, reference, strategy_of
from gpu_studio.plan import callbacks as known
from gpu_studio.plan.keras_objects import more_is_better
from gpu_studio.plan.references import SCHEDULE

_DRAWS = """\
class SameDraws(keras.callbacks.Callback):
    \"\"\"Starts the random numbers of each step anew, by its number and the seed alone.\"\"\"

    def on_train_begin(self, logs=None):
        shared = keras.src.random.seed_generator.global_seed_generator().state
        states = [v for v in self.model.variables if v.name == "seed_generator_state"]
        own = [(v, int(np.asarray(v)[0])) for v in states if v is not shared]
        self.states, self.step = [*own, (shared, SEED)], 0

    def on_train_batch_begin(self, batch, logs=None):
        self.place($place)
        self.step += 1

    def on_test_batch_begin(self, batch, logs=None):
        self.place(-1 - batch)

    def place(self, step):
        \"\"\"A layer draws fewer than 4,096 times in a step.\"\"\"
        for state, seed in self.states:
            state.assign([seed, 4096 * step])


"""

_BUILT = """\
def build_by_kinds(model, strategy, training):
    \"\"\"Build the model for what the data are, without a look at them.

    Under a strategy, Keras would read a batch for that, on which it trains no more, and
    add up the replicas' parts of it, which need not be equally long.
    \"\"\"

    def symbol(kind):
        return keras.KerasTensor(tuple(kind.shape), kind.dtype.name)

    if isinstance(training, tf.data.Dataset):
        if type(model).call is not keras.Model.call:  # some have a train_step alone
            with strategy.scope():
                kinds = keras.tree.map_structure(symbol, training.element_spec)
                model._symbolic_build(data_batch=kinds)
        model._maybe_symbolic_build = lambda **given: None


"""

_COPIES = """\
if isinstance(training, tf.data.Dataset):
    training = training.map(copied)"""
_HELD = """\
if inspect.isgenerator(validation):
    validation = next_ones(validation, $most)$copied"""

_TRAIN = """\
def train(arguments):
    \"\"\"Load the data, build the model, and fit it.\"\"\"
    $strategy
    $precision
    $splits = load_data()
    $tokens
    $batches
    $scope
    $generated
    $built
    $shares
    $placing
    $slots
    $waiting

    def tell(epoch, logs):
        show(f"epoch {epoch + 1}/{arguments.epochs}", logs)

    $callbacks
    model.fit(
        training,
        epochs=arguments.epochs,
        $given
        callbacks=callbacks,
        shuffle=False,  # the batches come as they are to come
        verbose=0,
    )
    $save
    $test


$main
"""
_BATCHES = """\
samples = len(keras.tree.flatten(training)[0])
steps_per_epoch = -(-samples // BATCH_SIZE)  # rounded up
training = batches(training, lambda at: order_of(samples, at), arguments.epochs)"""
_IN_PASSES = """\
samples = len(keras.tree.flatten(training)[0])
steps_of_pass = -(-samples // BATCH_SIZE)  # rounded up
steps_per_epoch = min($asked, steps_of_pass)
passes = itertools.count()
training = batches(training, lambda _: order_of(samples, next(passes)), 1)"""
_EVALUATED = """\
{0}_rows = np.arange(len(keras.tree.flatten({0})[0]))
{0} = batches({0}, lambda _: {0}_rows, 1)"""
_STREAMED = """\
steps = $asked
$known
if isinstance(training, keras.utils.PyDataset):
    steps = steps or len(training)
    training = in_order(training, arguments.epochs)"""
_GENERATED = """\
if inspect.isgenerator(training):
    training = as_dataset(training)"""
_READ_ONCE = """
if inspect.isgenerator(training) and arguments.epochs > 1:
    raise SystemExit("A generator is read once: give one without end or a Dataset.")"""
_SLOTS = """\
if all(layer.built for layer in model._flatten_layers()):
    # Else `fit` would trace its step once more, to make the optimizer's variables.
    model.optimizer.build(model.trainable_variables)
    $moved"""
_SCOPE = """\
# In the strategy's scope, variables are made where it keeps them: $where.
with strategy.scope():
    $make"""
_SHOWN = "keras.callbacks.LambdaCallback(on_epoch_end=tell)"
_SAVE = """\
model.built = True  # also where its steps were called alone
model.save_weights(arguments.output / "last.weights.h5")"""
_TEST = """\
results = model.evaluate(test, callbacks=callbacks, verbose=0, return_dict=True)
show("test", {f"test_{name}": value for name, value in results.items()})"""


def fitting(fitted: FittedPlan) -> str:
    """The functions `train` and `main`, with the classes and functions that they use."""
    plan, facts, streamed = fitted.plan, fitted.facts, bool(fitted.seen.streamed)
    several = strategy_of(plan).replicates
    test = _TEST if "test" in fitted.splits else ""
    if streamed:
        test = f"if test is not None:\n{indented(_TEST, 4)}"
    written = written_as(plan)
    made = f"model = build_model({', '.join(model_parameters(fitted, 'arguments.epochs'))})"
    names = fitted.splits
    one = len(names) == 1 and plan.data.python is None and not fitted.seen.nested
    make, callbacks = f"{made}\n{preparing(facts)}".rstrip(), "\n".join(_callbacks(fitted))
    known = _known_steps(fitted) if "steps_per_epoch" in made + callbacks else ""
    whole = fill(
        _TRAIN,
        strategy="strategy = make_strategy()" if written.has_scope else "",
        precision=precision(facts),
        splits=f"({names[0]},)" if one else ", ".join(names),
        tokens=_tokens(fitted),
        batches=_batched(fitted, known),
        scope=fill(_SCOPE, where=written.variables, make=make) if written.has_scope else make,
        generated=_generated(fitted),
        built="build_by_kinds(model, strategy, training)" if written.has_scope else "",
        shares=_counting(fitted) if several else "",
        placing=PLACING if facts.placed else "",
        slots="" if written.has_scope or fitted.built.own_steps else _slots(facts),
        waiting="wait_for_data(model)" if fitted.seen.of_unknown_length else "",
        callbacks=callbacks,
        given="\n".join(_fit_arguments(fitted)),
        save=_SAVE if saves(facts) else "",
        test=test,
        main=main(facts),
    )
    draws, shares = fill(_DRAWS, place=_place_of_draws(facts)) if fitted.draws else "", ""
    if several:
        shares = _shares(fitted)
    built = _BUILT if written.has_scope else ""
    built += AS_DATASET if _builds_first(fitted) and streamed else ""
    built += AFTER_DATA if fitted.seen.of_unknown_length else ""
    built += NEXT_ONES if streamed and plan.training.validation_steps else ""
    built += COPIED if several and streamed else ""
    rates = functions_of("callbacks/made.py", "rate_at") if "rate_at(" in whole else ""
    later = f"{phases(facts)}\n\n{phases_callback(facts)}" if plan.training.phases else ""
    return f"{draws}{later}{built}{shares}{rates}{SHOW}\n\n{whole}"


def _slots(facts: ScriptFacts) -> str:
    return fill(_SLOTS, moved=slots_moved(facts, "model.optimizer")).rstrip()


def _shares(fitted: FittedPlan) -> str:
    """Return the functions by which replicas count by their samples."""
    central = strategy_of(fitted.plan).has_parameter_device
    shares = (
        ROWS_ONCE
        + JOINED
        + PARTS_OF_ALL
        + fill(
            SHARES,
            join=_joining(central=central) if central or fitted.joins else "",
            added=ADDED if central else "",
            adding=ADDING if central else APART,
        )
    )
    if central:
        return f"{UPDATE_FOR_ALL}\n\n{UPDATE_BY_SUMS}{shares}"
    return f"{UPDATE_FOR_ALL}\n\n{shares}" if fitted.joins else shares


def _joining(*, central: bool) -> str:
    """Return the line that lets an optimizer update once for all replicas."""
    return (
        "update_by_sums(optimizer, model.distribute_strategy)"
        if central
        else ("update_for_all(inner)")
    )


def _builds_first(fitted: FittedPlan) -> bool:
    """Whether the model is built for what the data are, before `fit` begins."""
    return written_as(fitted.plan).has_scope or fitted.facts.placed is not None


def _place_of_draws(facts: ScriptFacts) -> str:
    return "self.step * MICRO_BATCHES" if facts.in_parts else "self.step"


def _tokens(fitted: FittedPlan) -> str:
    """Return the line that counts the tokens, where a built-in model has to know their number."""
    if not counts_tokens(fitted.facts):
        return ""
    names = ", ".join(fitted.splits) + ("," if len(fitted.splits) == 1 else "")
    return f"tokens = 1 + max(int(part[0].max()) for part in ({names}))"


def _counting(fitted: FittedPlan) -> str:
    call = "count_by_samples(model)"
    return f"count = {call}" if fitted.plan.training.phases else call


def _known_steps(fitted: FittedPlan) -> str:
    """Return the line that counts the steps of an epoch of a stream, as far as they are known."""
    known = not (fitted.seen.of_unknown_length or fitted.seen.endless)
    if fitted.plan.training.steps_per_epoch:
        return f"steps_per_epoch = {'min(steps, len(training))' if known else 'steps'}"
    found = "len(training)" if known else "0  # known once they have been read"
    return f"steps_per_epoch = {found}"


def _batched(fitted: FittedPlan, known: str) -> str:
    if fitted.seen.streamed:
        asked = fitted.plan.training.steps_per_epoch or None
        once = not fitted.seen.endless and not asked
        return fill(_STREAMED, asked=str(asked), known=known) + (_READ_ONCE if once else "")
    asked = fitted.plan.training.steps_per_epoch
    lines = [fill(_IN_PASSES, asked=str(asked)) if asked else _BATCHES]
    lines += [_EVALUATED.format(name) for name in fitted.splits[1:]]
    return "\n".join(lines)


def _generated(fitted: FittedPlan) -> str:
    """Return the lines that make datasets of generators, once the model is made.

    Then they draw the random numbers that they draw for `fit`.
    """
    if not fitted.seen.streamed:
        return ""
    several, most = strategy_of(fitted.plan).replicates, fitted.plan.training.validation_steps
    lines = [_GENERATED] if _builds_first(fitted) else []
    lines += [_COPIES] if several else []
    if most:
        copied = ".map(copied)" if several else ""
        lines.append(fill(_HELD, most=str(most), copied=copied))
    return "\n".join(lines)


def _fit_arguments(fitted: FittedPlan) -> Iterator[str]:
    training = fitted.plan.training
    yield f"steps_per_epoch={'steps' if fitted.seen.streamed else 'steps_per_epoch'},"
    if "validation" in fitted.splits:
        yield "validation_data=validation,"
        if training.validation_steps:
            yield f"validation_steps={training.validation_steps},"
        if training.validation_freq > 1:
            yield f"validation_freq={training.validation_freq},"
    if training.class_weight:
        given = {int(key): value for key, value in training.class_weight.items()}
        classes = max(fitted.facts.met.units, 1 + max(given))
        weights = {each: given.get(each, 1.0) for each in range(classes)}
        spelled = ", ".join(f"{key}: {literal(value)}" for key, value in weights.items())
        yield f"class_weight={{{spelled}}},"


def _callbacks(fitted: FittedPlan) -> Iterator[str]:
    """Return the lines that make the callbacks, in the order of a run."""
    training, built_in, own = fitted.plan.training, [], []
    for place, each in enumerate(training.callbacks):
        if not reference(each.name):
            yield from _rates(place, each)
            built_in.append(_built_in(fitted, place, each))
            continue
        yield from _own_callback(fitted, place, each)
        own.append(f"*keras.tree.flatten(own_{place})")
    mine = [*built_in, *own]
    if training.phases and mine:
        yield from _listed("others", mine)
        mine = ["*others"]
    first = ["SameDraws()"] if fitted.draws else []
    first += [made_callback(fitted.facts)] if training.phases else []
    yield from _listed("callbacks", [*first, *mine, *_of_plan(fitted), _SHOWN])


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
    if saves(fitted.facts) and not fitted.built.own_steps:
        monitor = training.checkpoint.monitor
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
        return call("", "keras.callbacks.CSVLogger", [path, separator], indent=8)
    own = f"lambda epoch, now: rate_at(rates_{place}, epoch, now)"
    where = reference(str(given.get(SCHEDULE, "")))
    if where is not None:
        file = literal(str(located("training.callbacks", where.file, fitted.facts.base)))
        path = call("", "Path", [file], indent=17)
        own = call("", "own", [path, literal(where.function)], indent=12)
    return call("", "keras.callbacks.LearningRateScheduler", [own], indent=8)


def _preparing(fitted: FittedPlan) -> str:
    return prepared(fitted.facts)


FIT_PARTS = (own_functions, loading, building, _preparing, fit_placed, fitting)
"""What follows the parts that all scripts have in common: opening, devices, strategy."""
