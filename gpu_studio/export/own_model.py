"""The part of a script that gets a model of the user's own: from a `.keras` file, or from a Python function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_studio.export.errors import ExportError
from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import call
from gpu_studio.export.literals import literal
from gpu_studio.export.paths import located
from gpu_studio.plan.problems import shown
from gpu_studio.plan.references import Reference, reference

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
    # Its code finds what stands beside it: modules, and files by their names.
    started_in = Path.cwd()
    os.chdir(MODEL_FILE.parent)
    sys.path.insert(0, str(MODEL_FILE.parent))
    spec = importlib.util.spec_from_file_location(MODEL_FILE.stem, MODEL_FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = module.$function
    # Beside its options it is given what it names of these.
    offered = {
        "input_shape": $shape,
        "outputs": $outputs,
        "classes": $classes,
        "seed": SEED,
    }
    named = inspect.signature(function).parameters
    given = {name: value for name, value in offered.items() if name in named}
    model = function(**(given | MODEL_OPTIONS))
    os.chdir(started_in)
    # The loop below calls the model and nothing else of it.
    for name in ("train_step", "test_step", "compute_loss"):
        if getattr(type(model), name) is not getattr(keras.Model, name):
            raise SystemExit(f"The model has a {name} of its own, never called here.")
    if isinstance(model, keras.Sequential) and not model.built:
        model.build((None, *offered["input_shape"]))
    if not hasattr(model, "inputs"):
        # Called on numbers first: then its layers make their weights.
        model(np.zeros((1, *offered["input_shape"]), "$dtype"))
        inputs = keras.Input(offered["input_shape"], dtype="$dtype", name="inputs")
        model = keras.Model(inputs, model(inputs), name=model.name)
    return model


"""

_ENDS = """\
def ends_in_logits(model):
    \"\"\"Whether the outputs are plain scores: no softmax or sigmoid made them.\"\"\"
    last = model.outputs[0]._keras_history.operation
    activation = getattr(getattr(last, "activation", None), "__name__", "")
    kind = type(last).__name__
    if kind in ("Softmax", "Sigmoid") or activation in ("softmax", "sigmoid"):
        return False
    # What comes last may pass on or mix what a softmax gave: what the model gives tells.
    samples = np.ones((model.input_shape[0] or 8, *model.input_shape[1:]), "$dtype")
    with keras.StatelessScope():  # it leaves the model as it is
        (outputs,) = keras.tree.flatten(model(samples, training=False))
    outputs = np.asarray(keras.ops.cast(outputs, "float32"))
    return bool((outputs < 0).any() or abs(outputs.sum(axis=-1) - 1).max() > 0.01)
"""


def own_model(facts: Facts) -> str:
    """The functions `build_model` and `ends_in_logits`. Raises ExportError."""
    named = reference(facts.plan.model.python or "")
    made = _called(facts, named) if named else _loaded(facts)
    return made + fill(_ENDS, dtype=_dtype(facts))


def _loaded(facts: Facts) -> str:
    return fill(_LOAD, file=_place(facts, "model.file", str(facts.plan.model.file), "model"))


def _called(facts: Facts, named: Reference) -> str:
    return fill(
        _CALL,
        file=_place(facts, "model.python", named.file, "function is that makes the model"),
        options=_options(facts.plan.model.options),
        parameters="classes" if facts.outputs == "classes" else "",
        function=named.function,
        shape=literal(facts.source.shape),
        outputs=facts.outputs,
        classes=facts.outputs if facts.source.task == "classes" else "None",
        dtype=_dtype(facts),
    )


def _dtype(facts: Facts) -> str:
    return "int32" if facts.source.tokens else "float32"


def _place(facts: Facts, field: str, file: str, what: str) -> str:
    line = call("MODEL_FILE = ", "Path", [literal(str(located(field, file, facts.base)))])
    where = what if " is " in what else f"{what} is"
    return f"# Where the {where}; on another machine, say where it is there.\n{line}"


def _options(options: Mapping[str, Any]) -> str:
    try:
        return literal(options)
    except TypeError as error:  # dates and times, which TOML has
        raise ExportError(f"model.options is {shown(options)}, which no script can spell: leave dates out.") from error
