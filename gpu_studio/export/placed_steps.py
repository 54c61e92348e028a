"""The compiled steps of a placed model."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill
from gpu_studio.export.step_parts import scaling

_WHOLE = """\
@traced_once
@tf.function(reduce_retracing=True)
def train_step(x, y$step):
    $random
    $forward
    # The loss is computed where the outputs are, not where the labels come from.
    with tf.device(outputs.device):
        loss = tf.reduce_mean(loss_of(y, outputs))
    $update
    $count
    return loss"""

_IN_PARTS = """\
@traced_once
@tf.function(reduce_retracing=True)
def train_step(micro_batches$step):
    losses$lists = []$more_lists
    # A loop of Python's, so the graph holds every micro-batch by itself. Nothing here says
    # in which order they run: an operation starts as soon as its inputs are there.
    for $micro_batches:
        $random
        $forward
        # The loss is computed where the outputs are, not where the labels come from.
        # With weights of 1 / batch size the losses add up to the mean of the batch.
        with tf.device(outputs.device):
            losses.append(tf.reduce_sum(weight * loss_of(y, outputs)))
        $keep
        $count
    loss = tf.add_n(losses)
    $update
    $write
    return loss"""

_EVALUATE = """\
@traced_once
@tf.function(reduce_retracing=True)
def evaluate_step(x, y):
    outputs = model(x, training=False)
    $count
    with tf.device(outputs.device):
        return tf.reduce_mean(loss_of(y, outputs))"""

_UPDATE = """\
$scaled
# A GradientTape would compute the whole backward pass on one device: it heeds only the
# `tf.device` around the line that asks it. This older function, which works only inside of
# a `tf.function`, puts each operation where the forward one is whose gradient it is.
gradients = tf.compat.v1.gradients(
    $target,
    [variable.value for variable in model.trainable_variables],
    colocate_gradients_with_ops=True,
)
optimizer.apply(gradients, model.trainable_variables)"""

_RANDOM = """\
# Random numbers follow from the step$and_part alone, so that any step can be done
# again; a layer draws fewer than 4,096 times in one.
draw = $draw * 4096
$drawn"""

_SCOPE = """\
# $words
with keras.StatelessScope($mapping)$as_scope:
    outputs = $call"""

_NUMBERED = "number, (x, y, weight) in enumerate(micro_batches)"
_GIVES = "A scope gives the layers their random states."
_AGAIN = "In a scope, what layers do can be done again."
_CATCHES = "A scope catches what layers change: every micro-batch starts from the same statistics."


def train(facts: ScriptFacts) -> str:
    """The function `train_step`."""
    parts = facts.in_parts
    writes = parts and facts.keeps_statistics
    weight = ", tf.cast(weight > 0, tf.float32)" if parts else ""
    return fill(
        _IN_PARTS if parts else _WHOLE,
        step=", step" if facts.draws else "",
        lists=", scopes, shares" if writes else "",
        more_lists=", [], []" if writes else "",
        micro_batches=_NUMBERED if facts.draws else "x, y, weight in micro_batches",
        random=_random(facts),
        forward=_forward(facts),
        keep="scopes.append(scope)\nshares.append(tf.reduce_sum(weight))" if writes else "",
        update=fill(_UPDATE, **scaling(facts)),
        write="write_statistics(model, scopes, shares)" if writes else "",
        count=f"update_metrics(y, outputs{weight})" if facts.plan.training.metrics else "",
    )


def evaluate(facts: ScriptFacts) -> str:
    """The function `evaluate_step`."""
    return fill(
        _EVALUATE, count="update_metrics(y, outputs)" if facts.plan.training.metrics else ""
    )


def _random(facts: ScriptFacts) -> str:
    if not facts.draws:
        return ""
    made, source = "(state, tf.stack([seed, draw]))", "for state, seed in zip(states, seeds)"
    if not facts.in_parts:
        return fill(_RANDOM, and_part="", draw="step", drawn=f"drawn = [{made} {source}]")
    drawn = f"drawn = [\n    {made} {source}\n]"
    return fill(
        _RANDOM,
        and_part=" and the micro-batch",
        draw="(step * MICRO_BATCHES + number)",
        drawn=drawn,
    )


def _forward(facts: ScriptFacts) -> str:
    if not facts.catches:
        return "outputs = model(x, training=True)"
    return fill(
        _SCOPE,
        words=_CATCHES if facts.keeps_statistics else _GIVES if facts.draws else _AGAIN,
        mapping="drawn" if facts.draws else "",
        as_scope=" as scope" if facts.keeps_statistics else "",
        call="recomputed(model, x, training=True)"
        if facts.recomputes
        else "model(x, training=True)",
    )
