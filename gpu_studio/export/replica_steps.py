"""The compiled steps over several replicas: of a built-in model, and of a user's own.

The layers of a user's model may do whatever Keras allows. Its steps match `trainer.program` and
`trainer.layer_state`: whoever changes one must change the other.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_shares import JOINED, OF_BATCH
from gpu_studio.export.script_text import fill
from gpu_studio.export.step_parts import SHARE, drawn_in_replica, scaling

_TRAIN = """\
def train_replica(x, y, weight$step):
    \"\"\"What each replica does with its part of a batch.\"\"\"
    $random
    with tf.GradientTape() as tape:
        $forward
        # With weights of 1 / batch size the replicas' losses add up to the mean of
        # the batch, and so do their gradients.
        loss = tf.reduce_sum(weight * loss_of(y, outputs))
        $scaled
    gradients = tape.gradient($target, model.trainable_variables)
    $sum
    optimizer.apply(gradients, model.trainable_variables)
    $caught
    return loss$outputs$statistics

@traced_once
@tf.function(reduce_retracing=True)
def train_step(x, y, weight$step):
    losses$outputs$statistics = strategy.run(train_replica, args=(x, y, weight$step))
    $write
    $count
    return strategy.reduce("SUM", losses, axis=None)"""

_EVALUATE = """\
def evaluate_replica(x, y, weight):
    outputs = model(x, training=False)
    loss = tf.reduce_sum(weight * loss_of(y, outputs))
    return loss$outputs

@traced_once
@tf.function(reduce_retracing=True)
def evaluate_step(x, y, weight):
    losses$outputs = strategy.run(evaluate_replica, args=(x, y, weight))
    $count
    return strategy.reduce("SUM", losses, axis=None)"""

_COUNT = """\
def count_in(y, outputs, weight):
    # The metrics are ordinary variables, outside of the strategy: they count alike
    # under each. They see what all replicas saw, except samples that weigh nothing.
    seen = map(strategy.experimental_local_results, (y, outputs, weight))
    for each_y, each_outputs, each_weight in zip(*seen):
        update_metrics(each_y, each_outputs, tf.cast(each_weight > 0, tf.float32))

"""

_SCOPE = """\
# Replicas may not write variables while the model is called: a scope catches
# what layers change$and_seeds.
with keras.StatelessScope($mapping)$as_scope:
    outputs = model(x, training=True)"""

_SUM_HERE = """\
# Keras would $what each replica's gradients and add them up after that, which
# trains another model on four devices than on one. The steps add them up first, and
# Keras, which has no public way to be told so, is left with nothing to add up.
inner = getattr(optimizer, "inner_optimizer", optimizer)
inner._all_reduce_sum_gradients = lambda pairs: pairs"""

_SUM = """\
context = tf.distribute.get_replica_context()
gradients = context.all_reduce("SUM", gradients)"""

_CAUGHT = """\
share = tf.reduce_sum(weight)  # of the samples of the batch
caught = {}
for number, variable in enumerate(model.non_trainable_weights):
    value = scope.get_current_value(variable)
    if value is not None:
        caught[str(number)] = value * share"""

_WRITE = """\
# Statistics of what the replicas saw (batch normalisation's) become their mean.
for number, values in caught.items():
    mean = strategy.reduce("SUM", values, axis=None)
    model.non_trainable_weights[int(number)].assign(mean)"""


def steps_of(facts: ScriptFacts) -> tuple[str, str]:
    """Return the step of training and the step of evaluation."""
    if facts.from_file:
        return counting(facts) + own_train(facts), own_evaluate(facts)
    return counting(facts) + train(facts), evaluate(facts)


def train(facts: ScriptFacts) -> str:
    """The functions `train_replica` and `train_step`."""
    keeps = ", caught" if facts.keeps_statistics else ""
    return fill(
        _TRAIN,
        step=", step" if facts.draws else "",
        random=drawn_in_replica(facts),
        forward=_forward(facts),
        sum=_SUM if facts.sums_first else "",
        caught=_CAUGHT if keeps else "",
        statistics=keeps,
        write=_WRITE if keeps else "",
        **scaling(facts),
        **counted(facts),
    )


def evaluate(facts: ScriptFacts) -> str:
    """The functions `evaluate_replica` and `evaluate_step`."""
    return fill(_EVALUATE, **counted(facts))


def counting(facts: ScriptFacts) -> str:
    """Return the function `count_in`; empty for a plan without metrics."""
    return _COUNT if facts.plan.training.metrics else ""


def counted(facts: ScriptFacts) -> dict[str, str]:
    """Return what a step does for the metrics; empty if there are none."""
    there = bool(facts.plan.training.metrics)
    return {
        "outputs": ", outputs" if there else "",
        "count": "count_in(y, outputs, weight)" if there else "",
    }


def _forward(facts: ScriptFacts) -> str:
    if not facts.draws and not facts.keeps_statistics:
        return "outputs = model(x, training=True)"
    return fill(
        _SCOPE,
        mapping="drawn" if facts.draws else "",
        and_seeds=", and gives them their random states" if facts.draws else "",
        as_scope=" as scope" if facts.keeps_statistics else "",
    )


def replicas(facts: ScriptFacts) -> str:
    """Return the line that counts the replicas, where a step needs their number."""
    return "replicas = strategy.num_replicas_in_sync" if facts.draws and facts.several else ""


def summing(facts: ScriptFacts) -> str:
    """Return the lines that keep Keras from summing gradients that are summed already."""
    return fill(_SUM_HERE, what=_what_first(facts)) if facts.sums_first else ""


def _what_first(facts: ScriptFacts) -> str:
    """Say what Keras would do with the gradients of each replica before it sums them."""
    if facts.plan.training.mixed_precision and not facts.clips:
        return "look for infinities in"
    return "clip" if facts.clips or not facts.joins else "accumulate"


_TAKEN = """\
CONSTRAINTS = []  # weights, and what keeps each in its bounds


"""
ASSIGNED = """\
class Assigned(keras.StatelessScope):
    \"\"\"Catches what layers assign: replicas may not write while the model is called.\"\"\"

    def add_update(self, update):
        \"\"\"Keep what a variable is to become; until then it reads as that.\"\"\"
        variable, value = update
        known = id(variable) in self.state_mapping
        if variable.name == "seed_generator_state" and not known:
            raise ValueError("Keep each SeedGenerator as an attribute of its layer.")
        if variable.trainable:
            # The gradient goes to the variable, as if it had been written, then read.
            # (`variable.value` might be cast to 16 bits here.)
            before = tf.convert_to_tensor(variable._value)
            value = before + tf.stop_gradient(value - before)
        super().add_update((variable, value))


"""
"""The class that catches what layers assign."""
PENALTY_OF = """\
def penalty_of(model, assigned, share):
    \"\"\"What layers and regularizers add to the loss: this replica's part of it.\"\"\"
    weights = [v for v in model.trainable_variables if v.regularizer is not None]
    terms = [*assigned.losses, *(v.regularizer(v) for v in weights)]
    return tf.add_n([of_batch(term, share) for term in terms]) if terms else 0.0


"""
"""The function of what layers and regularizers add to a loss."""
_CHANGES = """\
def changes_in(model, assigned, share):
    \"\"\"The replica's part of what its layers change, by the variable's number.\"\"\"
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    changes = {}
    for number, variable in enumerate(model.variables):
        value = assigned.get_current_value(variable)
        if value is not None and variable.name != "seed_generator_state":
            old, way = variable.value, variable.aggregation
            changes[str(number)] = change_of(old, value, way, replica, share)
    return changes


def write(strategy, model, changes):
    \"\"\"Change what layers have assigned, once for all replicas.\"\"\"
    for number, parts in changes.items():
        variable = model.variables[int(number)]
        total = strategy.reduce("SUM", parts, axis=None)
        variable.assign(joined(variable.value, total))


def constrain(strategy, constraints):
    \"\"\"Put the weights back into the bounds that their layers set.\"\"\"
    for variable, constraint in constraints:
        variable.assign(constraint(variable.value))
"""

_TAKEN_OFF = """\
# The optimizer would have each replica write what a constraint gives, which not every
# strategy allows: the steps do it instead.
for variable in model.trainable_variables:
    if variable.constraint:
        CONSTRAINTS.append((variable, variable.constraint))
        variable.constraint = None
constraints = [each for each in CONSTRAINTS if each[0].trainable]"""

_OWN_TRAIN = """\
def judged(x, y, weight, step, training):
    \"\"\"A replica's part of the loss, its outputs, and what its layers change.\"\"\"
    $share
    $random
    share = tf.reduce_sum(weight)  # of the samples of the batch
    with Assigned(drawn, collect_losses=True) as assigned:
        outputs = outputs_of(x, training)
        penalty = penalty_of(model, assigned, share)
    # With weights of 1 / batch size the replicas' losses add up to the mean of the
    # batch, and so do their gradients.
    loss = tf.reduce_sum(weight * loss_of(y, outputs)) + penalty
    return loss, outputs, changes_in(model, assigned, share)

def train_replica(x, y, weight, step):
    \"\"\"What each replica does with its part of a batch.\"\"\"
    context = tf.distribute.get_replica_context()
    with tf.GradientTape() as tape:
        loss, outputs, changes = judged(x, y, weight, step, training=True)
        $scaled
    gradients = tape.gradient($target, model.trainable_variables)
    $sum
    # Before the update, which changes the state that the layers leave.
    context.merge_call(write, args=(model, changes))
    optimizer.apply(gradients, model.trainable_variables)
    context.merge_call(constrain, args=(constraints,))
    return loss$outputs

$step"""

_OWN_SUM = 'gradients = context.all_reduce("SUM", gradients)'

_OWN_EVALUATE = """\
def evaluate_replica(x, y, weight, step):
    loss, outputs, changes = judged(x, y, weight, step, training=False)
    context = tf.distribute.get_replica_context()
    context.merge_call(write, args=(model, changes))
    return loss$outputs

$step"""

_STEP = """\
@traced_once
@tf.function(reduce_retracing=True)
def $name(x, y, weight, step):
    losses$outputs = strategy.run($replica, args=(x, y, weight, step))
    $count
    return strategy.reduce("SUM", losses, axis=None)"""


def helpers(facts: ScriptFacts) -> str:
    """Return the lines before `make_steps`; empty for plans that need other steps."""
    return (
        f"{JOINED}{OF_BATCH}{_TAKEN}{ASSIGNED}{PENALTY_OF}{_CHANGES}\n"
        if facts.from_file and facts.several
        else ""
    )


def constraints(facts: ScriptFacts) -> str:
    """Return the lines that remove the constraints from the weights.

    Empty for plans that need other steps.
    """
    return _TAKEN_OFF if facts.from_file and facts.several else ""


def own_train(facts: ScriptFacts) -> str:
    """The functions `judged`, `train_replica` and `train_step`."""
    return fill(
        _OWN_TRAIN,
        share=SHARE,
        random=drawn_in_replica(facts),
        sum=_OWN_SUM if facts.sums_first else "",
        step=_step(facts, "train"),
        outputs=counted(facts)["outputs"],
        **scaling(facts),
    )


def own_evaluate(facts: ScriptFacts) -> str:
    """The functions `evaluate_replica` and `evaluate_step`."""
    return fill(_OWN_EVALUATE, step=_step(facts, "evaluate"), outputs=counted(facts)["outputs"])


def _step(facts: ScriptFacts, way: str) -> str:
    """Return the compiled function that runs the given function on all replicas."""
    return fill(_STEP, name=f"{way}_step", replica=f"{way}_replica", **counted(facts))
