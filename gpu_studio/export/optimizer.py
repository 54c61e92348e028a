"""The part of a script that makes the optimizer, with its learning rate."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.keras_classes import OPTIMIZER_CLASSES
from gpu_studio.export.layout import call, options
from gpu_studio.export.literals import literal
from gpu_studio.plan.catalogue import OPTIMIZERS, SCHEDULES
from gpu_studio.plan.keras_names import keras_name
from gpu_studio.plan.problems import printable

_MAKE = """\
def make_optimizer($parameters):
    \"\"\"The optimizer: how gradients change the weights.\"\"\"
    $schedule
    $optimizer
    $scaling
"""

_SCALING = """\
if keras.config.dtype_policy().compute_dtype != "float16":
    return optimizer
# float16 loses small gradients: the loss is scaled up before they are computed, and they
# are scaled back before they are applied.
return keras.optimizers.LossScaleOptimizer(optimizer)"""

_STAIRS = """\
# The rate is multiplied by $factor every $period_words, in a staircase.
rate = keras.optimizers.schedules.ExponentialDecay(
    $rate, $period, $factor, staircase=True
)"""

_CURVE = """\
# The rate is multiplied by $factor over every $period_words, smoothly.
rate = keras.optimizers.schedules.ExponentialDecay($rate, $period, $factor)"""

_COSINE = """\
# Half a cosine, from the full rate down to $end at the end of the training
# (Loshchilov and Hutter 2016, arXiv:1608.03983).
rate = keras.optimizers.schedules.CosineDecay($arguments)"""

_WARM_COSINE = """\
# A linear warm-up, then half a cosine down to $end at the end of the training
# (Loshchilov and Hutter 2016, arXiv:1608.03983). The warm-up starts where its first
# increment ends: from 0, the first step would be wasted.
warmup = $warmup
rate = keras.optimizers.schedules.CosineDecay(
    $rate / warmup,
    steps_per_epoch * epochs - warmup,
    alpha=$minimum,
    warmup_target=$rate,
    warmup_steps=warmup,
)"""


def optimizer(facts: ScriptFacts) -> str:
    """The function `make_optimizer`."""
    training = facts.plan.training
    name = str(keras_name(training.optimizer, OPTIMIZERS))
    schedule = _schedule(facts)
    rate = "rate" if schedule else literal(float(training.learning_rate))
    mixed = training.mixed_precision
    target = "optimizer = " if mixed else "return "
    arguments = [f"learning_rate={rate}", *options(training.options)]
    return fill(
        _MAKE,
        parameters=", ".join(parameters(facts)),
        schedule=schedule,
        optimizer=call(target, f"keras.optimizers.{OPTIMIZER_CLASSES[name]}", arguments, indent=4),
        scaling=_SCALING if mixed else "",
    )


def parameters(facts: ScriptFacts) -> list[str]:
    """Return what `make_optimizer` must be given for its schedule."""
    schedule = _schedule(facts)
    return [
        name
        for name in ("steps_per_epoch", "epochs")
        if name in schedule.replace("every_epochs", "")
    ]


def _schedule(facts: ScriptFacts) -> str:
    chosen = facts.plan.training.schedule
    if chosen is None or chosen.name == "constant":
        return ""
    rate = literal(float(facts.plan.training.learning_rate))
    values = SCHEDULES[chosen.name].values(chosen.options)
    if chosen.name == "cosine":
        return _cosine(rate, values["minimum"], values["warmup_steps"], values["warmup_epochs"])
    stairs = chosen.name == "step" or values["staircase"]
    factor = literal(values["drop" if chosen.name == "step" else "decay"])
    return _decay(stairs, rate, factor, values["every_steps"], values["every_epochs"])


def _decay(stairs: bool, rate: str, factor: str, steps: int, epochs: int) -> str:
    period, words = _period(steps, epochs)
    form = _STAIRS if stairs else _CURVE
    whole = fill(form, rate=rate, factor=factor, period=period, period_words=words)
    arguments = [rate, period, factor, *(["staircase=True"] if stairs else [])]
    made = call("rate = ", "keras.optimizers.schedules.ExponentialDecay", arguments, indent=4)
    return whole[: whole.index("\n") + 1] + made


def _period(steps: int, epochs: int) -> tuple[str, str]:
    if steps:
        return str(steps), f"{steps:,} steps" if steps > 1 else "step"
    if epochs == 1:
        return "steps_per_epoch", "epoch"
    return f"{epochs} * steps_per_epoch", f"{epochs:,} epochs"


def _cosine(rate: str, minimum: float, steps: int, epochs: int) -> str:
    end = "0" if not minimum else f"{printable(literal(minimum))} of it"
    if steps or epochs:
        warmup = str(steps) if steps else _period(0, epochs)[0]
        return fill(_WARM_COSINE, rate=rate, end=end, minimum=literal(minimum), warmup=warmup)
    arguments = [
        rate,
        "steps_per_epoch * epochs",
        *([f"alpha={literal(minimum)}"] if minimum else []),
    ]
    whole = fill(_COSINE, end=end, arguments="")
    made = call("rate = ", "keras.optimizers.schedules.CosineDecay", arguments, indent=4)
    return whole[: whole.index("rate = ")] + made
