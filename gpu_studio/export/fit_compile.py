"""The lines of a script for `fit` that compile its model as the plan says, with losses and metrics.

Of a compiled model they change what the plan names, and leave the rest.
"""

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
from gpu_studio.export.learning import ExportError
from gpu_studio.export.locating import located
from gpu_studio.export.optimizers import optimizer_parameters
from gpu_studio.export.own_code import own_code
from gpu_studio.export.script_text import (
    WIDTH,
    call,
    indented,
    listing,
    literal,
    options,
    width,
)
from gpu_studio.placement.plan_facts import Learnt
from gpu_studio.plan import Named, reference, shown
from gpu_studio.plan.keras_objects import COMPILED, LOSSES, METRICS, keras_name, result_name

_NO_LOSS = "none"


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


_AGAIN = """

def compile_again(model, optimizer, **changed):
    \"\"\"Compile a compiled model with what is changed: Keras keeps the rest.\"\"\"
    model.compile(
        optimizer,
        run_eagerly=model.run_eagerly,
        jit_compile=model.jit_compile,
        steps_per_execution=model.steps_per_execution,
        **changed,
    )
"""

_COMPILED_WITH = """

def compiled_with(model, names):
    \"\"\"What a model was compiled with, by its outputs, which have these names.\"\"\"
    losses, metrics = model._compile_loss, model._compile_metrics
    weights = by_output(getattr(losses, "_user_loss_weights", None), names)
    more = {
        each: by_output(getattr(metrics, f"_user_{each}", None), names)
        for each in ("metrics", "weighted_metrics")
    }
    for each, given in more.items():
        flat = {name: keras.tree.flatten(some or []) for name, some in given.items()}
        more[each] = flat
    return more | {
        "loss": by_output(getattr(losses, "_user_loss", None), names),
        "loss_weights": {name: 1.0 if w is None else w for name, w in weights.items()},
    }


def by_output(given, names):
    \"\"\"What is given for each output: by its name, by its place, or for all of them.\"\"\"
    if isinstance(given, dict) and len(names) > 1:
        return {name: given.get(name) for name in names}
    if isinstance(given, (list, tuple)) and len(names) > 1:
        return dict(zip(names, given))
    return dict.fromkeys(names, given)
"""


def own_functions(fitted: FittedPlan) -> str:
    """The functions that read the user's own files, and adapt losses and metrics."""
    compiled = compiling(fitted)
    parts = {"judge(": _JUDGED, "shown(": _SHOWN}
    parts |= {"compile_again(": _AGAIN, "compiled_with(": _COMPILED_WITH}
    text = own_code(fitted.facts)
    text += "".join(part for name, part in parts.items() if name in compiled)
    return text.lstrip("\n")


def compiling(fitted: FittedPlan) -> str:
    """Return the lines that compile the model; empty where it compiles itself. Raises ExportError.

    What the plan leaves to the model stays as it was compiled.
    """
    training, built = fitted.plan.training, fitted.built
    makes = f"make_optimizer({', '.join(optimizer_parameters(fitted.facts))})"
    if built.own_steps:
        judged = [*_loss_of_plan(fitted), *_metrics_of_plan(fitted)]
        made = call("model.compile", "", [makes, *judged], indent=8)
        if training.optimizer == COMPILED:
            return ""
        return f"if not model.compiled:\n    {made.replace(chr(10), chr(10) + '    ')}"
    if not fitted.learners and not (fitted.named_loss or fitted.named_metrics):
        return _by_layers(fitted, makes)
    if fitted.is_compiled:
        return _over_compiled(fitted)
    judged = [*_loss_of_plan(fitted), *_metrics_of_plan(fitted)]
    return call("model.compile", "", [makes, *judged], indent=4)


def _by_layers(fitted: FittedPlan, makes: str) -> str:
    """Return the lines for a model of which its layers alone say by what it learns."""
    training = fitted.plan.training
    if training.optimizer not in AS_COMPILED:
        return f"model.compile({makes})"
    rate = f"set_rate(model.optimizer, {makes.replace('make_optimizer', 'make_rate', 1)})"
    scheduled = training.schedule is not None
    if training.optimizer == COMPILED:
        return rate if scheduled else ""
    if not scheduled:
        return f"if not model.compiled:\n    model.compile({makes})"
    return f"if model.compiled:\n    {rate}\nelse:\n    model.compile({makes})"


def _over_compiled(fitted: FittedPlan) -> str:
    """Return the lines that change a compiled model; empty where the plan leaves all to it."""
    training, given = fitted.plan.training, ", ".join(optimizer_parameters(fitted.facts))
    kept = training.optimizer in AS_COMPILED
    made = "model.optimizer" if kept else f"make_optimizer({given})"
    changed = [*_loss_over_compiled(fitted), *_metrics_over_compiled(fitted)]
    lines = []
    if any("compiled[" in each for each in changed):
        names = [literal(_key(fitted, each)) for each in fitted.outputs]
        lines.append(call("compiled = ", "compiled_with", ["model", listing("", names)], indent=4))
    if changed:
        lines.append(call("compile_again", "", ["model", made, *changed], indent=4))
    elif not kept:
        lines.append(f"model.optimizer = {made}")
    if kept and training.schedule is not None:
        lines.append(f"set_rate(model.optimizer, make_rate({given}))")
    return "\n".join(lines)


def _key(fitted: FittedPlan, output: str) -> str:
    """Return the name of an output among those of `compiled_with`."""
    return output or fitted.only_output or "output"


def _loss_over_compiled(fitted: FittedPlan) -> list[str]:
    """Return the arguments of compile that change losses, and their weights."""
    each: dict[str, str | None] = {}
    weights: dict[str, str] = {}
    for name in fitted.outputs:
        own, chosen = fitted.of_plan(name), _loss_of(fitted, name)
        each[name], weights[name] = None, literal(own.loss_weight)
        learnt = fitted.learners.get(name)
        if chosen.name not in AS_COMPILED or (learnt is not None and learnt.lossless):
            each[name] = _one_loss(fitted, chosen, learnt, name)
        elif own.loss_weight == 1:
            weights[name] = f'compiled["loss_weights"][{literal(_key(fitted, name))}]'
    kept = {name: f'compiled["loss"][{literal(_key(fitted, name))}]' for name in each}
    if not any(each.values()) and all(value.startswith("compiled") for value in weights.values()):
        return []
    if list(each) == [""]:
        more = [] if weights[""] == "1.0" else [f"loss_weights={weights['']}"]
        return [f"loss={each[''] or kept['']}", *more]
    losses = {name: made or kept[name] for name, made in each.items()}
    return [_by_output("loss", losses), _by_output("loss_weights", weights)]


def _metrics_over_compiled(fitted: FittedPlan) -> list[str]:
    """Return the arguments of compile that change metrics."""
    named, weighted = {}, {}
    for name in fitted.outputs:
        chosen = _metrics_of(fitted, name)
        rest = [each for each in chosen if each.name not in AS_COMPILED]
        learnt = fitted.learners.get(name)
        named[name] = [_one_metric(fitted, each, learnt, name) for each in rest]
        weighted[name] = "[]"
        if len(rest) < len(chosen):
            key = literal(_key(fitted, name))
            named[name].append(f'*compiled["metrics"][{key}]')
            weighted[name] = f'compiled["weighted_metrics"][{key}]'
    if all(each and each[0].startswith("*compiled[") for each in named.values()):
        return []
    kept = any(value != "[]" for value in weighted.values())
    if list(named) == [""]:
        more = [f"weighted_metrics={weighted['']}"] if kept else []
        return [listing("metrics=", named[""], indent=9), *more]
    listed = {name: listing("", row, indent=len(name) + 17) for name, row in named.items()}
    more = [_by_output("weighted_metrics", weighted)] if kept else []
    return [_by_output("metrics", listed), *more]


def _loss_of_plan(fitted: FittedPlan) -> list[str]:
    if fitted.built.own_steps:
        chosen = fitted.plan.training.loss
        return [] if chosen.name == "auto" else [f"loss={_one_loss(fitted, chosen, None)}"]
    each = {
        name: _one_loss(fitted, _loss_of(fitted, name), fitted.learners.get(name), name)
        for name in fitted.outputs
    }
    weights = {name: float(fitted.of_plan(name).loss_weight) for name in each}
    weighed = any(weight != 1 for weight in weights.values())
    if list(each) == [""]:
        more = [f"loss_weights={literal(weights[''])}"] if weighed else []
        return [f"loss={each['']}", *more]
    return [_by_output("loss", each), *([f"loss_weights={literal(weights)}"] if weighed else [])]


def _loss_of(fitted: FittedPlan, output: str) -> Named:
    """Return the loss that the plan names for an output."""
    own = fitted.of_plan(output).loss
    return own if own is not None else fitted.plan.training.loss


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
    given, deep = [*more, *options(chosen.options)], 8 + 4 * bool(fitted.built.own_steps)
    before = f"    {literal(output)}: " if output else "loss="
    for indent in (deep + len(before) + 1, deep + 4 * bool(output) + 5):  # with the comma behind it
        made = call("", f"keras.losses.{fitting.cls}", given, indent=indent)
        found = _adapted(fitted, made, fitting, output, learnt)
        if found == made:
            break  # else it stands deeper, on a line of its own
    return found


def _adapted(
    fitted: FittedPlan,
    made: str,
    fitting: Fitting,
    output: str,
    learnt: Learnt | None,
    cut: str | None = None,
) -> str:
    """Return a loss or metric that gets labels or probabilities where the model has none.

    `cut` is the column of them that a metric is to see; None for a loss. Where there is an output
    for each of many places in a sample, a metric sees one long row of them.
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
    in_rows = fitting.lazy and facts.met.rank > 1  # these take no more axes
    if (labels, outputs) == ("y", "outputs") and not in_rows:
        return made
    if cut is not None and facts.met.rank > 1:
        if learnt.masked:
            raise ExportError(
                f"No script shows {fitting.cls} outputs of which layers mask some. Compile the "
                "model with it in its function, or leave it out."
            )
        ids = not fitting.one_hot and learnt.kind in ("classes", "one_hot")
        row = f"(-1, {facts.met.units})"
        labels = f"tf.reshape({labels}, {'(-1,)' if ids else row})"
        outputs = f"tf.reshape({outputs}, {row})"
    cut = cut or ""
    pair = f"lambda y, outputs: (\n    {labels}{cut},\n    {outputs}{cut},\n)"
    return f"shown(\n{indented(made, 4)},\n{indented(pair, 4)},\n)"


def _metrics_of_plan(fitted: FittedPlan) -> list[str]:
    chosen = fitted.plan.training.metrics
    if fitted.built.own_steps:
        chosen = tuple(each for each in chosen if each.name != "auto")
    if not chosen and not fitted.plan.training.outputs:
        return []
    learnt = fitted.learners
    if fitted.built.own_steps or not learnt:
        flat = [_one_metric(fitted, each, None) for each in chosen]
        deep = 12 if fitted.built.own_steps else 8
        return [listing("metrics=", flat, indent=deep + 1)]  # with the comma behind it
    rows = {
        name: [
            _one_metric(fitted, each, learnt.get(name), name) for each in _metrics_of(fitted, name)
        ]
        for name in fitted.outputs
    }
    if list(rows) == [""]:
        return [listing("metrics=", rows[""], indent=9)]
    listed = {name: listing("", row, indent=len(name) + 17) for name, row in rows.items()}
    return [_by_output("metrics", listed)]


def _by_output(argument: str, values: Mapping[str, str]) -> str:
    """Return an argument of compile that has an expression for each output."""
    lines = [f"{literal(name)}: {value}," for name, value in values.items()]
    return "\n".join([f"{argument}={{", *(indented(line, 4) for line in lines), "}"])


def _metrics_of(fitted: FittedPlan, output: str) -> Sequence[Named]:
    """Return the metrics of an output: its own, else those of all, as far as they count.

    One that learns nothing is measured by its own, and by those that it was compiled with.
    """
    own, rest = fitted.of_plan(output).metrics, fitted.plan.training.metrics
    if own is not None:
        return own
    as_compiled = fitted.is_compiled and any(each.name in AS_COMPILED for each in rest)
    return rest if output in fitted.learners or as_compiled else ()


def _one_metric(fitted: FittedPlan, chosen: Named, learnt: Learnt | None, output: str = "") -> str:
    if reference(chosen.name):
        return _judge(fitted, "training.metrics", chosen, "", output)
    name = chosen.name
    if name == "auto" and learnt is not None:
        name = (learnt.metrics or ("accuracy",))[0]
    binary = learnt is not None and learnt.kind == "binary" and learnt.logits
    full = str(keras_name(name, METRICS))
    if full == "accuracy" and not binary:
        return literal(full)  # which Keras turns into the one that suits the targets
    if full not in METRIC_CLASSES:
        raise ExportError(
            f"training.metrics names {shown(chosen.name)}, which no script feeds. Compile the "
            "model with it in its function, give it by a function of your own, or leave it out."
        )
    if learnt is None:
        given = [*options(chosen.options), f"name={literal(result_name(full))}"]
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
    given = [where, literal(named.function), literal(chosen.options)]
    made = call(before, "judge", given, indent=indent)
    if width(made) + indent == WIDTH:  # without room for the comma behind it
        made = call(before, "judge", given, indent=indent + 1)
    return made.removeprefix(before)
