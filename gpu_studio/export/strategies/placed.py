"""Placed, in a script: the functions that put layers on their devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_studio.export.builders import CalledLayer
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.meeting import ExportError
from gpu_studio.export.script_text import fill, indented, listing, literal
from gpu_studio.export.strategies.written import Written
from gpu_studio.plan import Placed, Plan, choose_one, shown
from gpu_studio.plan.homes import Feeds, devices_of_layers
from gpu_studio.plan.keras_objects import OPTIMIZERS, keras_name


def feeds_of(layers: Iterable[CalledLayer]) -> Feeds:
    """Return the layers of a model, its outputs included, each with its input layers."""
    found = {layer.name: layer.inputs for layer in layers}
    return found | {"outputs": tuple(found)[-1:]}


def places(
    feeds: Feeds, layers: Mapping[str, tuple[str, ...]], default: str
) -> dict[str, list[str]]:
    """Return the names of the layers on each device.

    A layer that the plan leaves out is where a run puts it. Raises ExportError for a layer that
    does not exist.
    """
    for name in layers:
        if name not in feeds:
            advice = choose_one(name, feeds)
            raise ExportError(
                f"The model has no layer {shown(name)}: "
                f"{advice}{'' if advice.endswith('?') else '.'}"
            )
    found: dict[str, list[str]] = {}
    for name, devices in devices_of_layers(feeds, layers, (default,)).items():
        found.setdefault(devices[0], []).append(name)
    return found


_PLACEMENT = """\
# The device of each layer: its weights are there, and its forward pass, its backward pass
# and its update are computed there. What one device needs of another, TensorFlow sends.
PLACES = {
$places
}
$micro_batches


def on(device, call):
    \"\"\"The function `call`, computed on a device.\"\"\"

    def call_there(*args, **kwargs):
        with tf.device(device):
            return call(*args, **kwargs)

    return call_there


def place(model):
    \"\"\"Each layer to its device: its weights, and what it computes.

    `with tf.device(…)` around the lines that build the layers would place their weights
    only: all that they compute would still run on TensorFlow's default device. Where a
    layer computes is decided when the layer is called.
    \"\"\"
    $leaves
    for device, names in PLACES.items():
        for layer in map($layer_of, names):
            layer.call = on(device, layer.call)
            for variable in layer.weights:
                value = variable.numpy()
                with tf.device(device):
                    # New storage, with the old value. Keras has no public way to do it.
                    variable._initialize(value)


def place_updates(optimizer):
    \"\"\"Each update to the device of its variable.

    Left alone, Keras would compute all updates on the default device, and send only the
    result to where the variable is.
    \"\"\"
    $inner
    update = optimizer.update_step

    def update_there(gradient, variable, rate):
        with tf.device(variable.device):
            update(gradient, variable, rate)

    optimizer.update_step = update_there
$statistics
"""

_MICRO_BATCHES = """\
# Each batch goes through in so many parts, one after another: a device is at work on one
# part while those after it are at work on the parts before (Huang et al. 2019, "GPipe",
# arXiv:1811.06965).
MICRO_BATCHES = $count"""

_INNER = 'optimizer = getattr(optimizer, "inner_optimizer", optimizer)'

_STATISTICS = '''

def write_statistics(model, scopes, shares):
    """The moving statistics of batch normalisation, from those of the micro-batches.

    Each micro-batch was normalised by itself; the statistics are the whole batch's (Kim
    et al. 2020, "torchgpipe", arXiv:2004.09910, 3.2.1): its variance is the mean of the
    variances plus the variance of the means.
    """

    def mean(values):
        return tf.add_n([share * value for share, value in zip(shares, values)])

    for layer in model.layers:
        if not isinstance(layer, keras.layers.BatchNormalization):
            continue
        with tf.device(layer.moving_mean.value.device):
            means = [scope.get_current_value(layer.moving_mean) for scope in scopes]
            variances = [
                scope.get_current_value(layer.moving_variance) for scope in scopes
            ]
            centre = mean(means)
            # A moving mean holds 1 - momentum of a batch's mean: squared, that is too
            # small by this factor for the moving variance.
            between = mean([tf.square(each - centre) for each in means])
            between /= 1 - layer.momentum
            layer.moving_mean.assign(centre)
            layer.moving_variance.assign(mean(variances) + between)
'''


def _refusals(plan: Plan) -> Iterator[str]:
    """List what a script could not do as a run does without much of the trainer."""
    placed = plan.distribution.placed or Placed()
    if not placed.layers:
        yield (
            "No layer is placed. Name some in distribution.placed.layers, or set "
            'distribution.strategy = "none".'
        )
    for name, devices in placed.layers.items():
        if len(devices) > 1:
            yield (
                f"The layer {shown(name)} is split over {', '.join(devices)}, and scripts keep "
                "layers whole. Give it one device in distribution.placed.layers, such as "
                f"{devices[0]}."
            )
    if placed.recompute:
        yield (
            "Scripts keep all activations, and compute none again. Leave "
            "distribution.placed.recompute out."
        )
    if keras_name(plan.training.optimizer, OPTIMIZERS) == "adafactor":
        yield (
            "Keras puts all that adafactor keeps on the first device. Choose another "
            "training.optimizer."
        )


def _functions(facts: ScriptFacts) -> str:
    """Return the table `PLACES` and its functions. Raises ExportError for an unknown layer."""
    if facts.placed is None or facts.by_fit:  # for `fit`, `fit_placed` places them
        return ""
    return placement(
        facts,
        feeds_of(facts.layers),
        "model.get_layer",
        statistics=_STATISTICS if facts.micro_batches > 1 and facts.keeps_statistics else "",
    )


def placement(
    facts: ScriptFacts, feeds: Feeds, layer_of: str, *, leaves: str = "", statistics: str = ""
) -> str:
    """Return the table `PLACES` and the functions that place layers and updates by it.

    In `place`, `layer_of` is the function that gives a layer by its name, which the line `leaves`
    may make. Raises ExportError for a layer that is not among `feeds`.
    """
    chosen = facts.placed.layers if facts.placed else {}
    lines = [
        listing(f"{literal(device)}: ", list(map(literal, names)), after=",", indent=4)
        for device, names in places(feeds, chosen, facts.devices[0]).items()
    ]
    return fill(
        _PLACEMENT,
        places=indented("\n".join(lines), 4),
        micro_batches=fill(_MICRO_BATCHES, count=literal(facts.micro_batches))
        if facts.micro_batches > 1
        else "",
        leaves=leaves,
        layer_of=layer_of,
        inner=_INNER if facts.scales or facts.by_fit else "",
        statistics=statistics,
    )


WRITTEN = Written(_functions, refusals=_refusals)
