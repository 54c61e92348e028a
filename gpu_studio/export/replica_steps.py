"""The compiled steps over several replicas of a built-in model."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill
from gpu_studio.export.step_parts import drawn_in_replica, scaling

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
    return (
        fill(_SUM_HERE, what="clip" if facts.clips else "look for infinities in")
        if facts.sums_first
        else ""
    )
