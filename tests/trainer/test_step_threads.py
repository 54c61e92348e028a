"""Whether one thread or several run the steps on a CPU: what is chosen, and that both are alike."""

from __future__ import annotations

import json
import subprocess

import pytest
import warm_python
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE_S
from training_runs import small_plan

from gpu_studio.plan import dumps

pytestmark = pytest.mark.slow

TRAINED_BY = """
import json, sys
from pathlib import Path
import keras, tensorflow as tf
from gpu_studio import plan as plans
from gpu_studio.trainer import session, step_threads
from gpu_studio.trainer.progress import TrainingProgress

class Elsewhere(keras.layers.Dense):
    def call(self, x):
        with tf.device("CPU:1"):
            return super().call(x)

def model(*_):
    keras.utils.set_random_seed(1)
    kind = Elsewhere if sys.argv[3] == "two" else keras.layers.Dense
    rows = keras.layers.Reshape((28, 28))
    last = [Tired(name="tired"), kind(10)] if sys.argv[3] == "tired" else [kind(10)]
    reads = keras.layers.Flatten() if sys.argv[3] == "dense" else keras.layers.GRU(5)
    layers = [rows, reads, keras.layers.Dropout(0.2), *last]
    return keras.Sequential([keras.Input((28, 28, 1)), *layers])

class Tired(keras.layers.Layer):
    # Fails in its sixth call.

    def build(self, shape):
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.calls.assign_add(1)
        return x + 0 * tf.debugging.check_numerics(tf.math.log(6 - self.calls), "too tired")

class Choice(step_threads.ThreadChoice):
    next = sys.argv[2]

vars(session)["build_model"] = model
vars(step_threads)["ThreadChoice"] = Choice
made = session.build(plans.loads(Path(sys.argv[1]).read_text()), Path(), lambda event: None)
at = TrainingProgress()
calls = []
for _ in range(3):
    try:
        call = made.program.train(made.passes.steps_from(at), at.step, 3)
    except tf.errors.OpError as error:
        print(json.dumps({"failed": str(error)}))
        sys.exit()
    began, (at, _) = at, made.passes.after(at, call)
    calls.append(call)
ran = made.program._train
streams = made.passes.open_again(), made.training_stream(0, began.samples)
print(json.dumps({
    "losses": [float(each).hex() for call in calls for each in call.losses],
    "again": [float(tf.reduce_sum(next(each)[0])) for each in streams],
    "settled": ran.choice._settled,
    "weights": [each.numpy().tobytes().hex()[:4000] for each in made.model.weights],
}))
"""


ONE = "SINGLE_THREADED_EXECUTOR"


def trained(tmp_path, executor: str, kind: str = "plain", strategy: str = "none"):
    plan = small_plan(f"distribution.strategy={strategy}")
    (tmp_path / "made.toml").write_text(dumps(plan))
    done = subprocess.run(
        [*warm_python.command("-c"), TRAINED_BY, "made.toml", executor, kind],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_that_one_thread_trains_bit_by_bit_what_several_train(tmp_path) -> None:
    several, one = trained(tmp_path, ""), trained(tmp_path, ONE)
    assert several == one
    assert len(set(one["losses"])) == 9
    assert one["settled"] is None
    assert one["again"][0] == one["again"][1] != 0


@pytest.mark.parametrize("kind", ["two", "dense"])
def test_that_steps_on_two_slices_of_a_cpu_or_without_loops_are_not_run_by_one_thread(
    tmp_path, kind: str
) -> None:
    assert trained(tmp_path, ONE, kind)["settled"] == ""


def test_that_a_step_that_fails_by_one_thread_says_where_as_by_several(tmp_path) -> None:
    several, one = trained(tmp_path, "", "tired"), trained(tmp_path, ONE, "tired")
    for found in (several, one):
        assert "too tired" in found["failed"]
        assert "tired_1/CheckNumerics" in found["failed"]


@pytest.mark.parametrize("opened", [True, False])
def test_that_data_that_cannot_be_read_are_told_of(opened) -> None:
    import tensorflow as tf

    from gpu_studio.trainer.step_threads import CalledSteps, ThreadChoice

    class One(ThreadChoice):
        next = ONE

    @tf.autograph.experimental.do_not_convert
    def element(number):
        return tf.debugging.check_numerics(tf.math.log(6 - tf.cast(number, tf.float32)), "too far")

    def twice(x):  # by a loop, as a recurrent layer has one
        return tf.while_loop(lambda turn, _: turn < 2, lambda turn, x: (turn + 1, 2 * x), (0, x))[1]

    def steps(stream, first, count):
        read = tf.TensorArray(tf.float32, size=count)
        start = tf.cast(first, tf.int32), read
        _, read = tf.while_loop(
            lambda at, _: at < count,
            lambda at, read: (at + 1, read.write(at, twice(next(stream)))),
            start,
        )
        return (read.stack(),)

    data = tf.data.Dataset.range(9).map(element)
    called = CalledSteps(steps, lambda: lambda: iter(data) if opened else None, [])
    called.choice = One()
    first = tf.constant(0, tf.int64)
    assert len(called(iter(data), first, tf.constant(6))[0]) == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="too far") as failed:
        called(iter(data), first, tf.constant(9))
    assert ("IteratorGetNext" in str(failed.value)) == opened


class Machine:
    """Takes so many seconds for a step by each executor."""

    def __init__(self, several: float, one: float) -> None:
        from gpu_studio.trainer.step_threads import ONE, SEVERAL, ThreadChoice

        self.seconds, self.one = {SEVERAL: several, ONE: one}, ONE
        self.choice = ThreadChoice()
        self.called: list[str] = []
        self.won = 0

    def trained(self, calls: int, steps: int = 10) -> list[str]:
        for _ in range(calls):
            executor = self.choice.next
            preparing = 0.0 if executor in self.called else 5.0
            self.called.append(executor)
            took = steps * self.seconds[executor] + preparing
            self.won += self.choice.measured(executor, steps, took)
        return self.called


ENOUGH = 2000
seconds = st.floats(1e-4, 0.02)


@given(seconds, seconds)
def test_that_the_faster_one_runs_the_steps_in_the_end(several: float, one: float) -> None:
    machine = Machine(several, one)
    called = machine.trained(ENOUGH)
    assert machine.won == (called[-1] == machine.one)
    if machine.won:
        assert machine.choice.gain == pytest.approx(several / one)
        assert several > one
    else:
        assert several < 1.0501 * one


def test_that_a_run_tries_nothing_in_its_first_second_nor_with_long_steps() -> None:
    machine = Machine(several=0.01, one=0.001)
    assert machine.one not in machine.trained(10)
    assert machine.one in machine.trained(5)
    assert machine.one not in Machine(several=0.03, one=0.001).trained(ENOUGH)


def test_that_both_are_tried_in_turn_five_times_each_and_then_no_more() -> None:
    machine = Machine(several=0.001, one=0.002)
    called = machine.trained(ENOUGH)
    first = called.index(machine.one)
    tried = called[first : first + 11]
    assert tried.count(machine.one) == 6, "the first of which prepares it"
    assert machine.one not in called[first + 11 :]


def test_that_calls_without_a_step_tell_nothing() -> None:
    machine = Machine(several=0.01, one=0.001)
    assert machine.one not in machine.trained(ENOUGH, steps=0)
