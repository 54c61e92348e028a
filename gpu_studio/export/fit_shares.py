"""The function by which the replicas of a script for `fit` count by their samples.

It does what `trainer.own_replicas` does, by the same functions, and in `fit`'s own step.
"""

from gpu_studio.export.script_text import functions_of

ROWS_ONCE = functions_of("step_gradients.py", "rows_once")
"""The function `rows_once`, as the text of a script."""
JOINED = functions_of(
    "layer_state.py", "change_of", "counted_as", "joined", "wide_type", "begun_from"
)
"""The functions by which what replicas leave in a variable becomes one value."""
OF_BATCH = functions_of("layer_state.py", "of_batch")
"""The function that says what a layer's loss for a part is worth."""
PARTS_OF_ALL = functions_of(
    "own_replicas.py",
    "counting_alike",
    "divisor_of",
    "part_of_sum",
    "seed_of_sum",
    "weight_in_mean",
    "weight_in_sum",
)
"""The functions by which what Keras reduces in a part gives what it is of the whole batch."""
SPREAD = functions_of("layer_state.py", "spread")
"""The function that gives the variance between what parts leave."""
REDUCING = """\
def masking(apply):
    def masked(sample_weight, mask, dtype, reduction):
        means = reduction in ("mean", "sum_over_batch_size")
        if mask is not None and means and hasattr(here, "share"):
            mask = counting_alike(mask, dtype, here.share, add_up)
            reduction = "sum"
        return apply(sample_weight, mask, dtype=dtype, reduction=reduction)

    return masked

def reducing(reduce):
    def number(values, sample_weight, reduction):
        # Of no sample Keras gives no number where it sees that there is none: eagerly.
        found = reduce(values, sample_weight, reduction)
        none = tuple(values.shape) == (0,) and reduction not in (None, "none")
        return tf.reduce_sum(found) if none else found

    def reduced(values, sample_weight=None, reduction="sum_over_batch_size"):
        divisor, given = None, (values, sample_weight)
        if hasattr(here, "share"):
            divisor = divisor_of(*given, reduction, here.share, add_up)
        if divisor is None:
            return number(*given, reduction)
        return part_of_sum(number(*given, "sum"), divisor)

    return reduced

def beginning(gradient):
    def begun(tape, target, sources, output_gradients=None, **named):
        if output_gradients is None and hasattr(here, "share"):
            output_gradients = seed_of_sum(target, sources, here.share)
        return gradient(tape, target, sources, output_gradients, **named)

    return begun

def adding_up(total):
    # Of several numbers that a layer adds, the sum is meant; of one, a mean.
    def added_up(loss):
        found = total(loss)
        return found if loss.shape.rank == 0 else part_of_sum(found, here.share)

    return added_up

def some(value):
    # Of a short last batch a replica may get no sample, of which a mean is no number.
    return tf.where(here.share > 0, value, tf.zeros_like(value))

def by_share(update):
    # A loss of one of several outputs: by samples where `fit` runs eagerly.
    def updated(value, sample_weight=None):
        return update(some(value), here.rows if model.run_eagerly else here.share)

    return updated

def once(update):
    def updated(metric, values, sample_weight=None):
        values = keras.ops.convert_to_tensor(values)
        if values.shape.rank == 0 and hasattr(here, "share"):
            weight = weight_in_mean(values, sample_weight, here.share)
            return update(metric, some(values), weight)
        return update(metric, values, sample_weight)

    return updated

def added_once(update):
    def updated(metric, values, sample_weight=None):
        if hasattr(here, "share"):
            sample_weight = weight_in_sum(values, sample_weight, here.share)
        return update(metric, values, sample_weight)

    return updated"""
"""The functions in which Keras' reductions go by `here.share`, by `add_up` and for the `model`."""
REDUCED = """\
reductions = keras.src.losses.loss
tf.GradientTape.gradient = beginning(tf.GradientTape.gradient)
reductions.apply_mask = masking(reductions.apply_mask)
reductions.reduce_values = reducing(reductions.reduce_values)
model._aggregate_additional_loss = adding_up(model._aggregate_additional_loss)
keras.metrics.Mean.update_state = once(keras.metrics.Mean.update_state)
keras.metrics.Sum.update_state = added_once(keras.metrics.Sum.update_state)
losses = getattr(model, "_compile_loss", None)
for metric in losses.metrics if losses else ():
    metric.update_state = by_share(metric.update_state)"""
"""The lines that put these in the place of Keras'."""
SHARES = """\
def count_by_samples(model):
    \"\"\"Each replica's gradients count by its share of the batch's samples.

    Keras divides the losses that it reduces itself by the number of replicas. That is
    the mean of the batch only where all replicas have equally many samples, and it does
    not see the means that a step of one's own takes. Metrics of one's own are as in
    Keras: each replica adds to their state, so that a count of batches counts them all.
    \"\"\"
    for name in ("scale_loss_for_distribution", "unscale_loss_for_distribution"):
        setattr(keras.src.losses.loss, name, lambda loss: loss)
    here = threading.local()  # replicas are traced in threads of their own

    def counting(step):
        def counted(data):
            context = tf.distribute.get_replica_context()
            here.rows = tf.cast(tf.shape(keras.tree.flatten(data)[0])[0], tf.float32)
            here.share = here.rows / context.all_reduce("SUM", here.rows)
            return step(data)

        return counted

    def in_turn(meet):
        # Where replicas meet, the next one clears what layers added to this one's loss.
        def met(*given, **named):
            added = [(each, [*each._losses]) for each in model._flatten_layers()]
            found = meet(*given, **named)
            for layer, losses in added:
                layer._losses.clear()
                layer._losses.extend(losses)
            return found

        return met

    def add_up(value):
        context = tf.distribute.get_replica_context()
        return in_turn(context.all_reduce)("SUM", value)

    $reducing

    def of_some(layer, moments):
        def found(inputs, mask):
            kept = layer.moving_mean, layer.moving_variance
            made, none = zip(moments(inputs, mask), kept), tf.size(inputs) == 0
            return [tf.where(none, tf.cast(old, new.dtype), new) for new, old in made]

        return found

    def joining(variable, assign):
        # State that layers change becomes what the whole batch makes of it, once for all.
        way = variable.aggregation

        def write(strategy, totals):
            total = strategy.experimental_local_results(totals)[0]
            there = variable._value

            def assign_there(there):
                return there.assign(joined(there, total))

            strategy.extended.update(there, assign_there, group=False)

        def assigned(value):
            context = tf.distribute.get_replica_context()
            if context is None or context.num_replicas_in_sync == 1:
                return assign(value)
            old = tf.convert_to_tensor(variable._value)
            # Of no sample a replica may make what is no number, and 0 times that is none.
            left = tf.where(here.share > 0, tf.cast(value, old.dtype), old)
            number = context.replica_id_in_sync_group
            change = change_of(old, left, way, number, here.share)
            return context.merge_call(write, args=(context.all_reduce("SUM", change),))

        return assigned

    $added
    def applying(optimizer):
        apply = optimizer.apply
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        inner._all_reduce_sum_gradients = lambda pairs: pairs
        $join

        def applied(gradients, trainable_variables=None):
            context = tf.distribute.get_replica_context()
            parts = [weighed(each) for each in gradients if each is not None]
            total = context.all_reduce("SUM", parts)
            replicas = context.num_replicas_in_sync
            summed = iter([rows_once(each, replicas) for each in total])
            whole = [None if each is None else next(summed) for each in gradients]
            return apply(whole, trainable_variables)

        return applied

    def weighed(gradient):
        if not isinstance(gradient, tf.IndexedSlices):  # of no sample there are no rows
            gradient = some(gradient)
        return tf.math.scalar_mul(tf.cast(here.share, gradient.dtype), gradient)

    def count(optimizer):
        optimizer.apply = applying(optimizer)

    kept = {id(v): v for v in vars(model).values()}.values()
    for optimizer in kept:
        if isinstance(optimizer, keras.optimizers.Optimizer):
            count(optimizer)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):
            layer._moments = of_some(layer, layer._moments)
    model.train_step = counting(model.train_step)
    model.test_step = counting(model.test_step)
    counted_up = {id(each) for each in model.metrics_variables}
    common = [each for each in model.variables if id(each) not in counted_up]
    $adding
    for variable in {id(each): each for each in common}.values():
        variable._direct_assign = in_turn(joining(variable, variable._direct_assign))
    $reduced
    return count


"""

ADDED = """\
def adding(variable, assign):
    # Of a variable that all replicas have in common, TensorFlow adds up what they assign:
    # the value that they began with is to count once.
    def assigned(value):
        context = tf.distribute.get_replica_context()
        if context is not None:
            first = tf.equal(context.replica_id_in_sync_group, 0)
            begun = tf.cast(variable.value, value.dtype)
            value -= tf.where(first, tf.zeros_like(begun), begun)
        assign(value)

    return assigned
"""
APART = """\
common = [each for each in common if each.name != "seed_generator_state"]"""
ADDING = """\
for variable in {id(each): each for each in model.metrics_variables}.values():
    variable._direct_assign = in_turn(adding(variable, variable._direct_assign))
common.append(keras.src.random.seed_generator.global_seed_generator().state)"""
