"""The part of a script for `fit` that builds the model and compiles it as the plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_studio.export import forms
from gpu_studio.export.fitted import AS_COMPILED, FittedPlan
from gpu_studio.export.forms import Fitting
from gpu_studio.export.keras_objects import (
    LOSS_CLASSES,
    METRIC_CLASSES,
    metric_text,
    one_column,
)
from gpu_studio.export.locating import located
from gpu_studio.export.meeting import ExportError
from gpu_studio.export.model import counts_tokens
from gpu_studio.export.model import model as model_text
from gpu_studio.export.optimizers import optimizer, optimizer_parameters
from gpu_studio.export.own_code import options_of, own_code, place_of
from gpu_studio.export.script_text import (
    WIDTH,
    call,
    fill,
    indented,
    listing,
    literal,
    options,
    width,
)
from gpu_studio.export.steps import GIVING_WAY
from gpu_studio.placement.plan_facts import Learnt
from gpu_studio.plan import Named, OutputTraining, reference, shown, strategy_of
from gpu_studio.plan.keras_objects import LOSSES, METRICS, keras_name

_NO_LOSS = "none"
_GUESSED = ("accuracy", "mae", "mse")

_JUDGED = """

def judge(file, name, options):
    \"\"\"A loss or metric of one's own: the function itself, or what it makes.\"\"\"
    function = own(file, name)
    if isinstance(function, type):
        return function(**options)
    parameters = inspect.signature(function).parameters.values()
    asked = [each for each in parameters if each.default is each.empty]
    if len(asked) - len(options.keys() & {each.name for each in asked}) == 2:
        return functools.partial(function, **options) if options else function
    return function(**options)
"""


_SHOWN = """

def shown(judged, adapted):
    \"\"\"A loss or a metric that gets targets and outputs in the form that it takes.\"\"\"
    name = "call" if isinstance(judged, keras.losses.Loss) else "update_state"
    take = getattr(judged, name)

    def take_adapted(y, outputs, *more, **named):
        return take(*adapted(y, outputs), *more, **named)

    setattr(judged, name, take_adapted)
    return judged
"""


def own_functions(fitted: FittedPlan) -> str:
    """The functions that read the user's own files, and adapt losses and metrics."""
    compiled = compiling(fitted)
    text = own_code(fitted.facts)
    text += _JUDGED if "judge(" in compiled else ""
    return (text + (_SHOWN if "shown(" in compiled else "")).lstrip("\n")


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
        options=options_of("model.options", model.options),
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
    if "make_optimizer(" not in compiling(fitted):
        return tokens
    needed = optimizer_parameters(fitted.facts)
    known = not fitted.seen.streamed or fitted.plan.training.steps_per_epoch
    if "steps_per_epoch" in needed and not known:
        raise ExportError(
            "The schedule or the optimizer is told the steps of an epoch, which a script learns of "
            "a stream as it trains. Set training.steps_per_epoch, say the schedule in steps, or "
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


def compiling(fitted: FittedPlan) -> str:
    """Return the lines that compile the model; empty where it compiles itself. Raises ExportError.

    What the plan leaves to the model stays as it was compiled.
    """
    training, built = fitted.plan.training, fitted.built
    makes = f"make_optimizer({', '.join(optimizer_parameters(fitted.facts))})"
    if built.own_steps:
        judged = [*_loss_of_plan(fitted), *_metrics_of_plan(fitted)]
        made = call("model.compile", "", [makes, *judged], indent=8)
        return f"if not model.compiled:\n    {made.replace(chr(10), chr(10) + '    ')}"
    own_rate = training.optimizer not in AS_COMPILED or training.schedule is not None
    named = fitted.named_loss or fitted.named_metrics
    if not fitted.learners and not named:  # its layers alone say by what it learns
        made = f"model.compile({makes})"
        return made if own_rate else f"if not model.compiled:\n    {made}"
    if fitted.is_compiled and not named:
        return f"model.optimizer = {makes}" if own_rate else ""
    if fitted.is_compiled:
        raise ExportError(
            "The model is compiled, and the plan names another loss or other metrics beside what "
            'stays of it: a script takes all or none of them. Write "compiled" for the loss and '
            "the metrics, or leave compile out of the function."
        )
    judged = [*_loss_of_plan(fitted), *_metrics_of_plan(fitted)]
    return call("model.compile", "", [makes, *judged], indent=4)


def _loss_of_plan(fitted: FittedPlan) -> list[str]:
    if fitted.built.own_steps:
        chosen = fitted.plan.training.loss
        return [] if chosen.name == "auto" else [f"loss={_one_loss(fitted, chosen, None)}"]
    each = {
        name: _one_loss(fitted, _loss_of(fitted, name), learnt, name)
        for name, learnt in fitted.learners.items()
    }
    if list(each) == [""]:
        return [f"loss={each['']}"]
    found = [_by_output("loss", each)]
    own = fitted.plan.training.outputs
    weights = {name: own[name].loss_weight for name in each if name in own}
    if any(weight != 1 for weight in weights.values()):
        found.append(f"loss_weights={literal(dict.fromkeys(each, 1.0) | weights)}")
    return found


def _loss_of(fitted: FittedPlan, output: str) -> Named:
    """Return the loss that the plan names for an output."""
    training = fitted.plan.training
    own = training.outputs.get(output)
    return own.loss if own is not None and own.loss is not None else training.loss


def _one_loss(fitted: FittedPlan, chosen: Named, learnt: Learnt | None, output: str = "") -> str:
    if reference(chosen.name):
        before = f"{literal(output)}: " if output else "loss="
        return _judge(fitted, "training.loss", chosen, before, output)
    if chosen.name == _NO_LOSS:
        return "None"
    name = keras_name(chosen.name if chosen.name != "auto" or not learnt else learnt.loss, LOSSES)
    fitting = LOSS_CLASSES.get(str(name))
    if fitting is None:
        fitting = Fitting(str(name).capitalize(), one_hot=True, probabilities=True)
    logits = fitting.takes_logits and learnt is not None and "from_logits" not in chosen.options
    more = [f"from_logits={learnt.logits}"] if logits and learnt is not None else []
    made = call("", f"keras.losses.{fitting.cls}", [*more, *options(chosen.options)])
    return _adapted(fitted, made, fitting, output, learnt)


def _adapted(
    fitted: FittedPlan,
    made: str,
    fitting: Fitting,
    output: str,
    learnt: Learnt | None,
    cut: str = "",
) -> str:
    """Return a loss or metric that gets labels or probabilities where the model has none.

    `cut` is the column of them that it is to see.
    """
    if learnt is None:
        return made
    facts = fitted.of_output(output, learnt)
    labels, outputs = "y", forms.predictions(facts, fitting)
    if (fitting.one_hot and learnt.kind == "classes") or (
        learnt.kind == "one_hot" and not fitting.one_hot
    ):
        labels = forms.labels(facts, fitting)
    outputs = "outputs" if outputs == "outputs[..., None]" else outputs
    if (labels, outputs) == ("y", "outputs"):
        return made
    if facts.met.rank > 1:
        raise ExportError(
            f"No script shows {fitting.cls} the outputs of this model, one for each of many places "
            "in a sample. Compile the model in its function, or train it by a run."
        )
    pair = f"lambda y, outputs: (\n    {labels}{cut},\n    {outputs}{cut},\n)"
    return f"shown(\n{indented(made, 4)},\n{indented(pair, 4)},\n)"


def _metrics_of_plan(fitted: FittedPlan) -> list[str]:
    chosen = fitted.plan.training.metrics
    if fitted.built.own_steps:
        chosen = tuple(each for each in chosen if each.name != "auto")
    if not chosen and not fitted.plan.training.outputs:
        return []
    learnt, own = fitted.learners, fitted.plan.training.outputs
    rows = {
        name: [_one_metric(fitted, each, one, name) for each in _metrics_of(own.get(name), chosen)]
        for name, one in learnt.items()
    }
    if list(rows) in ([""], []):
        flat = rows.get("") or [_one_metric(fitted, each, None) for each in chosen]
        deep = 12 if fitted.built.own_steps else 8
        return [listing("metrics=", flat, indent=deep + 1)]  # with the comma behind it
    listed = {name: listing("", row, indent=len(name) + 17) for name, row in rows.items()}
    return [_by_output("metrics", listed)]


def _by_output(argument: str, values: Mapping[str, str]) -> str:
    """Return an argument of compile that has an expression for each output."""
    lines = [f"{literal(name)}: {value}," for name, value in values.items()]
    return "\n".join([f"{argument}={{", *(indented(line, 4) for line in lines), "}"])


def _metrics_of(own: OutputTraining | None, rest: Sequence[Named]) -> Sequence[Named]:
    """Return the metrics of an output: its own, else those of all."""
    return own.metrics if own is not None and own.metrics is not None else rest


def _one_metric(fitted: FittedPlan, chosen: Named, learnt: Learnt | None, output: str = "") -> str:
    if reference(chosen.name):
        return _judge(fitted, "training.metrics", chosen, "", output)
    name = chosen.name
    if name == "auto" and learnt is not None:
        name = (learnt.metrics or ("accuracy",))[0]
    binary = learnt is not None and learnt.kind == "binary" and learnt.logits
    if name in _GUESSED and not chosen.options and not binary:
        return literal(name)  # which Keras turns into the one that suits the targets
    full = str(keras_name(name, METRICS))
    if full == "accuracy" and not binary:
        return literal(name)
    if full not in METRIC_CLASSES:
        raise ExportError(
            f"training.metrics names {shown(chosen.name)}, which no script feeds. Compile the "
            "model with it in its function, give it by a function of your own, or leave it out."
        )
    if learnt is None:
        given = [*options(chosen.options), f"name={literal(name)}"]
        return call("", f"keras.metrics.{METRIC_CLASSES[full].cls}", given)
    facts = fitted.of_output(output, learnt)
    fitting = forms.fitting(facts, full, METRIC_CLASSES)
    cut = "[:, 1:2]" if one_column(facts, [full], [chosen]) else ""
    return _adapted(fitted, metric_text(facts, full, chosen.options), fitting, output, learnt, cut)


def _judge(fitted: FittedPlan, field: str, chosen: Named, before: str, output: str) -> str:
    """Return a loss or metric of one's own as it stands in `compile`, with that `before` it."""
    named = reference(chosen.name)
    if named is None:
        raise AssertionError(chosen.name)
    path = literal(str(located(field, named.file, fitted.facts.base)))
    deeper = bool(output) + bool(fitted.built.own_steps) + (not before)
    indent = 8 + 4 * deeper
    where = call("", "Path", [path], indent=indent + 5)  # with the comma behind it
    given = [where, literal(named.function), options_of(field, chosen.options)]
    made = call(before, "judge", given, indent=indent)
    if width(made) + indent == WIDTH:  # without room for the comma behind it
        made = call(before, "judge", given, indent=indent + 1)
    return made.removeprefix(before)
