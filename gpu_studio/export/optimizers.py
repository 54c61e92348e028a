"""The part of a script that makes the optimizer and its learning rate, also for later phases.

Keras' optimizers stand here by their names in a plan; the tests compare them with Keras' own.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.locating import located
from gpu_studio.export.script_text import call, fill, functions_of, literal, options
from gpu_studio.plan import Reference, printable, reference
from gpu_studio.plan.catalogue import OPTIMIZERS, SCHEDULES
from gpu_studio.plan.keras_objects import keras_name, optimizer_named

_OPTIMIZER = """\
def make_optimizer($parameters):
    \"\"\"The optimizer: how gradients change the weights.\"\"\"
    $offered
    $schedule
    $optimizer
    $scaling
"""

OFFERED = """\
offered = {
    "learning_rate": $rate,
    "steps_per_epoch": steps_per_epoch,
    "total_steps": steps_per_epoch * epochs,
}"""

_SCALING = """\
compute_dtype = keras.config.dtype_policy().compute_dtype
if compute_dtype != "float16"$scaled:
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


_OWN_RATE = """\
class OwnRate(keras.optimizers.schedules.LearningRateSchedule):
    \"\"\"A function of one's own as a schedule. It counts in so many steps, from 0.\"\"\"

    def __init__(self, rate, steps):
        super().__init__()
        self.rate, self.steps = rate, steps

    def __call__(self, step):
        with tf.device("CPU:0"):
            at = tf.cast(step, tf.int64)
            found = tf.numpy_function(self.rate_of, [at], tf.float32, stateful=False)
        found.set_shape(())
        return found

    def rate_of(self, step):
        return np.float32(self.rate(int(step) // self.steps))

    def get_config(self):
        return {"rate": self.rate, "steps": self.steps}


def asked(function, given):
    \"\"\"The arguments that are still to be given by their places; none of a class.\"\"\"
    if isinstance(function, type):
        return []
    every = inspect.signature(function).parameters.values()
    by_place = [p for p in every if p.kind <= p.POSITIONAL_OR_KEYWORD]
    return [p.name for p in by_place if p.default is p.empty and p.name not in given]


def own_rate(file, name, options, offered):
    \"\"\"A learning rate of one's own: the function itself, or what it makes.\"\"\"
    function = own(file, name)
    if len(asked(function, {**options, **offered})) == 1:
        named = inspect.signature(function).parameters
        given = {key: value for key, value in offered.items() if key in named}
        made = functools.partial(function, **(given | options))
    else:
        made = call_own(file, name, options, offered)
    if isinstance(made, keras.optimizers.schedules.LearningRateSchedule):
        return made
    by_epoch = any("epoch" in each for each in asked(made, ()))
    return OwnRate(made, offered["steps_per_epoch"] if by_epoch else 1)


"""


def optimizer(facts: ScriptFacts) -> str:
    """The function `make_optimizer`, with what it calls. Raises ExportError."""
    training = facts.plan.training
    schedule, own = _schedule(facts), reference(training.optimizer)
    rate = "rate" if schedule else literal(float(training.learning_rate))
    mixed = training.mixed_precision
    own_rate = training.schedule is not None and reference(training.schedule.name) is not None
    made = fill(
        _OPTIMIZER,
        parameters=", ".join(optimizer_parameters(facts)),
        offered=fill(OFFERED, rate=literal(float(training.learning_rate)))
        if own_rate or own
        else "",
        schedule=schedule,
        optimizer=_made(facts, own, rate, "optimizer = " if mixed else "return "),
        scaling=fill(_SCALING, scaled=_SCALED if own else "") if mixed else "",
    )
    return (_OWN_RATE if own_rate else "") + made


_RATE = """\
def make_rate($parameters):
    \"\"\"The learning rate of the optimizer that the model was compiled with.\"\"\"
    $offered
    $schedule
    return $rate


"""


def rate_of_compiled(facts: ScriptFacts, *, alone: bool) -> str:
    """The functions `make_rate` and `set_rate`, with what they call, where they stand `alone`.

    That is where `make_optimizer` does not stand before them. Raises ExportError.
    """
    chosen, schedule = facts.plan.training.schedule, _schedule(facts)
    own_rate = chosen is not None and reference(chosen.name) is not None
    rate = literal(float(facts.plan.training.learning_rate))
    made = fill(
        _RATE,
        parameters=", ".join(optimizer_parameters(facts)),
        offered=fill(OFFERED, rate=rate) if own_rate else "",
        schedule=schedule,
        rate="rate" if schedule else rate,
    )
    taken = functions_of("keras_objects/optimizers.py", "set_rate")
    return (_OWN_RATE if own_rate and alone else "") + made + taken


_SCALED = ' or hasattr(optimizer, "inner_optimizer")'


def _made(facts: ScriptFacts, own: Reference | None, rate: str, target: str) -> str:
    """Return the line that makes the optimizer with that rate."""
    training = facts.plan.training
    if own is None:
        name = str(keras_name(optimizer_named(training.optimizer), OPTIMIZERS))
        arguments = [f"learning_rate={rate}", *options(training.options)]
        return call(target, f"keras.optimizers.{OPTIMIZER_CLASSES[name]}", arguments, indent=4)
    offered = "offered" if rate != "rate" else 'offered | {"learning_rate": rate}'
    return call(
        target, "call_own", [*own_arguments(facts, own, training.options), offered], indent=4
    )


def own_arguments(facts: ScriptFacts, own: Reference, given: Mapping[str, object]) -> list[str]:
    """Return the arguments that name a function of the user's own, and its options."""
    file = literal(str(located("training", own.file, facts.base)))
    options = literal(given)
    path = call("", "Path", [file], indent=9)  # with the comma behind it
    return [path, literal(own.function), options]


def optimizer_parameters(facts: ScriptFacts) -> list[str]:
    """Return what `make_optimizer` must be given for its schedule."""
    names = ["steps_per_epoch", "epochs"]
    if reference(facts.plan.training.optimizer):
        return names
    schedule = _schedule(facts)
    if "own_rate(" in schedule:
        return names
    return [name for name in names if name in schedule.replace("every_epochs", "")]


def _schedule(facts: ScriptFacts) -> str:
    chosen = facts.plan.training.schedule
    if chosen is None or chosen.name == "constant":
        return ""
    if (own := reference(chosen.name)) is not None:
        return call(
            "rate = ", "own_rate", [*own_arguments(facts, own, chosen.options), "offered"], indent=4
        )
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


OPTIMIZER_CLASSES: Mapping[str, str] = {
    "sgd": "SGD",
    "rmsprop": "RMSprop",
    "adam": "Adam",
    "adamw": "AdamW",
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adamax": "Adamax",
    "adafactor": "Adafactor",
    "nadam": "Nadam",
    "ftrl": "Ftrl",
    "lion": "Lion",
    "muon": "Muon",
    "lamb": "Lamb",
    "schedule_free_adamw": "ScheduleFreeAdamW",
}
