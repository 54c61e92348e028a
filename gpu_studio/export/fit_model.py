"""The part of a script for `fit` that builds the model and compiles it as the plan says."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_studio.export.fit_compile import compiling
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.learning import ExportError
from gpu_studio.export.model import counts_tokens
from gpu_studio.export.model import model as model_text
from gpu_studio.export.optimizers import optimizer, optimizer_parameters, rate_of_compiled
from gpu_studio.export.own_code import place_of
from gpu_studio.export.script_text import fill, literal
from gpu_studio.export.steps import GIVING_WAY
from gpu_studio.plan import strategy_of

_LOADED = """\
$file


def build_model($parameters):
    \"\"\"The model as it was saved, compiled as the plan says.\"\"\"
    keras.utils.set_random_seed(SEED)
    # Keras refuses layers with code of their own.
    model = keras.saving.load_model(MODEL_FILE, compile=False, safe_mode=True)
    $compile
    return model
"""
_BUILT_IN = """\
$model

def build_model($parameters):
    \"\"\"The model, compiled as the plan says.\"\"\"
    model = make_model($given)
    $compile
    return model
"""
_BUILD = """\
$file
MODEL_OPTIONS = $options


def build_model($parameters):
    \"\"\"The model that the function makes, $how.\"\"\"
    # Initial weights are drawn from this seed, in the order in which layers are made.
    keras.utils.set_random_seed(SEED)
    $offered
    model = call_own(MODEL_FILE, $function, MODEL_OPTIONS, offered)
    $compile
    return model
"""


def building(fitted: FittedPlan) -> str:
    """The functions `make_optimizer`, if the plan names the optimizer, and `build_model`."""
    gives_way = _gives_way(fitted)
    lines = compiling(fitted), _by_xla(fitted), "go_on_without_xla(model)" if gives_way else ""
    compiled = "\n".join(filter(None, lines))
    made = f"{optimizer(fitted.facts)}\n\n" if "make_optimizer(" in compiled else ""
    if "make_rate(" in compiled:
        made += rate_of_compiled(fitted.facts, alone=not made)
    made += GIVING_WAY + _GOING_ON if gives_way else ""
    model, parameters = fitted.plan.model, ", ".join(model_parameters(fitted))
    if model.name is not None:
        return made + _built_in(fitted, compiled, parameters)
    if model.file is not None:
        file = place_of("MODEL_FILE", "model.file", model.file, fitted.facts, "model")
        return made + fill(_LOADED, file=file, parameters=parameters, compile=compiled)
    what = "function is that makes the model"
    place, function = fitted.place("MODEL_FILE", "model.python", str(model.python), what)
    return made + fill(
        _BUILD,
        file=place,
        options=literal(model.options),
        parameters=parameters,
        how="compiled by itself" if not compiled else "compiled as the plan says",
        offered=table("offered", _offered(fitted)),
        function=function,
        compile=compiled,
    )


_ON_A_CARD = """\
# On a card XLA compiles the steps; under a strategy Keras leaves that out by itself.
model.jit_compile = bool(tf.config.list_logical_devices("GPU"))"""


def _by_xla(fitted: FittedPlan) -> str:
    """The lines that have XLA compile the steps, or not, where Keras would decide otherwise."""
    chosen, xla = fitted.plan.training.jit_compile, fitted.built.xla
    devices, strategy = fitted.plan.distribution.devices, strategy_of(fitted.plan)
    if not strategy.compiles_steps or (chosen == "auto" and xla.asked is not None):
        return ""
    if chosen != "auto":
        return f"model.jit_compile = {chosen}"
    if strategy.devices == "none":
        return "model.jit_compile = False" if fitted.seen.varies else ""
    on_cpu = bool(devices) and devices[0].startswith("CPU")
    return "" if on_cpu or xla.cannot or fitted.seen.varies else _ON_A_CARD


_GOING_ON = """\
def go_on_without_xla(model):
    \"\"\"Let `fit` go on without XLA where that cannot compile the model's step.\"\"\"

    def giving_way(step):
        make, name = getattr(model, f"make_{step}_function"), f"{step}_function"

        def made(force=False):
            before = getattr(model, name)
            make(force)
            by_xla = getattr(model, name)

            def first(batches):
                setattr(model, name, by_xla)
                again = held(batches, model.steps_per_execution)

                def without():
                    model.jit_compile = False
                    make(force=True)
                    return getattr(model, name)(again())

                logs, error = or_without_xla(lambda: by_xla(again()), without)
                if error is not None:
                    show_without_xla(error)
                return logs

            if by_xla is not before and model.jit_compile:
                setattr(model, name, first)

        return made

    for step in ("train", "test"):
        setattr(model, f"make_{step}_function", giving_way(step))


def held(batches, count):
    \"\"\"What iterates over the next batches, as often as it is called.

    Where they come of a dataset, it gives what that gives: a step is compiled once.
    \"\"\"
    some = [*itertools.islice(batches, count)]
    kind = getattr(batches, "element_spec", None)
    kinds = [isinstance(each, tf.TensorSpec) for each in tf.nest.flatten(kind)]
    if not isinstance(batches, tf.data.Iterator) or not all(kinds):
        return lambda: iter(some)
    again = tf.data.Dataset.from_generator(lambda: some, output_signature=kind)
    return lambda: iter(again)


"""


def _gives_way(fitted: FittedPlan) -> bool:
    """Whether steps that XLA may compile go on without it where it cannot."""
    plan = fitted.plan
    devices, cards = plan.distribution.devices, fitted.facts.may_use_cards
    real = cards and not (devices and devices[0].startswith("CPU"))
    compiles = fitted.built.xla.compiles(plan, real=real, varies=fitted.seen.varies)
    return plan.training.jit_compile == "auto" and compiles


def _built_in(fitted: FittedPlan, compiled: str, parameters: str) -> str:
    """Return the functions that make a built-in model."""
    tokens = "tokens" if counts_tokens(fitted.facts) else ""
    made = model_text(fitted.facts).replace("def build_model(", "def make_model(", 1)
    return fill(_BUILT_IN, model=made, parameters=parameters, given=tokens, compile=compiled)


def model_parameters(fitted: FittedPlan, epochs: str = "epochs") -> list[str]:
    """Return what `build_model` is given, `epochs` under that name. Raises ExportError."""
    tokens = ["tokens"] if counts_tokens(fitted.facts) else []
    compiled = compiling(fitted)
    if "make_optimizer(" not in compiled and "make_rate(" not in compiled:
        return tokens
    needed, training = optimizer_parameters(fitted.facts), fitted.plan.training
    if "steps_per_epoch" in needed and training.schedule is not None and not fitted.counts_steps:
        raise ExportError(
            "The schedule is told the steps of an epoch, and how many there are is known only once "
            "the data have been read. Set training.steps_per_epoch, say the schedule in steps, or "
            "compile the model with it."
        )
    return [*tokens, *({"epochs": epochs}.get(name, name) for name in needed)]


def table(name: str, given: Mapping[str, str]) -> str:
    """Return the lines that make a dictionary of expressions."""
    rows = "".join(f"    {literal(key)}: {value},\n" for key, value in given.items())
    return f"{name} = {{\n{rows}}}"


def _offered(fitted: FittedPlan) -> dict[str, str]:
    seen = fitted.seen
    if seen.nested:
        return {"seed": "SEED"}
    target = seen.target
    counted = target.measured or target.one_hot or target.labels
    outputs = target.outputs if counted else seen.classes
    known = None if target.task == "values" or target.labels else seen.classes
    shape = {"input_shape": literal(tuple(seen.x_shape))}
    return shape | {"outputs": str(outputs), "classes": str(known), "seed": "SEED"}
