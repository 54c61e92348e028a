"""The part of a script for `fit` that places the layers of a model, and has `fit` compute there.

`fit` keeps its data, callbacks, metrics and losses; its step gets gradients that are computed where
the layers are. The device of each layer is that of a run, by the layers that a look at the model
found. It matches `trainer.placed`: whoever changes one must change the other.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.fit_shares import JOINED, OF_BATCH, ROWS_ONCE, SPREAD
from gpu_studio.export.fitted import FittedPlan
from gpu_studio.export.learning import ExportError
from gpu_studio.export.script_text import fill
from gpu_studio.export.strategies.placed import placement
from gpu_studio.plan.strategies.placed import MASKED_IN_PARTS

_LEAVES = """\
def leaves_of(model, before):
    \"\"\"Layers that can be placed, by name: `outer/inner` in an inner model.\"\"\"
    found = {}
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found |= leaves_of(layer, f"{before}{layer.name}/")
        else:
            found[f"{before}{layer.name}"] = layer
    return found


def build_by_kinds(model, training):
    \"\"\"Build the layers for what the data are, so that they can be placed.\"\"\"

    def symbol(kind):
        return keras.KerasTensor(tuple(kind.shape), kind.dtype.name)

    if not all(layer.built for layer in model._flatten_layers()):
        kinds = keras.tree.map_structure(symbol, training.element_spec)
        model(keras.utils.unpack_x_y_sample_weight(kinds)[0])


"""

_PARTS = """\
def cut(arrays, first, last):
    \"\"\"Some samples of a structure of arrays.\"\"\"
    return keras.tree.map_structure(lambda each: each[first:last], arrays)


def taken(arrays, first, last):
    \"\"\"Some samples in memory of their own: of a slice, an array might be changed.\"\"\"
    rows = tf.range(first, last)
    return keras.tree.map_structure(lambda each: tf.gather(each, rows), arrays)


def in_parts(model, x, given, states):
    \"\"\"What the model gives for a batch that passes through it in micro-batches.

    They are as even as possible. One that got no sample has the first, which counts for
    nothing: batch normalisation would make numbers that are none of no sample.
    \"\"\"
    samples = tf.shape(keras.tree.flatten(x)[0])[0]
    each, more = samples // MICRO_BATCHES, samples % MICRO_BATCHES
    made, scopes, shares = [], [], []
    mean, total = keras.metrics.Mean.update_state, keras.metrics.Sum.update_state
    # A loop of Python's, so the graph holds every micro-batch by itself. Nothing here says
    # in which order they run: an operation starts as soon as its inputs are there.
    for number in range(MICRO_BATCHES):
        count = each + tf.cast(number < more, tf.int32)
        first = tf.where(count > 0, number * each + tf.minimum(number, more), 0)
        drawn = [
            (state, state.value + tf.constant([0, 4096 * number], state.value.dtype))
            for state in states
        ]
        # A scope catches what layers change: each micro-batch starts from the same state.
        share = tf.cast(count, tf.float32) / tf.cast(samples, tf.float32)
        keras.metrics.Mean.update_state = once(mean, share, is_scalar)
        keras.metrics.Sum.update_state = once(total, share, is_plain)
        with keras.StatelessScope(drawn, collect_losses=True) as scope:
            some = taken(x, first, first + tf.maximum(count, 1))
            outputs = $called
        made.append($made)
        scopes.append(scope)
        shares.append(share)
    keras.metrics.Mean.update_state = mean
    keras.metrics.Sum.update_state = total
    write_parts(model, scopes, shares)
    terms = [
        of_batch(term, share)
        for scope, share in zip(scopes, shares)
        for term in scope.losses
    ]
    model._clear_losses()
    model._losses.extend(terms)
    $joined


def is_scalar(values):
    \"\"\"Whether a metric is given one number.\"\"\"
    return keras.ops.convert_to_tensor(values).shape.rank == 0


def is_plain(values):
    \"\"\"Whether a metric is given a number that no sample changes.\"\"\"
    return isinstance(values, (int, float))


def once(update, share, is_one):
    \"\"\"Let what is one number for a batch count by its micro-batch's share.\"\"\"

    def updated(metric, values, sample_weight=None):
        if is_one(values) and sample_weight is None:
            sample_weight = share
        return update(metric, values, sample_weight)

    return updated


def write_parts(model, scopes, shares):
    \"\"\"What layers changed in the micro-batches, as one change by the whole batch.

    Each micro-batch was normalised by itself; the statistics are the whole batch's (Kim
    et al. 2020, "torchgpipe", arXiv:2004.09910, 3.2.1): its variance is the mean of the
    variances plus the variance of the means.
    \"\"\"

    def left(variable):
        return [scope.get_current_value(variable) for scope in scopes]

    found = [*model.variables, *model.metrics_variables]
    normal = keras.layers.BatchNormalization
    layers = [each for each in model._flatten_layers() if isinstance(each, normal)]
    varying = {id(each.moving_variance): each for each in layers if each.built}
    for variable in {id(each): each for each in found}.values():
        drawn = variable.name == "seed_generator_state"
        if drawn or scopes[0].get_current_value(variable) is None:
            continue
        with tf.device(variable.value.device):
            old, way = variable.value, variable.aggregation
            parts = enumerate(zip(left(variable), shares))
            changes = [change_of(old, v, way, place, w) for place, (v, w) in parts]
            total = tf.add_n(changes)
            if (layer := varying.get(id(variable))) and layer.momentum != 1:
                # A moving mean holds 1 - momentum of a batch's mean: squared, that is too
                # small by this factor for the moving variance.
                between = spread(left(layer.moving_mean), shares)
                total += tf.cast(between, total.dtype) / (1 - layer.momentum)
            variable.assign(joined(old, total))


"""

_CONCATENATED = "return keras.tree.map_structure(lambda *some: tf.concat(some, axis=0), *made)"

_STEPS = """\
def weighed(update, weight):
    \"\"\"A metric's update in which each number weighs so much.\"\"\"
    return lambda metric, value, sample_weight=None: update(metric, value, weight)


def place_steps(model):
    \"\"\"The steps of `fit`, which compute each gradient where its layer is.\"\"\"
    eagerly, update = model.run_eagerly, keras.metrics.Mean.update_state
    model.jit_compile = model.run_eagerly = False
    place_updates(model.optimizer)
    $states

    def judged(data, training):
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        given = {"training": training} if model._call_has_training_arg else {}
        $outputs
        # Losses and metrics are computed where the outputs are, not where the labels come
        # from.
        with tf.device(keras.tree.flatten(outputs)[0].device):
            samples = tf.shape(keras.tree.flatten(x)[0])[0]
            # Where `fit` runs eagerly, it takes the mean of an output's loss over samples.
            if eagerly:
                keras.metrics.Mean.update_state = weighed(update, samples)
            loss = model._compute_loss(x, y, outputs, weight, training=training)
            keras.metrics.Mean.update_state = update
            model._loss_tracker.update_state(loss, sample_weight=samples)
            return loss, model.compute_metrics(x, y, outputs, sample_weight=weight)

    def train_step(data):
        loss, results = judged(data, True)
        variables = model.trainable_variables
        # A GradientTape would compute the whole backward pass on one device: it heeds only
        # the `tf.device` around the line that asks it. This older function puts each
        # operation where the forward one is whose gradient it is.
        gradients = tf.compat.v1.gradients(
            model.optimizer.scale_loss(loss),
            [variable.value for variable in variables],
            colocate_gradients_with_ops=True,
        )
        $rows
        model.optimizer.apply(gradients, variables)
        return results

    model.train_step = train_step
    model.test_step = lambda data: judged(data, False)[1]


"""
_FOUND = """\
# A model of a class of one's own counts as one that is called in another.
layers = leaves_of(model, "" if hasattr(model, "inputs") else f"{model.name}/")"""
_WHOLE = "outputs = model(x, **given)"
_IN_PARTS = """\
if training:
    outputs = in_parts(model, x, given, states)
else:
    outputs = model(x, **given)"""
_ROWS = """\
for place, variable in enumerate(variables):
    with tf.device(variable.value.device):
        gradients[place] = rows_once(gradients[place], MICRO_BATCHES)"""
_STATES = """\
shared = keras.src.random.seed_generator.global_seed_generator().state
states = [v for v in model.variables if v.name == "seed_generator_state"]
states = list({id(state): state for state in [*states, shared]}.values())"""

PLACING = """\
build_by_kinds(model, training)
place(model)
place_steps(model)"""
"""The lines that place a model and its steps."""


def fit_placed(fitted: FittedPlan) -> str:
    """The functions that place a model for `fit`; empty under other strategies.

    Raises ExportError for a model that no run places.
    """
    facts = fitted.facts
    if facts.placed is None:
        return ""
    _refuse(fitted)
    graph, parts = fitted.built.graph, facts.in_parts
    table = placement(
        facts,
        graph.feeds if graph is not None else {},
        {layer.name: layer.kind for layer in graph.layers} if graph is not None else {},
        "layers.get",
        leaves=_FOUND,
    )
    steps = fill(
        _STEPS,
        states=(_STATES if fitted.draws else "states = []") if parts else "",
        outputs=_IN_PARTS if parts else _WHOLE,
        rows=_ROWS if parts else "",
    )
    in_parts = f"{JOINED}{OF_BATCH}{SPREAD}{_parts(facts)}{ROWS_ONCE}" if parts else ""
    return f"{table.rstrip()}\n\n\n{_LEAVES}{in_parts}{steps}"


def _parts(facts: ScriptFacts) -> str:
    several = facts.micro_batches > 1
    return fill(
        _PARTS,
        called="recomputed(model, some, **given)" if facts.recomputes else "model(some, **given)",
        # The only part keeps the mask of its outputs.
        made="cut(outputs, 0, count)" if several else "outputs",
        joined=_CONCATENATED if several else "return made[0]",
    )


def _refuse(fitted: FittedPlan) -> None:
    """Raises ExportError for what no run places, and for layers that a script cannot tell apart."""
    built, facts = fitted.built, fitted.facts
    if built.own_steps:
        raise ExportError(
            f"The model has its own {built.own_steps[0]}, and only Keras' own can be placed. "
            "Choose another strategy."
        )
    if facts.micro_batches > 1 and any(each.masked for each in fitted.learners.values()):
        raise ExportError(f"{MASKED_IN_PARTS} Set distribution.placed.micro_batches to 1.")
    if built.graph is not None and any("#" in each.name for each in built.graph.layers):
        raise ExportError(
            "Two layers of the model have the same name, so that a script cannot tell them apart. "
            "Give each a name of its own."
        )
