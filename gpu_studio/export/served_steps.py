"""The steps of a script with parameter servers: the coordinator gives them to the workers.

They match `trainer.served.program`: whoever changes one must change the other.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_shares import JOINED, OF_BATCH, ROWS_ONCE
from gpu_studio.export.joined_updates import APPLYING, IN_ONE_PLACE
from gpu_studio.export.replica_steps import ASSIGNED, PENALTY_OF
from gpu_studio.export.script_text import fill, functions_of
from gpu_studio.export.step_parts import SHARE, called, scaling
from gpu_studio.export.tracing import KINDS_OF
from gpu_studio.plan import reference

REFUSALS = """\
class PlanRefused(SystemExit):
    \"\"\"Ends the script: a sentence says why, and others what to do.\"\"\"

    _keras_call_info_injected = True  # or Keras would raise an error of its own instead

    def __init__(self, why, advice):
        super().__init__(" ".join([why, *advice]))


""" + functions_of(
    "served/refusals.py",
    "updated_together",
    "refuse_alone",
    "refuse_overwriting",
    "refuse_written",
    "refuse_python",
    "operations_in",
)
AHEAD = """\
AHEAD = 2  # steps that a worker has been given: the one that it does, and the next
"""
_BEFORE = """\
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
workers = strategy._num_workers
dispatch = Dispatch(coordinator, AHEAD * workers)
# Gradients are summed before Keras gets them, or are those of a whole step.
inner = getattr(optimizer, "inner_optimizer", optimizer)
inner._all_reduce_sum_gradients = lambda pairs: pairs
$refuse
$measures"""
_MEASURES = "measures = [v for metric in metrics for v in metric.variables]"

_COUNTING = """\
def measured(y, outputs$weight):
    \"\"\"What the metrics count of some samples: the coordinator adds it to theirs.\"\"\"
    nothing = [(each, tf.zeros(each.shape, each.dtype)) for each in measures]
    with keras.StatelessScope(nothing) as counted_here:
        update_metrics(y, outputs$seen)
    return [counted_here.get_current_value(each) for each in measures]

def count_in(added):
    for variable, value in zip(measures, added):
        variable.assign_add(value)

"""

_DRAWN = """\
# Random numbers follow from $place alone, so that any step can be done again; a layer
# draws fewer than 4,096 times in one.
draw = $number * 4096
drawn = [(state, tf.stack([seed, draw])) for state, seed in zip(states, seeds)]"""
_REFUSE_WRITTEN = """\
trained = [(v.path, caught.get_current_value(v)) for v in model.trainable_variables]
refuse_written(path for path, value in trained if value is not None)"""
_TRACE = """\
traced = []  # the steps that are compiled, each of them once

def trace(step, batch):
    \"\"\"Compile a step before its first batch, for batches of any size.\"\"\"
    if step not in traced:
        with strategy.scope():
            $made
        traced.append(step)

"""

_JUDGED_ALONE = """\
def judged(x, y, step, training):
    \"\"\"A batch's loss, what metrics count, and what layers add to what they keep.\"\"\"
    $share
    $drawn
    # Others may change it meanwhile: what is added is the difference to what was read.
    held = model.non_trainable_variables
    held = [each for each in held if each.name != "seed_generator_state"]
    read = [(variable, tf.identity(variable.value)) for variable in held]
    with $scope as caught:
        outputs = $model
        $penalty
    $refuse
    left = [(v, caught.get_current_value(v), old) for v, old in read]
    added = [(v, new - old) for v, new, old in left if new is not old]
    return tf.reduce_mean(loss_of(y, outputs))$add_penalty, $measured, added

"""
_JUDGED_PLAINLY = """\
def judged(x, y, step, training):
    outputs = $model
    return tf.reduce_mean(loss_of(y, outputs)), $measured, []

"""
_TRAIN_ALONE = """\
def train_replica(x, y, step, number):
    with tf.GradientTape() as tape:
        loss, counts, added = judged(x, y, step, training=True)
        $scaled
    weights = model.trainable_variables
    gradients = tape.gradient($target, [each.value for each in weights])
    for variable, change in added:
        variable.value.assign_add(change)
    with counted(optimizer, number):
        optimizer.apply(gradients, weights)
    return loss, counts

@tf.function(reduce_retracing=True)
def train_alone(x, y, step, number):
    \"\"\"A whole step: a worker reads the weights, and changes them once it can.\"\"\"
    return strategy.run(train_replica, args=(x, y, step, number))

done = None  # what the optimizer's count will be when all steps are done

def give(function, *batch):
    \"\"\"Give a batch to a worker, once one can take it; what is to come of it.\"\"\"
    while len(dispatch) >= dispatch.most:
        take()
    trace(function, batch)
    return dispatch.give(function, batch)

def take():
    \"\"\"Wait until a step is done.\"\"\"
    for _, added in dispatch.done():
        $count

def train_step(x, y, step):
    nonlocal done
    done = int(optimizer.iterations.numpy()) if done is None else done
    number, done = tf.constant(done, tf.int64), done + 1
    return give(train_alone, x, y, tf.constant(step, tf.int64), number)

def settle(losses):
    \"\"\"The losses as numbers, once all steps are done.\"\"\"
    nonlocal done
    while dispatch:
        take()
    if done is not None:
        optimizer.iterations.assign(done)
        done = None
    futures = [each for each in losses if not isinstance(each, float)]
    known = losses[: len(losses) - len(futures)]  # of an earlier start
    return [*known, *(float(each.result()[0]) for each in futures)]"""
_EVALUATE_ALONE = """\
def evaluate_replica(x, y$step):
    loss, counts, _ = judged(x, y, $given, training=False)
    return loss, counts

@tf.function(reduce_retracing=True)
def evaluate_alone(x, y$step):
    return strategy.run(evaluate_replica, args=(x, y$step))

def evaluate_step(x, y$step):
    return give(evaluate_alone, x, y$step)"""

_JUDGED_PART = """\
def judged(x, y, weight, step, part, training):
    \"\"\"A part's loss, what metrics count of it, and what its layers change.\"\"\"
    $share
    $drawn
    share = tf.reduce_sum(weight)  # of the samples of the batch
    with $scope as caught:
        outputs = $model
        $penalty
    # With weights of 1 / batch size the losses of the parts add up to the mean of the
    # batch, and so do their gradients.
    loss = tf.reduce_sum(weight * loss_of(y, outputs))$add_penalty
    changes = []
    for variable in model.variables:
        new, old = caught.get_current_value(variable), variable.value
        if new is not None and variable.name != "seed_generator_state":
            change = change_of(old, new, variable.aggregation, part, share)
            changes.append((variable, change))
    return loss, $measured, changes

"""
_JUDGED_PART_PLAINLY = """\
def judged(x, y, weight, step, part, training):
    outputs = $model
    # With weights of 1 / batch size the losses of the parts add up to the mean of the
    # batch, and so do their gradients.
    return tf.reduce_sum(weight * loss_of(y, outputs)), $measured, []

"""
_TRAIN_TOGETHER = """\
learning, changing = [], []  # the variables that a step changes

def compute_replica(x, y, weight, step, part):
    with tf.GradientTape() as tape:
        loss, counts, changes = judged(x, y, weight, step, part, training=True)
        $scaled
    weights = model.trainable_variables
    found = tape.gradient($target, [each.value for each in weights])
    pairs = [(plain_of(g), v) for g, v in zip(found, weights) if g is not None]
    learning[:], changing[:] = [v for _, v in pairs], [v for v, _ in changes]
    return loss, counts, [g for g, _ in pairs], [change for _, change in changes]

@tf.function(reduce_retracing=True)
def compute_part(x, y, weight, step, part):
    \"\"\"A worker's part of a step: it reads the weights, and changes nothing.\"\"\"
    return strategy.run(compute_replica, args=(x, y, weight, step, part))

@tf.function(reduce_retracing=True)
def update(gradients, changes):
    \"\"\"Change the variables once, by what all parts have brought: no worker does.\"\"\"
    for variable, parts in zip(changing, zip(*changes)):
        variable.value.assign(joined(variable.value, tf.add_n(parts)))
    pairs = zip(learning, zip(*gradients))
    summed = [sum_of_parts(parts, variable.shape) for variable, parts in pairs]
    with strategy.scope():
        in_one_place($apply, summed, learning)

def done_in_parts(function, x, y, step):
    \"\"\"What the workers have made of a batch, of which each has had a part.\"\"\"
    given = []
    for number, part in enumerate(cut(x, y, workers)):
        batch = *part, step, tf.constant(number, tf.int64)
        trace(function, batch)
        given.append(dispatch.give(function, batch))
    found = [dispatch.result(each) for each in given]
    $count_all
    return found

def train_step(x, y, step):
    found = done_in_parts(compute_part, x, y, tf.constant(step, tf.int64))
    update([each[2] for each in found], [each[3] for each in found])
    return sum(float(each[0]) for each in found)"""
_EVALUATE_TOGETHER = """\
def evaluate_replica(x, y, weight, step, part):
    loss, counts, _ = judged(x, y, weight, step, part, training=False)
    return loss, counts

@tf.function(reduce_retracing=True)
def evaluate_part(x, y, weight, step, part):
    return strategy.run(evaluate_replica, args=(x, y, weight, step, part))

def evaluate_step(x, y$step):
    found = done_in_parts(evaluate_part, x, y, $given)
    return sum(float(each[0]) for each in found)"""
_COUNT_ALL = """\
for each in found:
    count_in(each[1])"""


def before(facts: ScriptFacts) -> str:
    """Return the lines before the steps."""
    made = fill(
        _BEFORE,
        measures=_MEASURES if facts.plan.training.metrics else "",
        refuse="refuse_alone(model, optimizer)" if facts.apart and _may_be_refused(facts) else "",
    )
    return made.rstrip("\n")


def helpers(facts: ScriptFacts) -> str:
    """Return the functions that the steps call."""
    parts = [KINDS_OF, REFUSALS if _may_be_refused(facts) else ""]
    if not facts.apart:
        parts += [ROWS_ONCE, functions_of("served/program.py", "plain_of", "sum_of_parts")]
        parts += [IN_ONE_PLACE, APPLYING if _may_scale(facts) else "", JOINED]
    if facts.from_file:
        parts += [OF_BATCH, ASSIGNED, PENALTY_OF]
    return "".join([*parts, AHEAD, "\n"])


def steps_of(facts: ScriptFacts) -> tuple[str, str]:
    """Return the step of training and the step of evaluation."""
    train, evaluate = _TEXTS[facts.apart]
    counting = _counting(facts)
    words = {
        "step": ", step" if facts.numbers_evaluation else "",
        "given": "step" if facts.numbers_evaluation else "tf.constant(-1, tf.int64)",
    }
    made = fill(
        train,
        count="count_in(added)" if counting else "pass",
        count_all=_COUNT_ALL if counting else "",
        apply="applying(optimizer)" if _may_scale(facts) else "optimizer.apply",
        **scaling(facts),
    )
    return counting + _judged(facts) + _trace(facts) + made, fill(evaluate, **words)


_TEXTS = {True: (_TRAIN_ALONE, _EVALUATE_ALONE), False: (_TRAIN_TOGETHER, _EVALUATE_TOGETHER)}


def _catches(facts: ScriptFacts) -> bool:
    """Whether layers draw, or keep something."""
    return facts.draws or facts.keeps_statistics


def _judged(facts: ScriptFacts) -> str:
    """Return the function that computes a loss."""
    model = called(facts, "training")
    if not _catches(facts):
        plainly = _JUDGED_PLAINLY if facts.apart else _JUDGED_PART_PLAINLY
        return fill(plainly, model=model, measured=_measured(facts))
    held = [*(["*drawn"] if facts.draws else []), *(["*read"] if facts.apart else [])]
    mapping = f"[{', '.join(held)}]"
    own = f"Assigned({mapping}, collect_losses=True)"
    place, number = ("the step", "step")
    if not facts.apart:
        place, number = "the step and the part", "(step * workers + part)"
    of = "1.0" if facts.apart else "share"
    drawn = fill(_DRAWN, place=place, number=number) if facts.draws else ""
    return fill(
        _JUDGED_ALONE if facts.apart else _JUDGED_PART,
        measured=_measured(facts),
        share=SHARE if facts.from_file else "",
        drawn=drawn,
        scope=own if facts.from_file else f"keras.StatelessScope({mapping})",
        model=model,
        penalty=f"penalty = penalty_of(model, caught, {of})" if facts.from_file else "",
        add_penalty=" + penalty" if facts.from_file else "",
        refuse=_REFUSE_WRITTEN if facts.from_file else "",
    )


def _counting(facts: ScriptFacts) -> str:
    if not facts.plan.training.metrics:
        return ""
    seen = "" if facts.apart else ", tf.cast(weight > 0, tf.float32)"
    return fill(_COUNTING, weight="" if facts.apart else ", weight", seen=seen)


def _measured(facts: ScriptFacts) -> str:
    if not facts.plan.training.metrics:
        return "[]"
    return "measured(y, outputs)" if facts.apart else "measured(y, outputs, weight)"


def _may_be_refused(facts: ScriptFacts) -> bool:
    """Whether a run may refuse the model or the optimizer once it has them."""
    return facts.from_file or _may_scale(facts)


def _may_scale(facts: ScriptFacts) -> bool:
    """Whether the optimizer is the user's own, which may scale losses: workers use no float16."""
    return reference(facts.plan.training.optimizer) is not None


def _trace(facts: ScriptFacts) -> str:
    """Return the function that compiles a step, and looks at what one of a user's own does."""
    made = "step.get_concrete_function(*kinds_of(batch))"
    return fill(_TRACE, made=f"refuse_python({made}.graph)" if _may_be_refused(facts) else made)
