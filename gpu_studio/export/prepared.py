"""The part of a script that loads given weights into the model, and freezes layers of it."""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.own_code import place_of
from gpu_studio.export.script_text import fill, listing, literal
from gpu_studio.plan.freezing import THAW

_LOAD = """\
$file


def load_given_weights(model):
    \"\"\"Begin with the weights of that file instead of drawn ones.\"\"\"
    if not model.built:
        raise SystemExit("Give it inputs where it is made: keras.Input, or a call.")
    $load


"""
_WHOLE = "model.load_weights(WEIGHTS_FILE)"
_OR_INNER = """\
try:
    model.load_weights(WEIGHTS_FILE)
except ValueError:  # they are of the model that is called in this one
    model.layers[-1].load_weights(WEIGHTS_FILE)"""

_FREEZE = """\
# Patterns of layers' names and of the models' that they are in. The last that names a
# layer decides$thawed.
$frozen


def layers_of(path, layer, trains=True):
    \"\"\"A layer and all in it: the path, `model/layer`, and whether it is trained.\"\"\"
    trains = trains and layer.trainable
    yield path, layer, trains
    for inner in layer.layers if isinstance(layer, keras.Model) else ():
        yield from layers_of(f"{path}/{inner.name}".lstrip("/"), inner, trains)


MADE = []  # what layers there are, and which the model itself trains


def freeze(model, entries):
    \"\"\"Leave layers as they are; a frozen batch normalisation works as in inference.\"\"\"
    whole = "" if hasattr(model, "inputs") else model.name
    MADE.extend(() if MADE else layers_of(whole, model))
    for path, layer, trains in MADE:
        around = list(itertools.accumulate(path.split("/"), "{}/{}".format))
        for entry in entries:
            if path and fnmatch.filter(around, entry.removeprefix("!")):
                trains = entry.startswith("!")
        if isinstance(layer, keras.Model):
            layer._trainable = True  # `trainable` would thaw all that is in it
            for variable in layer._trainable_variables:
                variable.trainable = trains
        elif trains != layer.trainable:
            layer.trainable = trains
"""


def prepared(facts: ScriptFacts) -> str:
    """The functions that prepare the model, as far as the plan asks for it. Raises ExportError."""
    model, text = facts.plan.model, ""
    if model.weights is not None:
        file = place_of("WEIGHTS_FILE", "model.weights", model.weights, facts, "weights are")
        text += fill(_LOAD, file=file, load=_WHOLE if model.python is None else _OR_INNER)
    if model.frozen or facts.plan.training.phases:
        frozen = listing("FROZEN = ", [literal(each) for each in model.frozen], indent=0)
        thaws = any(each.startswith(THAW) for each in model.frozen)
        text += fill(_FREEZE, frozen=frozen, thawed='; "!" thaws' if thaws else "")
    return text


def preparing(facts: ScriptFacts) -> str:
    """The lines that call them on the new model."""
    model = facts.plan.model
    lines = ["load_given_weights(model)"] if model.weights is not None else []
    return "\n".join([*lines, *(["freeze(model, FROZEN)"] if model.frozen else [])])
