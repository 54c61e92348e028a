"""The part of a script that does for all replicas at once what Keras does on a single one only.

It matches `trainer.replica_updates`: whoever changes one must change the other.
"""

from __future__ import annotations

from gpu_studio.export.facts import ScriptFacts

UPDATE_FOR_ALL = """\
def update_for_all(optimizer):
    \"\"\"Accumulate gradients, and overwrite averages, once for all replicas.

    Keras does both in a condition, in which no replica may change a variable.
    \"\"\"
    interim = tf.__internal__.distribute.interim
    join = interim.maybe_merge_call

    def for_all(work, *given):
        def together(_, *given):
            interim.maybe_merge_call = lambda do, strategy, *some: do(strategy, *some)
            work(*given)
            interim.maybe_merge_call = join

        tf.distribute.get_replica_context().merge_call(together, args=given)

    def at_each(steps, done, then, otherwise):
        def branch(work):
            def worked():
                work()
                return tf.zeros(())

            return worked

        due = (done + 1) % steps == 0
        tf.cond(due, branch(then), branch(otherwise))

    def update(gradients, variables):
        optimizer._apply_weight_decay(variables)
        rate = optimizer.learning_rate
        optimizer._backend_update_step(gradients, variables, rate)

    def accumulate(gradients, variables, steps):
        places = [optimizer._get_variable_index(each) for each in variables]
        kept = [optimizer._accumulated_gradients[place] for place in places]
        mean = [(new + old) / steps for new, old in zip(gradients, kept)]

        def together(new, mean):
            def then():
                update(mean, variables)
                optimizer._backend_reset_gradient_accumulators()

            def otherwise():
                optimizer._backend_increment_gradient_accumulators(new, kept)

            at_each(steps, optimizer._iterations, then, otherwise)

        for_all(together, list(gradients), optimizer._clip_gradients(mean))

    def overwrite():
        weights = optimizer._trainable_variables

        def then():
            optimizer._overwrite_model_variables_with_average_value(weights)

        steps = optimizer.ema_overwrite_frequency
        at_each(steps, optimizer.iterations, then, lambda: None)

    def apply(gradients, variables):
        if optimizer.gradient_accumulation_steps:
            accumulate(gradients, variables, optimizer.gradient_accumulation_steps)
        else:
            update(optimizer._clip_gradients(gradients), variables)
        if optimizer.use_ema:
            weights = optimizer._trainable_variables
            optimizer._update_model_variables_moving_average(weights)
            if optimizer.ema_overwrite_frequency:
                for_all(overwrite)

    optimizer._backend_apply_gradients = apply
"""
LET_UPDATE_FOR_ALL = 'update_for_all(getattr(optimizer, "inner_optimizer", optimizer))'


def joined_updates(facts: ScriptFacts) -> str:
    """Return the function `update_for_all`; empty where each replica may do all by itself."""
    return UPDATE_FOR_ALL if facts.joins else ""
