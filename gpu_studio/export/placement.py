"""The part of a script that puts layers on their devices."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import indented, listing
from gpu_studio.export.literals import literal
from gpu_studio.export.model import piece_of
from gpu_studio.export.places import feeds_of, places

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
    for device, names in PLACES.items():
        for layer in map(model.get_layer, names):
            layer.call = on(device, layer.call)
            with tf.device(device):
                for variable in layer.weights:
                    # New storage, with the old value. Keras has no public way to do it.
                    variable._initialize(variable.numpy())


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


def placement(facts: Facts) -> str:
    """The table `PLACES`, and the functions that carry it out. Raises ExportError for a layer that there is not."""
    if facts.placed is None:
        return ""
    table = places(feeds_of(piece_of(facts)), facts.placed.layers, facts.devices[0])
    lines = [
        listing(f"{literal(device)}: ", list(map(literal, names)), after=",", indent=4)
        for device, names in table.items()
    ]
    return fill(
        _PLACEMENT,
        places=indented("\n".join(lines), 4),
        micro_batches=fill(_MICRO_BATCHES, count=literal(facts.micro_batches)) if facts.micro_batches > 1 else "",
        inner=_INNER if facts.scales else "",
        statistics=_STATISTICS if facts.micro_batches > 1 and facts.keeps_statistics else "",
    )
