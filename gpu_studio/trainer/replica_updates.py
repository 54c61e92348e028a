"""How an optimizer of Keras updates the weights of several replicas by gradients summed before.

Some optimizers change more than the weights, and some change them in a condition: they accumulate
gradients, or overwrite weights with their averages. In a replica, `tf.distribute` allows neither.
Here both are done once for all replicas, by Keras' own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

_INTERIM = tf.__internal__.distribute.interim


def update_by_sums(optimizer: Any, strategy: Any) -> None:
    """Let `optimizer.apply` take gradients that are summed over the strategy's replicas already.

    Summing them again would multiply them by the number of replicas.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    inner._all_reduce_sum_gradients = lambda gradients: gradients  # noqa: SLF001
    if strategy.num_replicas_in_sync < 2:
        return
    inner._backend_update_step = _stepping(inner._backend_update_step)  # noqa: SLF001
    if len(strategy.extended.parameter_devices) == 1:
        # Replicas that share their variables cannot each change them, as mirrored ones do.
        inner._apply_weight_decay = _once(inner._apply_weight_decay)  # noqa: SLF001
        average = _once(inner._update_model_variables_moving_average)  # noqa: SLF001
        inner._update_model_variables_moving_average = average  # noqa: SLF001
    if is_conditional(inner):
        inner._backend_apply_gradients = _Conditional(inner)  # noqa: SLF001


def is_conditional(optimizer: Any) -> bool:
    """Whether it changes variables in some steps only, which no replica can do by itself."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    overwrites = inner.use_ema and inner.ema_overwrite_frequency
    return bool(inner.gradient_accumulation_steps or overwrites)


class _Conditional:
    """What Keras does with gradients whose conditions stand in each replica, in its order."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    def __call__(self, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        """Update the weights, and what is kept besides."""
        optimizer, every = self._optimizer, self._optimizer.gradient_accumulation_steps
        if every:
            self._accumulate(gradients, variables, every)
        else:
            self._update(optimizer._clip_gradients(gradients), variables)  # noqa: SLF001
        if not optimizer.use_ema:
            return
        weights = optimizer._trainable_variables  # noqa: SLF001
        optimizer._update_model_variables_moving_average(weights)  # noqa: SLF001
        if optimizer.ema_overwrite_frequency:
            _for_all(self._overwrite)

    def _update(self, gradients: Sequence[Any], variables: Sequence[Any]) -> None:
        optimizer = self._optimizer
        optimizer._apply_weight_decay(variables)  # noqa: SLF001
        rate = optimizer.learning_rate
        optimizer._backend_update_step(gradients, variables, rate)  # noqa: SLF001

    def _accumulate(self, gradients: Sequence[Any], variables: Sequence[Any], every: int) -> None:
        """Add gradients up, and update by their mean at each `every` steps."""
        optimizer = self._optimizer
        places = [optimizer._get_variable_index(each) for each in variables]  # noqa: SLF001
        kept = [optimizer._accumulated_gradients[place] for place in places]  # noqa: SLF001
        mean = [(new + old) / every for new, old in zip(gradients, kept, strict=True)]

        def together(new: Sequence[Any], mean: Sequence[Any]) -> None:
            def update() -> None:
                self._update(mean, variables)
                optimizer._backend_reset_gradient_accumulators()  # noqa: SLF001

            def wait() -> None:
                optimizer._backend_increment_gradient_accumulators(new, kept)  # noqa: SLF001

            _if_due(optimizer._iterations, every, update, wait)  # noqa: SLF001

        _for_all(together, list(gradients), optimizer._clip_gradients(mean))  # noqa: SLF001

    def _overwrite(self) -> None:
        """Overwrite the weights with their averages, at each so many steps."""
        optimizer = self._optimizer
        weights = optimizer._trainable_variables  # noqa: SLF001

        def overwrite() -> None:
            optimizer._overwrite_model_variables_with_average_value(weights)  # noqa: SLF001

        every = optimizer.ema_overwrite_frequency
        _if_due(optimizer.iterations, every, overwrite, _nothing)


def _nothing() -> None:
    pass


def _if_due(done: Any, every: int, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
    """Do what is to be done at each `every` steps, of which `done` are done; else the other."""

    def branch(work: Callable[[], None]) -> Callable[[], Any]:
        def worked() -> Any:
            work()
            return tf.constant(0)

        return worked

    tf.cond(tf.equal((done + 1) % every, 0), branch(then), branch(otherwise))


def _stepping(step: Callable[..., None]) -> Callable[..., None]:
    """Return an update of the weights, and of whatever else the optimizer keeps."""

    def stepped(gradients: Sequence[Any], variables: Sequence[Any], rate: Any) -> None:
        _for_all(lambda summed: step(summed, variables, rate), list(gradients))

    return stepped


def _once(work: Callable[[Sequence[Any]], None]) -> Callable[[Sequence[Any]], None]:
    return lambda variables: _for_all(lambda: work(variables))


def _for_all(work: Callable[..., None], *given: Any) -> None:
    """Do this once for all replicas, also where it is asked for by each of them."""
    context = tf.distribute.get_replica_context()
    if context is None:
        work(*given)
        return

    def together(_strategy: Any, *given: Any) -> None:
        with in_one_place():
            work(*given)

    context.merge_call(together, args=given)


@contextmanager
def in_one_place() -> Iterator[None]:
    """While entered, Keras' optimizers do at once what they would ask all replicas to join for."""
    join = _INTERIM.maybe_merge_call
    _INTERIM.maybe_merge_call = lambda work, strategy, *given: work(strategy, *given)
    try:
        yield
    finally:
        _INTERIM.maybe_merge_call = join
