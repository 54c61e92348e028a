"""The part of a script with the compiled steps: one of training, one of evaluation."""

from __future__ import annotations

from gpu_studio.export import placed_steps, replica_steps
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill
from gpu_studio.export.step_parts import called, reseeding, scaling, state_names, unwrapping
from gpu_studio.export.strategies import written_as

_STEPS = """\
$helpers
def make_steps($parameters):
    \"\"\"The compiled steps of training and of evaluation.

    TensorFlow runs the body of a `tf.function` once, to record its operations as a
    graph, and from then on runs the graph, without Python.
    \"\"\"
    $before

    $unwrapping
    $train

    $evaluate
    return $made
"""

_TRAIN = """\
$decided
@tf.function(reduce_retracing=True$compiled)
def train_step(x, y$step):
    $reseed
    with tf.GradientTape() as tape:
        outputs = $model
        loss = tf.reduce_mean(loss_of(y, outputs))
        $penalty
        $scaled
    gradients = tape.gradient($target, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    $count
    return loss"""

_EVALUATE = """\
@tf.function(reduce_retracing=True)
def evaluate_step(x, y$step):
    $reseed
    outputs = $model
    loss = tf.reduce_mean(loss_of(y, outputs))
    $penalty
    $count
    return loss"""

_TRAIN_ON_DEVICE = """\
def train_on_device(x, y):
    with tf.GradientTape() as tape:
        outputs = $model
        loss = tf.reduce_mean(loss_of(y, outputs))
        $penalty
        $scaled
    gradients = tape.gradient($target, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss$outputs

$decided
@tf.function(reduce_retracing=True$compiled)
def train_step(x, y$step):
    $reseed
    # Everything in `run` is on the strategy's device: gradients and updates too.
    loss$outputs = strategy.run(train_on_device, args=(x, y))
    $count
    return loss"""

_EVALUATE_ON_DEVICE = """\
def evaluate_on_device(x, y):
    outputs = $model
    loss = tf.reduce_mean(loss_of(y, outputs))
    $penalty
    return loss$outputs

@tf.function(reduce_retracing=True)
def evaluate_step(x, y$step):
    $reseed
    loss$outputs = strategy.run(evaluate_on_device, args=(x, y))
    $count
    return loss"""

_PENALTY = """\
# What layers and regularizers of the model add to the loss.
loss += tf.cast(sum(map(tf.reduce_sum, model.losses)), tf.float32)"""

COUNT = "update_metrics(y, outputs)"


def steps(facts: ScriptFacts) -> str:
    """The function `make_steps`."""
    if facts.several:
        train, evaluate = replica_steps.steps_of(facts)
    elif facts.placed:
        train, evaluate = placed_steps.train(facts), placed_steps.evaluate(facts)
    else:
        train, evaluate = _alone(facts)
    before = (
        replica_steps.summing,
        replica_steps.constraints,
        replica_steps.replicas,
        state_names,
    )
    return fill(
        _STEPS,
        helpers=replica_steps.helpers(facts),
        parameters=", ".join(parameters(facts)),
        before="\n".join(filter(None, [lines(facts) for lines in before])),
        unwrapping=unwrapping(facts),
        train=train,
        evaluate=f"{evaluate}\n" if evaluates(facts) else "",
        made=", ".join(names(facts)),
    )


def evaluates(facts: ScriptFacts) -> bool:
    """Return whether there is a split to evaluate."""
    return facts.validates or facts.tests


def names(facts: ScriptFacts) -> list[str]:
    """Return the steps that `make_steps` returns."""
    return ["train_step", "evaluate_step"] if evaluates(facts) else ["train_step"]


def parameters(facts: ScriptFacts) -> list[str]:
    """Return the parameters of `make_steps`."""
    strategy = ["strategy"] if written_as(facts.plan).has_scope else []
    metrics = ["update_metrics"] if facts.plan.training.metrics else []
    return [*strategy, "model", "optimizer", "loss_of", *metrics]


_WHERE_FIT_WOULD = """\
# As `fit` has it do: XLA compiles the step on a card, if all layers allow that.
cards = tf.config.list_logical_devices("GPU")
by_xla = bool(cards) and all(each.supports_jit for each in model._flatten_layers())
"""


def _by_xla(facts: ScriptFacts) -> tuple[str, str]:
    """What decides whether XLA compiles the step, and the argument that says so."""
    chosen, devices = facts.plan.training.jit_compile, facts.plan.distribution.devices
    if chosen == "auto" and not (devices and devices[0].startswith("CPU")):
        return _WHERE_FIT_WOULD, ", jit_compile=by_xla"
    return "", ", jit_compile=True" if chosen is True else ""


def _alone(facts: ScriptFacts) -> tuple[str, str]:
    on_device = written_as(facts.plan).has_scope
    outputs, count = (", outputs", COUNT) if facts.plan.training.metrics else ("", "")
    penalty = _PENALTY if facts.from_file else ""
    decided, compiled = _by_xla(facts)
    train = fill(
        _TRAIN_ON_DEVICE if on_device else _TRAIN,
        decided=decided,
        compiled=compiled,
        step=", step" if facts.draws else "",
        reseed=reseeding(facts),
        model=called(facts, "True"),
        penalty=penalty,
        count=count,
        outputs=outputs,
        **scaling(facts),
    )
    evaluate = _EVALUATE_ON_DEVICE if on_device else _EVALUATE
    return train, fill(
        evaluate,
        step=", step" if facts.numbers_evaluation else "",
        reseed=reseeding(facts) if facts.numbers_evaluation else "",
        model=called(facts, "False"),
        penalty=penalty,
        count=count,
        outputs=outputs,
    )
