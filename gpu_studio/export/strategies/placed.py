"""Placed, in a script: the functions that put layers on their devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_studio.export.builders import CalledLayer
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.learning import ExportError
from gpu_studio.export.script_text import call, fill, functions_of, indented, listing, literal
from gpu_studio.export.strategies.written import Written
from gpu_studio.placement.known_problems import SPLIT_KINDS
from gpu_studio.plan import Placed, Plan, choose_one, shown
from gpu_studio.plan.homes import Feeds, devices_of_layers, homes_of_layers


def feeds_of(layers: Iterable[CalledLayer]) -> Feeds:
    """Return the layers of a model, its outputs included, each with its input layers."""
    found = {layer.name: layer.inputs for layer in layers}
    return found | {"outputs": tuple(found)[-1:]}


def places(
    feeds: Feeds, layers: Mapping[str, tuple[str, ...]], default: str
) -> dict[str, list[str]]:
    """Return the names of the layers on each device.

    A layer that the plan leaves out is where a run puts it, and one that is split is left out.
    Raises ExportError for a layer that does not exist.
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
        if len(devices) == 1:
            found.setdefault(devices[0], []).append(name)
    return found


def splits(
    feeds: Feeds, layers: Mapping[str, tuple[str, ...]], kinds: Mapping[str, str]
) -> dict[str, tuple[list[str], str]]:
    """Return the devices of each split layer, and the one on which its output is joined.

    Raises ExportError for a layer that has no units, judged by its kind.
    """
    found = {}
    devices = devices_of_layers(feeds, layers, ("",))
    homes = homes_of_layers(feeds, devices)
    for name, several in devices.items():
        if len(several) < 2:
            continue
        if kinds[name] not in SPLIT_KINDS:
            raise ExportError(
                f"The layer {shown(name)} cannot be split: a {kinds[name]} has no units of its "
                f"own. Give it one device in distribution.placed.layers, such as {several[0]}."
            )
        found[name] = list(several), homes[name]
    return found


_PLACEMENT = """\
# The device of each layer: its weights are there, and its forward pass, its backward pass
# and its update are computed there. What one device needs of another, TensorFlow sends.
PLACES = {
$places
}
$splits
$micro_batches
$parts


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
    $split
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
$slots
$statistics
$recomputed
"""

_IN_ONE = """\
# Each batch goes through in one part.
MICRO_BATCHES = 1"""

_RECOMPUTED = """\


def again():
    \"\"\"A scope that repeats what is done next in the present one.\"\"\"
    same = keras.StatelessScope(collect_losses=True)
    same.state_mapping.update(keras.src.backend.get_stateless_scope().state_mapping)
    return same


def recomputed(model, *given, **named):
    \"\"\"Call a placed model, of which only what stages take is kept for the way back.

    A stage is neighbouring layers on one device. What it makes is computed again
    with its gradients (Chen et al. 2016, arXiv:1604.06174): less memory, more time.
    \"\"\"
    $leaves
    devices = {}
    for device, names in PLACES.items():
        devices |= {id(layer): device for layer in map($layer_of, names)}
    return called_in_stages(model, devices, again, *given, **named)
"""
_STAGES = functions_of("model_layers.py", "graph_of", "nodes_of", "leaves_below") + functions_of(
    "placed/recomputing.py",
    "called_in_stages",
    "spread_graphs",
    "device_in",
    "stages_of",
    "taken_by",
    "in_stages",
    "run_stage",
    "passed_through",
)

_SPLITS = """\
# The devices of layers whose units are split over several, and where their outputs are
# joined.
SPLITS = {
$splits
}"""
_SPLIT_ALL = """\
pieces = {}
for name, (devices, home) in SPLITS.items():
    pieces |= split($layer_of(name), devices, home)
train_in_pieces(model, pieces)"""
_SPLIT = """\


def split(layer, devices, home):
    \"\"\"A part of a layer's units on each device, in the place of the whole.\"\"\"
    if why := why_whole(layer, len(devices)):
        raise SystemExit(f"The layer {layer.name} cannot be split: {why}.")
    parts = made_parts(layer, devices)
    weights = pieces_of(layer, parts)

    def call(inputs, training=None):
        outputs = []
        for device, part in zip(devices, parts):
            with tf.device(device):
                outputs.append(part.call(inputs))
        with tf.device(home):
            return joined_outputs(layer, outputs)

    layer.call = call
    for whole, pieces, axis in weights:
        let_go(whole, pieces, axis)
    return {id(whole): pieces for whole, pieces, _ in weights}


def train_in_pieces(model, pieces):
    \"\"\"Let what trains the model get the pieces of weights that are split.

    All else gets the wholes. Keras has no public way.
    \"\"\"
    kind = type(model)

    def trained(model):
        wholes = kind.trainable_variables.fget(model)
        return [piece for v in wholes for piece in pieces.get(id(v), (v,))]

    changed = {"__module__": kind.__module__}
    for name in ("trainable_variables", "trainable_weights"):
        changed[name] = property(trained)
    model.__class__ = type(kind.__name__, (kind,), changed)


"""
_SHARES = functions_of(
    "placed/placing.py",
    "why_whole",
    "units_of",
    "axes_of",
    "part_sizes",
    "made_parts",
    "pieces_of",
    "is_elementwise",
    "joined_outputs",
    "let_go",
)

_MICRO_BATCHES = """\
# Each batch goes through in so many parts, one after another: a device is at work on one
# part while those after it are at work on the parts before (Huang et al. 2019, "GPipe",
# arXiv:1811.06965).
MICRO_BATCHES = $count"""

_INNER = 'optimizer = getattr(optimizer, "inner_optimizer", optimizer)'

_SLOTS = "\n\n" + (
    functions_of("step_recording.py", "logical_name")
    + functions_of(
        "placed/devices.py", "device_of", "move", "inner_of", "is_slot", "slots_of", "move_slots"
    )
)
"""The functions by which an optimizer's variables lie beside those that they are for."""

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


def _functions(facts: ScriptFacts) -> str:
    """Return the table `PLACES` and its functions. Raises ExportError for an unknown layer."""
    if facts.placed is None or facts.by_fit:  # for `fit`, `fit_placed` places them
        return ""
    return placement(
        facts,
        feeds_of(facts.layers),
        {layer.name: layer.kind for layer in facts.layers} | {"outputs": "Dense"},
        "model.get_layer",
        statistics=_STATISTICS if facts.in_parts and facts.keeps_statistics else "",
    )


def placement(
    facts: ScriptFacts,
    feeds: Feeds,
    kinds: Mapping[str, str],
    layer_of: str,
    *,
    leaves: str = "",
    statistics: str = "",
) -> str:
    """Return the table `PLACES` and the functions that place layers and updates by it.

    `kinds` are the classes of the layers. In `place`, `layer_of` is the function that gives a layer
    by its name, which the line `leaves` may make. Raises ExportError for a layer that is not among
    `feeds`, or that cannot be split.
    """
    chosen = facts.placed.layers if facts.placed else {}
    lines = [
        listing(f"{literal(device)}: ", list(map(literal, names)), after=",", indent=4)
        for device, names in places(feeds, chosen, facts.devices[0]).items()
    ]
    split = splits(feeds, chosen, kinds)
    recomputed = ""
    if facts.recomputes:
        recomputed = fill(_RECOMPUTED, leaves=leaves, layer_of=layer_of) + f"\n\n{_STAGES}".rstrip()
    return fill(
        _PLACEMENT,
        places=indented("\n".join(lines), 4),
        splits=fill(_SPLITS, splits=_entries(split)) if split else "",
        split=fill(_SPLIT_ALL, layer_of=layer_of) if split else "",
        parts=f"{_SPLIT}{_SHARES}".rstrip() if split else "",
        micro_batches=_parts(facts),
        leaves=leaves,
        layer_of=layer_of,
        inner=_INNER if facts.scales or facts.by_fit else "",
        slots=_SLOTS.rstrip("\n") if facts.moves_slots else "",
        statistics=statistics.rstrip("\n"),
        recomputed=recomputed,
    )


def _entries(split: Mapping[str, tuple[list[str], str]]) -> str:
    lines = [
        call(f"{literal(name)}: ", "", [*map(literal, each)], after=",", indent=4)
        for name, each in split.items()
    ]
    return indented("\n".join(lines), 4)


def _parts(facts: ScriptFacts) -> str:
    if facts.micro_batches > 1:
        return fill(_MICRO_BATCHES, count=literal(facts.micro_batches))
    return _IN_ONE if facts.in_parts else ""


WRITTEN = Written(_functions, refusals=_refusals)
