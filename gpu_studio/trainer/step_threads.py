"""The steps of a call as a function of TensorFlow's, run by as many threads as are faster.

On a CPU, TensorFlow hands operations to a pool of threads. Those of a recurrent layer of a few
units are small, and wait for each other: handing over takes longer than they do, and the calling
thread alone runs them in two thirds of the time. Where units are many, several threads win. Which
it is depends on the machine, too. So a run whose steps have loops tries both in turn, once it has
trained for a second. Both run the same kernels: the results are equal, bit by bit. Other steps are
not tried. They gain less, and may hold more than is predicted where one thread orders operations.

The executor of one thread (TensorFlow's single_threaded_executor.cc) cannot run a loop that is part
of a graph, so the loop over the steps stays an operation there. And it does not say which operation
failed: a call that fails is repeated by several threads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.eager.context import function_executor_type
from tensorflow.python.eager.polymorphic_function import atomic_function

from gpu_studio.contract.events import Event, Log

SEVERAL, ONE = "", "SINGLE_THREADED_EXECUTOR"
"""TensorFlow's names of its executors."""
WARM_SECONDS = 1.0
"""A run that trains for less than that gains nothing by trying."""
TRIES = 5
LONGEST_STEP = 0.02
"""Seconds of a step; what a longer one takes is decided by its operations."""
LEAST_GAIN = 1.05
"""What is nearer to as fast may be chance."""
ONE_WINS = (
    "One thread computes the steps {:.1f} times as fast as several: the run goes on with one."
)
_LOWERED = "_lower_using_switch_merge"
"""TensorFlow's name of whether a loop becomes a part of the graph that it stands in."""


OpenAgain = Callable[[], Any]
"""Opens the stream of the last call at its first step once more; None if that takes too long."""


class ThreadChoice:
    """Which executor the next call is to have, by the seconds a step that each has taken so far."""

    def __init__(self) -> None:
        self._settled: str | None = None
        self._calls = {SEVERAL: 0, ONE: 0}
        self._tried: dict[str, list[float]] = {SEVERAL: [], ONE: []}
        self._warm = 0.0

    @property
    def next(self) -> str:
        """The executor of the next call."""
        if self._settled is not None:
            return self._settled
        trying = self._warm >= WARM_SECONDS and self._calls[ONE] <= len(self._tried[SEVERAL])
        return ONE if trying else SEVERAL

    def settle(self, executor: str) -> None:
        """Try no more: all calls from now on have this one."""
        self._settled = executor

    def measured(self, executor: str, steps: int, seconds: float) -> bool:
        """Learn from a call of so many steps; return whether that settles for one thread.

        The first call of an executor also prepares it, and does not count.
        """
        self._calls[executor] += 1
        if self._settled is not None or self._calls[executor] == 1 or not steps:
            return False
        if self._warm < WARM_SECONDS:
            self._warm += seconds
            if self._warm >= WARM_SECONDS and seconds / steps > LONGEST_STEP:
                self.settle(SEVERAL)
            return False
        self._tried[executor].append(seconds / steps)
        if min(map(len, self._tried.values())) < TRIES:
            return False
        self.settle(SEVERAL if self.gain < LEAST_GAIN else ONE)
        return self.next == ONE

    @property
    def gain(self) -> float:
        """How many times as fast one thread is as several, once both have been tried."""
        return statistics.median(self._tried[SEVERAL]) / statistics.median(self._tried[ONE])


class CalledSteps:
    """Steps of training, by a stream, a first step and a count; they return their losses first."""

    def __init__(
        self,
        steps: Callable[..., Any],
        reopens: Callable[[], OpenAgain | None],
        noticed: list[Event],
    ) -> None:
        """One thread may run them if `reopens` gives what opens the stream of a call once more.

        `noticed` gets what is to be told of that.
        """
        self.choice, self._noticed = ThreadChoice(), noticed
        self._traced = tf.function(steps, autograph=False)
        self._reopens = reopens
        self._by_one: dict[Any, Any] = {}

    def get_concrete_function(self, *given: Any) -> Any:
        """Return the function as TensorFlow traces it for such arguments."""
        return self._traced.get_concrete_function(*given)

    def __call__(self, stream: Any, first: Any, count: Any) -> Any:
        """Run them, and learn how long they took."""
        executor = SEVERAL if self._reopens() is None else self.choice.next
        began = time.perf_counter()
        run = self._traced if executor == SEVERAL else self._run_by_one
        made = run(stream, first, count)
        if self.choice.measured(executor, made[0].shape[0], time.perf_counter() - began):
            self._noticed.append(Log(message=ONE_WINS.format(self.choice.gain)))
        return made

    def _run_by_one(self, stream: Any, first: Any, count: Any) -> Any:
        traced = self._traced.get_concrete_function(stream, first, count)
        if traced not in self._by_one:
            self._by_one[traced] = _for_one_thread(traced)
        alone, given = self._by_one[traced], (stream, first, count)
        if alone is None:
            self.choice.settle(SEVERAL)
            return self._traced(*given)
        try:
            with function_executor_type(ONE):
                return alone.call_with_captures(given, {}, traced.captured_inputs)
        except tf.errors.OpError:
            self.choice.settle(SEVERAL)
            open_again = self._reopens()
            again = None if open_again is None else open_again()
            if again is not None:
                self._traced(again, first, count)
            raise


def _for_one_thread(traced: Any) -> Any:
    """Return a traced function as one that a thread alone can run, if steps have loops, else None.

    None also if it uses two devices: an operation that is a loop lies on one, with all that it
    does.
    """
    whole = traced.graph.as_graph_def()
    called = [node for each in whole.library.function for node in each.node_def]
    named = {tf.DeviceSpec.from_string(each.device) for each in (*whole.node, *called)}
    one_device = all(each.device_index in (None, 0) for each in named)
    if not one_device or not any(_is_loop(each.op) for each in called):
        return None
    for op in traced.graph.get_operations():
        if _is_loop(op.type):
            op._set_attr(_LOWERED, attr_value_pb2.AttrValue(b=False))  # noqa: SLF001
    name = f"{traced.name.decode()}_by_one_thread"
    return atomic_function.from_func_graph(name, traced.graph, {}, traced.function_type)


def _is_loop(operation: str) -> bool:
    return operation.endswith("While")
