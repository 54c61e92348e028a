"""The part of a script with the compiled steps: one of training, one of evaluation."""

from __future__ import annotations

from gpu_studio.export import placed_steps, replica_steps, served_steps
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.script_text import fill, functions_of
from gpu_studio.export.step_parts import called, reseeding, scaling, state_names, unwrapping
from gpu_studio.export.strategies import written_as
from gpu_studio.export.tracing import TRACED_ONCE
from gpu_studio.plan import strategy_of

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
$compiled
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
@traced_once
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

$compiled
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

@traced_once
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
    if facts.serves:
        train, evaluate = served_steps.steps_of(facts)
    elif facts.several:
        train, evaluate = replica_steps.steps_of(facts)
    elif facts.placed:
        train, evaluate = placed_steps.train(facts), placed_steps.evaluate(facts)
    else:
        train, evaluate = _alone(facts)
    before = (
        *([served_steps.before] if facts.serves else []),
        replica_steps.summing,
        replica_steps.constraints,
        replica_steps.replicas,
        state_names,
    )
    return fill(
        _STEPS,
        helpers=_helpers(facts),
        parameters=", ".join(parameters(facts)),
        before="\n".join(filter(None, [lines(facts) for lines in before])),
        unwrapping=unwrapping(facts),
        train=train,
        evaluate=f"{evaluate}\n" if evaluates(facts) else "",
        made=", ".join(names(facts)),
    )


def _helpers(facts: ScriptFacts) -> str:
    if facts.serves:
        return served_steps.helpers(facts)
    compiling = GIVING_WAY + _WHERE_FIT_WOULD if _may_compile(facts) else ""
    made = TRACED_ONCE + (compiling or replica_steps.helpers(facts))
    return made.rstrip("\n") + "\n\n"


def evaluates(facts: ScriptFacts) -> bool:
    """Return whether there is a split to evaluate."""
    return facts.validates or facts.tests


def names(facts: ScriptFacts) -> list[str]:
    """Return the steps that `make_steps` returns."""
    evaluate = ["evaluate_step"] if evaluates(facts) else []
    return ["train_step", *evaluate, *(["settle"] if facts.apart else [])]


def parameters(facts: ScriptFacts) -> list[str]:
    """Return the parameters of `make_steps`."""
    strategy = ["strategy"] if written_as(facts.plan).has_scope else []
    counting = ["metrics", "update_metrics"] if facts.serves else ["update_metrics"]
    metrics = counting if facts.plan.training.metrics else []
    return [*strategy, "model", "optimizer", "loss_of", *metrics]


GIVING_WAY = (
    functions_of("xla.py", "or_without_xla")
    + """\
def show_without_xla(error):
    \"\"\"Say why a step is not compiled by XLA, without the lines that made it.\"\"\"
    lines = str(error).split("\\n")
    why = next((line for line in lines if "XLA" in line), lines[0])
    print(f"XLA could not compile a step, which goes on without it: {why}")


"""
)
"""The functions by which a step goes on without XLA, as the text of a script."""
_WHERE_FIT_WOULD = """\
def compiling(model):
    \"\"\"What compiles steps: XLA on a card, if all layers allow that, as `fit` has it do.

    Where it cannot, they go on without it.
    \"\"\"
    cards = tf.config.list_logical_devices("GPU")
    allowed = bool(cards) and all(each.supports_jit for each in model._flatten_layers())

    def compiled(step):
        without = traced_once(tf.function(step, reduce_retracing=True))
        by_xla = tf.function(step, reduce_retracing=True, jit_compile=True)
        by_xla = traced_once(by_xla)
        kept = []  # the one of them that trains, once that is known

        def first(*batch):
            found, error = or_without_xla(
                lambda: by_xla(*batch),
                lambda: without(*batch),
            )
            if error is not None:
                show_without_xla(error)
            kept.append(by_xla if error is None else without)
            return found

        return (lambda *batch: (kept or [first])[0](*batch)) if allowed else without

    return compiled

"""


def _may_compile(facts: ScriptFacts) -> bool:
    """Whether XLA compiles the steps where the script finds a card, as `fit` has it do."""
    chosen, devices = facts.plan.training.jit_compile, facts.plan.distribution.devices
    of_cards = facts.may_use_cards and not (devices and devices[0].startswith("CPU"))
    return chosen == "auto" and of_cards and strategy_of(facts.plan).compiles_steps


def _compiler(facts: ScriptFacts) -> str:
    """Return what stands above the step of training, and compiles it."""
    if _may_compile(facts):
        return "@compiling(model)"
    by_xla = ", jit_compile=True" if facts.plan.training.jit_compile is True else ""
    return f"@traced_once\n@tf.function(reduce_retracing=True{by_xla})"


def _alone(facts: ScriptFacts) -> tuple[str, str]:
    on_device = written_as(facts.plan).has_scope
    outputs, count = (", outputs", COUNT) if facts.plan.training.metrics else ("", "")
    penalty = _PENALTY if facts.from_file else ""
    train = fill(
        _TRAIN_ON_DEVICE if on_device else _TRAIN,
        compiled=_compiler(facts),
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
