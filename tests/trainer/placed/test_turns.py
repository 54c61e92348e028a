"""A card takes a micro-batch only when an earlier one has gone back from it."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow
CARD, BEFORE = "GPU:1", "GPU:0"


def traced(at_once: int | None, micro_batches: int) -> tuple[list[Any], list[Any]]:
    """What a layer on a card makes of each micro-batch, and the gradients that it sends back."""
    import tensorflow as tf

    from gpu_studio.trainer.placed.turns import Turns

    turns = Turns({} if at_once is None else {CARD: at_once})
    made, sent = [], []
    with tf.Graph().as_default():
        for _ in range(micro_batches):
            turns.begin()
            with tf.device(BEFORE):
                given = tf.random.uniform((4, 3))
            with tf.GradientTape() as tape:
                tape.watch(given)
                with tf.device(CARD):
                    outputs = turns.call(CARD, lambda x: x * x, (given,), {})
                turns.turn_back()
            made.append(outputs)
            with tf.device(CARD):
                sent.append(tape.gradient(outputs, given))
            turns.end([sent[-1]])
    return made, sent


def needed_by(tensor: Any) -> set[Any]:
    """All operations that must have run before the tensor is there."""
    found: set[Any] = set()
    left = [tensor.op]
    while left:
        operation = left.pop()
        if operation not in found:
            found.add(operation)
            left += [each.op for each in operation.inputs]
            left += operation.control_inputs
    return found


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_that_a_card_holds_no_more_micro_batches_than_it_may(at_once: int) -> None:
    made, sent = traced(at_once, 5)
    for number, outputs in enumerate(made):
        needed = needed_by(outputs)
        gone = [place for place, gradient in enumerate(sent) if gradient.op in needed]
        assert gone == list(range(max(0, number - at_once + 1))), number
        assert all(each.op in needed for each in made[:number])


def test_that_the_batch_waits_on_the_host_until_a_card_has_room_for_it() -> None:
    """Nothing has put it on a device. Four micro-batches lay on a card that may have two."""
    import tensorflow as tf

    from gpu_studio.trainer.placed.turns import Turns

    turns = Turns({CARD: 1})
    with tf.Graph().as_default():
        for _ in range(3):
            turns.begin()
            given = tf.random.uniform((4, 3))
            assert not given.device
            with tf.GradientTape() as tape, tf.device(CARD):
                tape.watch(given)
                outputs = turns.call(CARD, lambda x: x * x, (given,), {})
                turns.turn_back()
                turns.end([tape.gradient(outputs, given)])
        waiting = [op for op in needed_by(outputs) if any(x is given for x in op.inputs)]
    assert [op.device for op in waiting] == ["/device:CPU:0"]
    assert waiting[0].control_inputs


@pytest.mark.parametrize("again", [False, True])
def test_that_a_gradient_is_sent_back_when_the_one_before_has_left(*, again: bool) -> None:
    """Also where a stage is computed again: two micro-batches went back through a card at once."""
    import tensorflow as tf

    from gpu_studio.trainer.placed.turns import Turns

    turns, last = Turns({BEFORE: 2, CARD: 1}), None

    def second(x: Any) -> Any:
        return turns.call(CARD, tf.sin, (x,), {})

    with tf.Graph().as_default():
        for _ in range(3):
            turns.begin()
            given = tf.random.uniform((4, 3))
            with tf.GradientTape() as tape:
                tape.watch(given)
                with tf.device(BEFORE):
                    first = turns.call(BEFORE, tf.square, (given,), {})
                with tf.device(CARD):
                    outputs = (tf.recompute_grad(second) if again else second)(first)
                turns.turn_back()
            with tf.device(BEFORE):
                to_first, to_given = tape.gradient(outputs, [first, given])
                turns.end([to_given])
            assert last is None or last in needed_by(to_first)
            last = to_given.op


def test_that_a_device_without_a_bound_takes_all_that_come() -> None:
    made, sent = traced(None, 3)
    assert not any(gradient.op in needed_by(made[-1]) for gradient in sent)
