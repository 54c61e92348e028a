"""How an optimizer of Keras updates the weights of several replicas by gradients summed before.

Some optimizers change more than the weights, and some change them in a condition: they accumulate
gradients, or overwrite weights with their averages. In a replica, `tf.distribute` allows neither.
Here both are done once for all replicas, by Keras' own code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def update_by_sums(optimizer: Any, strategy: Any) -> None:
    """Let `optimizer.apply` take gradients that are summed over replicas already.

    Summing them again would multiply them by the number of replicas.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    inner._all_reduce_sum_gradients = lambda gradients: gradients  # noqa: SLF001
    if strategy.num_replicas_in_sync < 2:
        return
    inner._backend_update_step = joined_step(inner._backend_update_step)  # noqa: SLF001
    if len(strategy.extended.parameter_devices) == 1:
        # Replicas that share their variables cannot each change them.
        inner._apply_weight_decay = joined_once(inner._apply_weight_decay)  # noqa: SLF001
        average = joined_once(inner._update_model_variables_moving_average)  # noqa: SLF001
        inner._update_model_variables_moving_average = average  # noqa: SLF001
    if is_conditional(inner):
        update_for_all(inner)


def is_conditional(optimizer: Any) -> bool:
    """Whether it changes variables in some steps only: no replica can by itself."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    overwrites = inner.use_ema and inner.ema_overwrite_frequency
    return bool(inner.gradient_accumulation_steps or overwrites)


def update_for_all(optimizer: Any) -> None:
    """Accumulate gradients, and overwrite averages, once for all replicas.

    Keras does both in a condition, in which no replica may change a variable.
    """
    every = optimizer.gradient_accumulation_steps

    def apply(gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        if every:
            accumulate(optimizer, gradients, variables, every)
        else:
            clipped = optimizer._clip_gradients(gradients)  # noqa: SLF001
            update_weights(optimizer, clipped, variables)
        if optimizer.use_ema:
            weights = optimizer._trainable_variables  # noqa: SLF001
            optimizer._update_model_variables_moving_average(weights)  # noqa: SLF001
            if optimizer.ema_overwrite_frequency:
                for_all(lambda: overwrite_by_averages(optimizer))

    optimizer._backend_apply_gradients = apply  # noqa: SLF001


def update_weights(optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
    """Update the weights as Keras does, by gradients that are clipped."""
    optimizer._apply_weight_decay(variables)  # noqa: SLF001
    rate = optimizer.learning_rate
    optimizer._backend_update_step(gradients, variables, rate)  # noqa: SLF001


def accumulate(
    optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any], every: int
) -> None:
    """Add gradients up, and update by their mean at each `every` steps."""
    places = [optimizer._get_variable_index(each) for each in variables]  # noqa: SLF001
    kept = [optimizer._accumulated_gradients[place] for place in places]  # noqa: SLF001
    mean = [(new + old) / every for new, old in zip(gradients, kept, strict=True)]

    def together(new: Sequence[Any], mean: Sequence[Any]) -> None:
        def update() -> None:
            update_weights(optimizer, mean, variables)
            optimizer._backend_reset_gradient_accumulators()  # noqa: SLF001

        def wait() -> None:
            optimizer._backend_increment_gradient_accumulators(new, kept)  # noqa: SLF001

        at_each(every, optimizer._iterations, update, wait)  # noqa: SLF001

    for_all(together, list(gradients), optimizer._clip_gradients(mean))  # noqa: SLF001


def overwrite_by_averages(optimizer: Any) -> None:
    """Overwrite the weights with their averages, at each so many steps."""
    weights = optimizer._trainable_variables  # noqa: SLF001

    def overwrite() -> None:
        optimizer._overwrite_model_variables_with_average_value(weights)  # noqa: SLF001

    every = optimizer.ema_overwrite_frequency
    at_each(every, optimizer.iterations, overwrite, lambda: None)


def at_each(steps: int, done: Any, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
    """Do this at each so many steps, of which `done` are done; else the other."""

    def branch(work: Callable[[], None]) -> Callable[[], Any]:
        def worked() -> Any:
            work()
            return tf.constant(0)

        return worked

    due = tf.equal((done + 1) % steps, 0)
    tf.cond(due, branch(then), branch(otherwise))


def for_all(work: Callable[..., None], *given: Any) -> None:
    """Do this once for all replicas, also where each of them asks for it."""
    context = tf.distribute.get_replica_context()
    if context is None:
        work(*given)
        return

    context.merge_call(lambda _, *given: in_one_place(work, *given), args=given)


def in_one_place(work: Callable[..., None], *given: Any) -> None:
    """Do this, and at once what optimizers would ask all replicas to join for."""
    interim = tf.__internal__.distribute.interim
    join = interim.maybe_merge_call
    interim.maybe_merge_call = lambda do, strategy, *some: do(strategy, *some)
    try:
        work(*given)
    finally:
        interim.maybe_merge_call = join


def applying(optimizer: Any) -> Any:
    """Return what updates weights outside of replicas: LossScaleOptimizer has no way.

    What it does in a replica is right here, too, where gradients are summed before.
    """
    return getattr(optimizer, "_common_apply", optimizer.apply)


def joined_step(step: Callable[..., None]) -> Callable[..., None]:
    """Return an update of the weights, and of all else that the optimizer keeps."""

    def stepped(gradients: Sequence[Any], variables: Sequence[Any], rate: Any) -> None:
        for_all(lambda summed: step(summed, variables, rate), list(gradients))

    return stepped


def joined_once(work: Callable[[Sequence[Any]], None]) -> Callable[[Sequence[Any]], None]:
    """Return what does this for all replicas at once."""
    return lambda variables: for_all(lambda: work(variables))
