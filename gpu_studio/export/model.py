"""The part of a script that builds the model."""

from __future__ import annotations

from gpu_studio.export.builders import builder_source
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.own_code import called, place_of
from gpu_studio.export.script_text import call, fill, listing, literal
from gpu_studio.plan import Reference, Training, reference

_LOAD = """\
$file


def build_model():
    \"\"\"The model as it was saved; Keras refuses layers with code of their own.\"\"\"
    keras.utils.set_random_seed(SEED)
    return keras.saving.load_model(MODEL_FILE, compile=False, safe_mode=True)


"""

_CALL = """\
$file
MODEL_OPTIONS = $options


def build_model($parameters):
    \"\"\"What the function returns, as a model with one input and one output.\"\"\"
    keras.utils.set_random_seed(SEED)
    offered = {
        "input_shape": $shape,
        "outputs": $outputs,
        "classes": $classes,
        "seed": SEED,
    }
    model = call_own(MODEL_FILE, $function, MODEL_OPTIONS, offered)
    # The loop below calls the model and nothing else of it.
    for name in ("train_step", "test_step", "compute_loss", "compute_metrics"):
        if getattr(type(model), name) is not getattr(keras.Model, name):
            raise SystemExit(f"The model has a {name} of its own, never called here.")
    $compiled
    if isinstance(model, keras.Sequential) and not model.built:
        model.build((None, *offered["input_shape"]))
    if not hasattr(model, "inputs"):
        # Called on numbers first, so that its layers make their weights.
        model(np.zeros((1, *offered["input_shape"]), "$dtype"))
        inputs = keras.Input(offered["input_shape"], dtype="$dtype", name="inputs")
        model = keras.Model(inputs, model(inputs), name=model.name)
    return model


"""

_COMPILED = """\
if model.compiled:
    # A run would heed that where the plan says "auto".
    raise SystemExit("The model is compiled: name optimizer and loss in the plan.")"""

_ENDS = """\
def ends_in_logits(model):
    \"\"\"Whether the outputs are plain scores: no softmax or sigmoid made them.\"\"\"
    last = model.outputs[0]._keras_history.operation
    activation = getattr(getattr(last, "activation", None), "__name__", "")
    kind = type(last).__name__
    if kind in ("Softmax", "Sigmoid") or activation in ("softmax", "sigmoid"):
        return False
    # The last layer may pass on or mix the result of a softmax: the outputs decide.
    samples = np.ones((model.input_shape[0] or 1, *model.input_shape[1:]), "$dtype")
    with keras.StatelessScope():  # it leaves the model as it is
        (outputs,) = keras.tree.flatten(model(samples, training=False))
    outputs = np.asarray(keras.ops.cast(outputs, "float32"))
    return bool((outputs < 0).any() or abs(outputs.sum(axis=-1) - 1).max() > 0.01)
"""


def own_model(facts: ScriptFacts) -> str:
    """The functions `build_model` and `ends_in_logits`. Raises ExportError."""
    named = reference(facts.plan.model.python or "")
    made = _called(facts, named) if named else _loaded(facts)
    return made + (fill(_ENDS, dtype=facts.source.x_kind) if facts.logits == "logits" else "")


def _loaded(facts: ScriptFacts) -> str:
    return fill(
        _LOAD, file=place_of("MODEL_FILE", "model.file", str(facts.plan.model.file), facts, "model")
    )


def _called(facts: ScriptFacts, named: Reference) -> str:
    return fill(
        _CALL,
        file=place_of(
            "MODEL_FILE", "model.python", named.file, facts, "function is that makes the model"
        ),
        options=literal(facts.plan.model.options),
        parameters="classes" if offered_outputs(facts) == "classes" else "",
        function=called(named, "model", facts),
        shape=literal(facts.source.shape),
        compiled=_COMPILED if _leaves_open(facts.plan.training) else "",
        outputs=offered_outputs(facts),
        classes=_offered_classes(facts),
        dtype=facts.source.x_kind,
    )


def _leaves_open(training: Training) -> bool:
    """Return whether a model that is compiled would decide about optimizer, loss or metrics."""
    names = (training.optimizer, training.loss.name, *(each.name for each in training.metrics))
    return "auto" in names


def offered_outputs(facts: ScriptFacts) -> str:
    """Return the number of outputs that a function is given, as an expression."""
    target = facts.source.target
    counted = target.measured or target.one_hot or target.labels
    return str(target.outputs) if counted else facts.source.counted_classes


def _offered_classes(facts: ScriptFacts) -> str:
    target = facts.source.target
    if target.task == "values" or target.labels:
        return "None"
    return str(target.classes) if target.one_hot else facts.source.counted_classes


_BUILD = """\
$builder


def build_model($parameters):
    \"\"\"The model from its inputs to its outputs.\"\"\"
    # Initial weights are drawn from this seed, in the order in which layers are made.
    keras.utils.set_random_seed(SEED)
    inputs = keras.Input($shape, name="inputs"$dtype)
    $called
    # One number for $what$in_float.
    outputs = keras.layers.Dense($outputs$float, name="outputs")(x)
    return keras.Model(inputs, outputs, name=$name)
"""


_SCORED = {"classes": "each class", "one_hot": "each class", "binary": "each label"}


def _what(facts: ScriptFacts) -> str:
    """Say what each output is."""
    if facts.met.kind == "values":
        return "the value" if facts.met.units == 1 else "each value"
    return f"{_SCORED[facts.met.kind]}: its score (logit)"


def model(facts: ScriptFacts) -> str:
    """Return the function `build_model`, with the builder that it calls before it."""
    if facts.from_file:
        return own_model(facts)
    name = str(facts.plan.model.name)
    mixed = facts.plan.training.mixed_precision
    return fill(
        _BUILD,
        builder=builder_source(name).rstrip("\n"),
        parameters=", ".join(parameters(facts)),
        shape=literal(facts.source.shape),
        dtype=', dtype="int32"' if facts.source.tokens else "",
        called=call("x = ", name, ["inputs", *_arguments(facts)], indent=4),
        what=_what(facts),
        in_float=", in float32 for the loss to be exact" if mixed else "",
        outputs=facts.outputs,
        float=', dtype="float32"' if mixed else "",
        name=literal(name),
    )


def _arguments(facts: ScriptFacts) -> list[str]:
    """Return the builder's options as keyword arguments.

    A long list has one number per line.
    """
    counted = "tokens" if counts_tokens(facts) else None
    return [
        f"{key}={counted}"
        if key == "vocabulary" and counted
        else listing(f"{key}=", list(map(literal, value)), indent=9)
        if isinstance(value, list | tuple)
        else f"{key}={literal(value)}"
        for key, value in facts.model_arguments.items()
    ]


def parameters(facts: ScriptFacts) -> list[str]:
    """Return the parameters of `build_model`, which only the data determine."""
    if facts.plan.model.file is not None:
        return []
    outputs = offered_outputs(facts) if facts.from_file else facts.outputs
    return (["classes"] if outputs == "classes" else []) + (
        ["tokens"] if counts_tokens(facts) else []
    )


def counts_tokens(facts: ScriptFacts) -> bool:
    """Return whether the data determine the size of the vocabulary."""
    return (
        not facts.from_file and facts.source.tokens and facts.model_arguments.get("vocabulary") == 0
    )
