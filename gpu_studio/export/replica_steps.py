"""The compiled steps over several replicas."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.forward import SCALED, called
from gpu_studio.export.random_state import sharing

_TRAIN = """\
def train_replica(x, y, weight$step):
    \"\"\"What each replica does with its part of a batch.\"\"\"
    $sharing
    $random
    with tf.GradientTape() as tape:
        $forward
        # With weights of 1 / batch size the replicas' losses add up to the mean of
        # the batch, and so do their gradients.
        loss = tf.reduce_sum(weight * loss_of(y, outputs))
        $penalty
        $scaled
    gradients = tape.gradient($target, model.trainable_variables)
    $sum
    optimizer.apply(gradients, model.trainable_variables)
    $caught
    return loss$outputs$statistics

@tf.function(reduce_retracing=True)
def train_step(x, y, weight$step):
    $results = strategy.run(train_replica, args=(x, y, weight$step))
    $write
    $count
    return strategy.reduce("SUM", losses, axis=None)"""

_EVALUATE = """\
def evaluate_replica(x, y, weight$step):
    $sharing
    $random
    $forward
    loss = tf.reduce_sum(weight * loss_of(y, outputs))
    $penalty
    return loss$outputs

@tf.function(reduce_retracing=True)
def evaluate_step(x, y, weight$step):
    losses$outputs = strategy.run(evaluate_replica, args=(x, y, weight$step))
    $count
    return strategy.reduce("SUM", losses, axis=None)"""

_COUNT = """\
def count_in(y, outputs, weight):
    # The metrics are ordinary variables, outside of the strategy: they count alike
    # under each. They are shown what all replicas saw, but for what weighs nothing.
    seen = map(strategy.experimental_local_results, (y, outputs, weight))
    for each_y, each_outputs, each_weight in zip(*seen):
        update_metrics(each_y, each_outputs, tf.cast(each_weight > 0, tf.float32))

"""

_COUNT_IN = "count_in(y, outputs, weight)"

_SCOPE = """\
# Replicas may not write variables while the model is called: a scope catches
# what layers change$and_seeds.
with keras.StatelessScope($mapping)$as_scope:
    outputs = $model"""

_RANDOM = """\
# Random numbers follow from the step and the replica alone, so that any step can be done
# again; a layer draws fewer than 4,096 times in one.
replica = tf.distribute.get_replica_context().replica_id_in_sync_group
draw = (step * replicas + tf.cast(replica, tf.int64)) * 4096
drawn = [(state, tf.stack([seed, draw])) for state, seed in zip(states, seeds)]"""

_PENALTY = """\
# What layers and regularizers add to the loss, by the replica's share of the samples.
trainable = model.trainable_variables
terms = [v.regularizer(v) for v in trainable if v.regularizer is not None]
penalty = sum(map(tf.reduce_sum, terms + scope.losses))
loss += tf.cast(penalty, tf.float32) * tf.reduce_sum(weight)"""

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

_CAUGHT_CHANGES = """\
share = tf.reduce_sum(weight)  # of the samples of the batch
caught = {}
for number, variable in enumerate(model.non_trainable_weights):
    value = scope.get_current_value(variable)
    if value is not None:
        part = tf.sign(share) if variable.aggregation == "sum" else share
        change = tf.cast(value, tf.float64)
        change -= tf.cast(variable.value, tf.float64)
        caught[str(number)] = change * tf.cast(part, tf.float64)"""

_WRITE_CHANGES = """\
# What layers keep (batch normalisation's statistics) changes by the mean of what the
# replicas changed, or by all of it where it is a sum.
for number, changes in caught.items():
    variable = model.non_trainable_weights[int(number)]
    value = tf.cast(variable.value, tf.float64)
    value += strategy.reduce("SUM", changes, axis=None)
    value = value if "float" in variable.dtype else tf.round(value)
    variable.assign(tf.cast(value, variable.dtype))"""


def train(facts: Facts) -> str:
    """The functions `train_replica` and `train_step`."""
    outputs = ", outputs" if facts.plan.training.metrics else ""
    return fill(
        _TRAIN,
        step=", step" if facts.draws else "",
        sharing=sharing(facts),
        random=_RANDOM if facts.draws else "",
        forward=_forward(facts, "True"),
        penalty=_PENALTY if facts.from_file else "",
        scaled=SCALED if facts.scales else "",
        target="scaled" if facts.scales else "loss",
        sum=_SUM if facts.sums_first else "",
        caught=_caught(facts),
        statistics=", caught" if facts.keeps_statistics else "",
        results="losses" + outputs + (", caught" if facts.keeps_statistics else ""),
        outputs=outputs,
        write=_write(facts),
        count=_COUNT_IN if facts.plan.training.metrics else "",
    )


def counting(facts: Facts) -> str:
    """The function `count_in`; empty for a plan without metrics."""
    return _COUNT if facts.plan.training.metrics else ""


def evaluate(facts: Facts) -> str:
    """The functions `evaluate_replica` and `evaluate_step`."""
    metrics = bool(facts.plan.training.metrics)
    outputs, count = (", outputs", _COUNT_IN) if metrics else ("", "")
    numbered = facts.numbers_evaluation
    return fill(
        _EVALUATE,
        step=", step" if numbered else "",
        sharing=sharing(facts),
        random=_RANDOM if numbered else "",
        forward=_forward(facts, "False") if facts.from_file else f"outputs = {called(facts, 'False')}",
        penalty=_PENALTY if facts.from_file else "",
        count=count,
        outputs=outputs,
    )


def _caught(facts: Facts) -> str:
    if facts.from_file:
        return _CAUGHT_CHANGES
    return _CAUGHT if facts.keeps_statistics else ""


def _write(facts: Facts) -> str:
    if facts.from_file:
        return _WRITE_CHANGES
    return _WRITE if facts.keeps_statistics else ""


def _forward(facts: Facts, training: str) -> str:
    model = called(facts, training)
    if not facts.draws and not facts.keeps_statistics:
        return f"outputs = {model}"
    collect = ", collect_losses=True" if facts.from_file else ""
    mapping = f"drawn{collect}" if facts.draws else ""
    and_seeds = ", and gives them their random states" if facts.draws else ""
    as_scope = " as scope" if facts.keeps_statistics else ""
    return fill(_SCOPE, mapping=mapping, model=model, and_seeds=and_seeds, as_scope=as_scope)


def replicas(facts: Facts) -> str:
    """The line that counts the replicas, where a step needs their number."""
    needed = facts.draws or facts.from_file
    return "replicas = strategy.num_replicas_in_sync" if needed and facts.several else ""


def summing(facts: Facts) -> str:
    """The lines that keep Keras from adding up gradients, where the steps have done it."""
    return fill(_SUM_HERE, what="clip" if facts.clips else "look for infinities in") if facts.sums_first else ""
