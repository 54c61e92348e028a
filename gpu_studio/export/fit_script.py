"""The second form of a script: it hands a model and data of the user's own to Keras' `fit`.

That is written for what the loop of the first form cannot train: models that are compiled or bring
steps of their own, several inputs or outputs, streams, callbacks, and weights of classes. `fit`
gets the samples in the order of a run and draws the same random numbers: losses are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_callbacks import callbacks_of
from gpu_studio.export.fit_compile import own_functions
from gpu_studio.export.fit_data import loading
from gpu_studio.export.fit_model import building, model_parameters
from gpu_studio.export.fit_placed import PLACING, fit_placed
from gpu_studio.export.fit_served import fit_served
from gpu_studio.export.fit_shares import (
    ADDED,
    ADDING,
    APART,
    JOINED,
    PARTS_OF_ALL,
    REDUCED,
    REDUCING,
    ROWS_ONCE,
    SHARES,
)
from gpu_studio.export.fit_streams import (
    AFTER_DATA,
    AS_DATASET,
    COPIED,
    NEXT_ONES,
    seeds_generators,
)
from gpu_studio.export.fit_workers import (
    SETUP,
    SETUP_SERVED,
    SKIPPED_OF_ARRAYS,
    SKIPPED_OF_STREAM,
    fit_workers,
)
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.joined_updates import UPDATE_BY_SUMS, UPDATE_FOR_ALL
from gpu_studio.export.model import counts_tokens
from gpu_studio.export.passes import SHOW, SHOW_MEANS
from gpu_studio.export.phases import phases, phases_callback, slots_moved
from gpu_studio.export.prepared import prepared, preparing
from gpu_studio.export.saving import saves
from gpu_studio.export.script_text import call, fill, functions_of, indented, literal
from gpu_studio.export.strategies import written_as
from gpu_studio.export.training import main, precision
from gpu_studio.plan import reference, strategy_of

_DRAWS = """\
class SameDraws(keras.callbacks.Callback):
    \"\"\"Starts the random numbers of each step anew, by its number and the seed alone.\"\"\"

    def on_train_begin(self, logs=None):
        shared = keras.src.random.seed_generator.global_seed_generator().state
        states = [v for v in self.model.variables if v.name == "seed_generator_state"]
        own = [(v, int(np.asarray(v)[0])) for v in states if v is not shared]
        self.states, self.step = [*own, (shared, SEED)], $first

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
training, validation, test = (
    each.map(copied) if isinstance(each, tf.data.Dataset) else each
    for each in (training, validation, test)
)"""
_HELD = """\
if inspect.isgenerator(validation):
    $before
    validation = next_ones($given)$copied"""
_LOOKED_AT = """\
if inspect.isgenerator(training):  # both may draw the same random numbers
    looked_at = [*itertools.islice(training, 2)]
    training = (each for each in itertools.chain(looked_at, training))"""

_TRAIN = """\
def train($parameters):
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
        $tell

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
$made"""
_IN_PASSES = """\
samples = len(keras.tree.flatten(training)[0])
steps_of_pass = -(-samples // BATCH_SIZE)  # rounded up
steps_per_epoch = min($asked, steps_of_pass)
$begun
training = batches(training, lambda _: order_of(samples, next(passes)), 1)"""
_EVALUATED = """\
{0}_rows = np.arange(len(keras.tree.flatten({0})[0]))
{0} = batches({0}, lambda _: {0}_rows, 1)"""
_STREAMED = """\
steps = $asked
$known
$skip
if isinstance(training, keras.utils.PyDataset):
    steps = steps or len(training)
    training = in_order(training, $epochs)
validation = by_passes(validation, 1$passed)
test = by_passes(test, 2)"""
_GENERATED = """\
if inspect.isgenerator(training):
    training = as_dataset(training)"""
_READ_ONCE = """
if inspect.isgenerator(training) and $epochs > 1:
    raise SystemExit("A generator is read once: give one without end or a Dataset.")"""
_SLOTS = """\
if all(layer.built for layer in model._flatten_layers()):
    # Else `fit` would trace its step once more, to make the optimizer's variables.
    model.optimizer.build(model.trainable_variables)
    $moved"""
_STEP_BY_STEP = "model.steps_per_execution = 1  # each step is counted: --resume goes on after it"
_SCOPE = """\
# In the strategy's scope, variables are made where it keeps them: $where.
with strategy.scope():
    $make"""
_SHOW = 'show(f"epoch {epoch + 1}/{arguments.epochs}", logs)'
_SAVE = """\
model.built = True  # also where its steps were called alone
model.save_weights(arguments.output / "last.weights.h5")"""
_TEST = """\
results = model.evaluate(test, callbacks=callbacks, verbose=0, return_dict=True)
$show"""
_SHOW_TEST = 'show("test", {f"test_{name}": value for name, value in results.items()})'


def fitting(fitted: FittedPlan) -> str:
    """The functions `train` and `main`, with the classes and functions that they use."""
    plan, facts, streamed = fitted.plan, fitted.facts, bool(fitted.seen.streamed)
    tested = fill(_TEST, show=_by_first(fitted, _SHOW_TEST))
    test = tested if "test" in fitted.splits else ""
    if streamed:
        test = f"if test is not None:\n{indented(tested, 4)}"
    written = written_as(plan)
    made = f"model = build_model({', '.join(model_parameters(fitted, fitted.epochs))})"
    names = fitted.splits
    one = len(names) == 1 and plan.data.python is None and not fitted.seen.nested
    make, callbacks = f"{made}\n{preparing(facts)}".rstrip(), "\n".join(callbacks_of(fitted))
    known = _known_steps(fitted) if "steps_per_epoch" in made + callbacks else ""
    whole = fill(
        _TRAIN,
        parameters="arguments, strategy" if facts.clusters else "arguments",
        strategy=_made_strategy(fitted),
        tell=_by_first(fitted, _SHOW),
        precision=precision(facts),
        splits=f"({names[0]},)" if one else ", ".join(names),
        tokens=_tokens(fitted),
        batches=_batched(fitted, known),
        scope=fill(_SCOPE, where=written.variables, make=make) if written.has_scope else make,
        generated=_generated(fitted),
        built="build_by_kinds(model, strategy, training)" if written.has_scope else "",
        shares=_doing_steps(fitted),
        placing=PLACING if facts.placed else "",
        slots=_before_fit(fitted),
        waiting="wait_for_data(model)" if _waits(fitted) else "",
        callbacks=callbacks,
        given="\n".join(_fit_arguments(fitted)),
        save=_by_first(fitted, _SAVE) if saves(facts) else "",
        test=test,
        main=main(facts),
    )
    rates = functions_of("callbacks/made.py", "rate_at") if "rate_at(" in whole else ""
    of_workers = fit_served(fitted) + fit_workers(fitted)
    show = SHOW_MEANS if any(each.several for each in fitted.learners.values()) else SHOW
    return f"{_used(fitted)}{of_workers}{rates}{show}\n\n{whole}"


def _used(fitted: FittedPlan) -> str:
    """Return the classes and functions that `train` uses beside those of workers and rates."""
    plan, facts, streamed = fitted.plan, fitted.facts, bool(fitted.seen.streamed)
    several = strategy_of(plan).replicates
    draws = fitted.draws and not facts.serves
    used = ""
    if draws:
        used = fill(_DRAWS, first=_first_step(fitted), place=_place_of_draws(facts))
    used += f"{phases(facts)}\n\n{phases_callback(facts)}" if plan.training.phases else ""
    used += _BUILT if written_as(plan).has_scope else ""
    used += AS_DATASET if _builds_first(fitted) and streamed else ""
    used += AFTER_DATA if _waits(fitted) else ""
    used += NEXT_ONES if streamed and plan.training.validation_steps else ""
    used += COPIED if several and streamed else ""
    used += functions_of("callbacks/answering.py", "make_readable") if _is_read(fitted) else ""
    return used + (_shares(fitted) if several else "")


def _made_strategy(fitted: FittedPlan) -> str:
    if fitted.facts.clusters:
        return SETUP if fitted.facts.agrees else SETUP_SERVED
    return "strategy = make_strategy()" if written_as(fitted.plan).has_scope else ""


def _by_first(fitted: FittedPlan, lines: str) -> str:
    """Return the lines as only one of several workers does them."""
    return f"if first:\n{indented(lines, 4)}" if fitted.facts.agrees else lines


def _before_fit(fitted: FittedPlan) -> str:
    if fitted.facts.clusters:
        return _STEP_BY_STEP
    if written_as(fitted.plan).has_scope or fitted.built.own_steps:
        return ""
    return _slots(fitted.facts)


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
            reducing=REDUCING,
            reduced=REDUCED,
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


def _first_step(fitted: FittedPlan) -> str:
    """Return the number of the first step: those of epochs that were before count, if known."""
    before = fitted.plan.training.initial_epoch
    return f'{before} * (self.params["steps"] or 0)' if before else "0"


def _tokens(fitted: FittedPlan) -> str:
    """Return the line that counts the tokens, where a built-in model has to know their number."""
    if not counts_tokens(fitted.facts):
        return ""
    names = ", ".join(fitted.splits) + ("," if len(fitted.splits) == 1 else "")
    return f"tokens = 1 + max(int(part[0].max()) for part in ({names}))"


def _waits(fitted: FittedPlan) -> bool:
    """Whether a step is to begin with its batch, of which there may be none."""
    return fitted.seen.of_unknown_length and not fitted.facts.serves


def _doing_steps(fitted: FittedPlan) -> str:
    """Return the lines that have replicas or workers do the steps as a run does them."""
    if fitted.facts.serves:
        return "numbers = serve_steps(model, strategy)"
    return _counting(fitted) if strategy_of(fitted.plan).replicates else ""


def _counting(fitted: FittedPlan) -> str:
    call = "count_by_samples(model)"
    counts = f"count = {call}" if fitted.plan.training.phases else call
    return f"{counts}\nmake_readable(model.optimizer)" if _is_read(fitted) else counts


def _is_read(fitted: FittedPlan) -> bool:
    """Whether callbacks of the user's own may read numbers that are mirrored over devices."""
    own = any(reference(each.name) for each in fitted.plan.training.callbacks)
    return own and strategy_of(fitted.plan).replicates and not fitted.built.own_steps


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
        skip = SKIPPED_OF_STREAM if fitted.facts.clusters else ""
        read_once = _READ_ONCE if once else ""
        named = {"skip": skip, "passed": _passed(fitted), "epochs": fitted.epochs}
        return fill(_STREAMED + read_once, asked=str(asked), known=known, **named)
    asked, clusters = fitted.plan.training.steps_per_epoch, fitted.facts.clusters
    if asked:
        begun = SKIPPED_OF_ARRAYS if clusters else "passes = itertools.count()"
        lines = [fill(_IN_PASSES, asked=str(asked), begun=begun)]
    else:
        at, epochs = "at", fitted.epochs
        at, epochs = (f"begun + {at}", f"{epochs} - begun") if clusters else (at, epochs)
        given = ["training", f"lambda at: order_of(samples, {at})", epochs]
        lines = [fill(_BATCHES, made=call("training = ", "batches", given, indent=4))]
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
        before = "" if seeds_generators(fitted) or _builds_first(fitted) else _LOOKED_AT
        given = f"validation, {most}{_passed(fitted)}"
        lines.append(fill(_HELD, before=before, given=given, copied=copied))
    return "\n".join(lines)


def _passed(fitted: FittedPlan) -> str:
    """Return the argument that says how many validations were before this start."""
    often = fitted.plan.training.validation_freq
    passed = f", begun // {often}" if often > 1 else ", begun"
    return passed if fitted.facts.clusters else ""


def _fit_arguments(fitted: FittedPlan) -> Iterator[str]:
    training = fitted.plan.training
    if fitted.facts.clusters:
        yield "initial_epoch=begun,"
    elif training.initial_epoch:
        yield f"initial_epoch={training.initial_epoch},"
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


def _preparing(fitted: FittedPlan) -> str:
    return prepared(fitted.facts)


FIT_PARTS = (own_functions, loading, building, _preparing, fit_placed, fitting)
"""What follows the parts that all scripts have in common: opening, devices, strategy."""
