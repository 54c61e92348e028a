"""What a script for `fit` has more where servers hold the variables, and workers do the steps.

`fit` runs in the coordinator: it reads the batches, goes through the epochs and calls the
callbacks. What it calls a step is handed to the workers here, by the rules of a run. They match
`trainer.served.program`: whoever changes one must change the other.
"""

from __future__ import annotations

from gpu_studio.export.fit_shares import JOINED, PARTS_OF_ALL, REDUCED, REDUCING, ROWS_ONCE
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.joined_updates import APPLYING, IN_ONE_PLACE
from gpu_studio.export.replica_steps import ASSIGNED
from gpu_studio.export.script_text import fill, functions_of
from gpu_studio.export.served_steps import AHEAD, REFUSALS
from gpu_studio.export.step_parts import SHARE
from gpu_studio.plan import reference

_CAUGHT = """\
class Caught(Assigned):
    \"\"\"Knows what layers have assigned, and what variables were before.\"\"\"

    def __init__(self, values):
        super().__init__(values, collect_losses=True)
        self.before, self.assigned = {**self.state_mapping}, {}

    def add_update(self, update):
        \"\"\"Keep what a variable is to become.\"\"\"
        super().add_update(update)
        self.assigned[id(update[0])] = update[0]

    def get_current_value(self, variable):
        \"\"\"The value here: regularizers ask for it, and take None for no value.\"\"\"
        value = super().get_current_value(variable)
        return variable._value if value is None else value


class Numbers(keras.callbacks.Callback):
    \"\"\"Numbers the steps, and the batches of a validation: layers draw by them.\"\"\"

    step = batch = 0

    def on_test_begin(self, logs=None):
        self.batch = 0


"""
_SERVE = """\
def serve_steps(model, strategy):
    \"\"\"Have the workers do the steps of `fit`, which reads the batches here.

    $how
    \"\"\"
    here, numbers, functions = threading.local(), Numbers(), {}
    workers = strategy._num_workers
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    dispatch = Dispatch(coordinator, AHEAD * workers)
    shared = keras.src.random.seed_generator.global_seed_generator()
    states = [v for v in model.variables if v.name == "seed_generator_state"]
    states = [v for v in states if v is not shared.state]
    seeds = [*(int(np.asarray(v)[0]) for v in states), SEED]
    states.append(shared.state)
    model.reset_metrics()
    measures = [v for metric in model.metrics for v in metric.variables]
    begun = [np.asarray(v) for v in measures]
    totals = []
    apart = {id(v) for v in (*states, *measures)}  # what no step writes
    reset, results = model.reset_metrics, model.get_metrics_result

    def add_up(value):
        # What counts in the whole batch, of which a worker may have a part.
        $counted

    $reducing

    $reduced

    def judged(batch, step, number, share, training):
        \"\"\"A loss, what layers leave, and what metrics count.\"\"\"
        x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
        rows = tf.shape(keras.tree.flatten(x)[0])[0]
        here.rows, here.share = tf.cast(rows, tf.float32), share
        $seeds
        # Random numbers follow from $place alone, so that any step can be done
        # again; a layer draws fewer than 4,096 times in one.
        draw = $draw * 4096
        drawn = [(state, tf.stack([seed, draw])) for state, seed in zip(states, seeds)]
        $read
        with Caught([*drawn, *zip(measures, begun)$also]) as caught:
            given = {"training": training} if model._call_has_training_arg else {}
            outputs = model(x, **given)
            loss = model._compute_loss(x, y, outputs, weights, training)
            model._loss_tracker.update_state(loss, sample_weight=rows)
            model.compute_metrics(x, y, outputs, weights)
        left = [caught.get_current_value(v) for v in measures]
        return loss, caught, [new - old for new, old in zip(left, begun)]

    def compiled(of, batch, *more):
        \"\"\"The function for batches of this kind, of any number of samples.\"\"\"

        def kind(each):
            return tf.TensorSpec([None, *each.shape[1:]], each.dtype)

        def replica(*given):
            return strategy.run(of, given)

        kinds = keras.tree.map_structure(kind, batch)
        key = of.__name__, str(kinds)
        if key not in functions:
            numbers = [tf.TensorSpec([None][: each.ndim], each.dtype) for each in more]
            given = [kinds, *numbers]
            made = tf.function(replica, autograph=False, input_signature=given)
            with strategy.scope():
                refuse_python(made.get_concrete_function().graph)
            functions[key] = made
        return functions[key]

    def count(added):
        for place, value in enumerate(added):
            totals[place] = totals[place] + np.asarray(value)

    def begin_counting():
        $settle
        reset()
        totals[:] = [value.astype("float64") for value in begun]

    def measured(logs=None):
        $settle
        pairs = [(v, each.astype(v.dtype)) for v, each in zip(measures, totals)]
        with keras.StatelessScope(pairs):
            return results()

    $steps

    def begin(force=False):
        # A later phase has another optimizer: its steps are compiled anew.
        if force or model.train_function is None:
            functions.clear()
            inner = getattr(model.optimizer, "inner_optimizer", model.optimizer)
            inner._all_reduce_sum_gradients = lambda pairs: pairs
            $begin
            model.train_function = train

    model.make_train_function, model.test_function = begin, test
    model.make_test_function = lambda force=False: None
    model.reset_metrics, model._get_metrics_result_or_logs = begin_counting, measured
    return numbers


"""
_HOW_ALONE = """\
Each worker does whole steps: it reads the weights, and changes them once it can, so
    that others may have changed them meanwhile."""
_HOW_TOGETHER = """\
Each has a part of a batch, and changes nothing: what all parts bring changes the
    weights once."""
_READ = """\
# Others may change it meanwhile: what is added is the difference to what was read.
held = [v for v in model.non_trainable_variables if id(v) not in apart]
read = [(variable, tf.identity(variable.value)) for variable in held]"""

_ALONE = """\
done = None  # what the optimizer's count will be when all steps are done

def trained(batch, step, number):
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        loss, caught, added = judged(batch, step, 0, tf.ones(()), training=True)
        loss = model.optimizer.scale_loss(loss)
    gradients = tape.gradient(loss, [v.value for v in weights])
    left = [v for v in caught.assigned.values() if id(v) not in apart]
    refuse_written(v.path for v in left if v.trainable)
    for variable in left:
        new, old = caught.get_current_value(variable), caught.before[id(variable)]
        variable.value.assign_add(new - old)
    with counted(model.optimizer, number):
        model.optimizer.apply(gradients, weights)
    return added

def evaluated(batch, step):
    return judged(batch, step, 0, tf.ones(()), training=False)[2]

def give(of, *given):
    while len(dispatch) >= dispatch.most:
        take()
    dispatch.give(compiled(of, *given), given)

def take():
    for added in dispatch.done():
        count(added)

def settle():
    nonlocal done
    while dispatch:
        take()
    if done is not None:
        model.optimizer.iterations.assign(done)
        done = None

def train(batches):
    nonlocal done
    batch = next(batches)
    done = int(np.asarray(model.optimizer.iterations)) if done is None else done
    placed = tf.constant(numbers.step, tf.int64), tf.constant(done, tf.int64)
    give(trained, batch, *placed)
    done += 1
    numbers.step += 1
    # Whoever ends a training on a loss that is no number hears of it at once.
    return {} if np.isfinite(totals[0]) else {"loss": totals[0]}

def test(batches):
    batch = next(batches)
    numbers.batch += 1
    give(evaluated, batch, tf.constant(-numbers.batch, tf.int64))
    return {}"""

_TOGETHER = """\
learning, changing = [], []  # the variables that a step changes
asks = {}  # whether a step asks what counts in all parts, by whether it trains

def computed(batch, step, number, share, counts):
    here.counts, here.asked = counts, []
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        loss, caught, added = judged(batch, step, number, share, training=True)
        loss = model.optimizer.scale_loss(loss)
    found = tape.gradient(loss, [v.value for v in weights])
    pairs = [(g, v) for g, v in zip(found, weights) if g is not None]
    learning[:] = [v for _, v in pairs]
    changing[:] = [v for v in caught.assigned.values() if id(v) not in apart]
    left = [(v.value, caught.get_current_value(v), v.aggregation) for v in changing]
    # Means over the parts count by their share of the samples, and so do gradients.
    shared_out = [tf.math.scalar_mul(tf.cast(share, g.dtype), g) for g, _ in pairs]
    changes = [change_of(*each, number, share) for each in left]
    asks[True] = len(here.asked) > 0
    return added, [plain_of(g) for g in shared_out], changes

def evaluated(batch, step, number, share, counts):
    here.counts, here.asked = counts, []
    found = (judged(batch, step, number, share, training=False)[2],)
    asks[False] = len(here.asked) > 0
    return found

def counts_of(batch, step, number, share, training):
    \"\"\"What counts in a part, in the order in which it is asked for.\"\"\"
    here.counts, here.asked = None, []
    judged(batch, step, number, share, training)
    return tf.stack(here.asked)

def counts_trained(*part):
    return counts_of(*part, training=True)

def counts_evaluated(*part):
    return counts_of(*part, training=False)

def update(gradients, changes):
    for variable, parts in zip(changing, zip(*changes)):
        variable.value.assign(joined(variable.value, tf.add_n(parts)))
    pairs = zip(learning, zip(*gradients))
    summed = [sum_of_parts(parts, variable.shape) for variable, parts in pairs]
    with strategy.scope():
        in_one_place(applying(model.optimizer), summed, learning)

def part_of(batch, rows):
    return keras.tree.map_structure(lambda each: each[rows], batch)

def done(of, arguments):
    \"\"\"What the workers make of all parts.\"\"\"
    given = [dispatch.give(compiled(of, *each), each) for each in arguments]
    return [dispatch.result(each) for each in given]

def done_in_parts(of, batch, step):
    \"\"\"What the workers make of a batch, of which each has a part.\"\"\"
    size, parts = len(keras.tree.flatten(batch)[0]), []
    shared_out = np.array_split(np.arange(size), min(size, workers))
    for number, rows in enumerate(shared_out):
        part = part_of(batch, slice(rows[0], rows[-1] + 1))
        share = tf.constant(len(rows) / size, tf.float32)
        numbered = tf.constant(step, tf.int64), tf.constant(number, tf.int64)
        parts.append((part, *numbered, share))
    counts = tf.zeros([0])
    compiled(of, *parts[0], counts)
    if asks[of is computed]:
        counting = counts_trained if of is computed else counts_evaluated
        counts = tf.add_n(done(counting, parts))
    found = done(of, [(*each, counts) for each in parts])
    for added, *_ in found:
        count(added)
    return found

def train(batches):
    found = done_in_parts(computed, next(batches), numbers.step)
    numbers.step += 1
    functions["update"]([each[1] for each in found], [each[2] for each in found])
    return measured()

def test(batches):
    batch = next(batches)
    numbers.batch += 1
    done_in_parts(evaluated, batch, -numbers.batch)
    return measured()"""

_COUNTED = """\
here.asked.append(value)
return value if here.counts is None else here.counts[len(here.asked) - 1]"""
_COMPILED = """\
joins = tf.function(update, autograph=False, reduce_retracing=True)
functions["update"] = joins"""

_REFUSED_STEPS = """\
def refuse_at_steps(seen):
    \"\"\"End the script where one of these callbacks is called at each step.\"\"\"
    hooks = "on_train_batch_begin", "on_train_batch_end"
    names = [
        f"{type(each).__name__} of {name}"
        for name, made in seen.items()
        for each in keras.tree.flatten(made)
        if overrides(each, hooks)
    ]
    refuse_callbacks(" and ".join(names))


"""


def fit_served(fitted: FittedPlan) -> str:
    """The functions by which workers do the steps of `fit`; empty without servers."""
    facts = fitted.facts
    if not facts.serves:
        return ""
    alone = facts.apart
    serve = fill(
        _SERVE,
        how=_HOW_ALONE if alone else _HOW_TOGETHER,
        counted="return value" if alone else _COUNTED,
        reducing=REDUCING,
        reduced=REDUCED,
        seeds=SHARE,
        place="the step" if alone else "the step and the part",
        draw="step" if alone else "(step * workers + number)",
        read=_READ if alone else "",
        also=", *read" if alone else "",
        settle="settle()" if alone else "",
        steps=_ALONE if alone else _TOGETHER,
        begin="refuse_alone(model, model.optimizer)" if alone else _COMPILED,
    )
    parts = [REFUSALS, ROWS_ONCE, PARTS_OF_ALL]
    if alone and any(reference(each.name) for each in fitted.plan.training.callbacks):
        parts.append(functions_of("served/refusals.py", "refuse_callbacks"))
        parts.append(functions_of("callbacks/hooks.py", "is_terminating", "overrides"))
        parts.append(_REFUSED_STEPS)
    if not alone:
        parts += [functions_of("served/program.py", "plain_of", "sum_of_parts")]
        parts += [IN_ONE_PLACE, APPLYING, JOINED]
    return "".join([*parts, AHEAD, "\n\n", ASSIGNED, _CAUGHT, serve])
