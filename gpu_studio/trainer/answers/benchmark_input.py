"""How fast the data of a plan can be read and prepared, alone: no model, nothing is trained.

They come as training gets them, in the same parts, of the same order, onto the same devices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.trainer.answers import benchmark_timing as timing
from gpu_studio.trainer.answers.benchmark_timing import row_of

Say = Callable[[Any], None]
"""Says a text (what is done now) or a row (what was measured)."""

LEAST_S = 0.3
"""A repeat reads for at least so long."""
WARM_UP_S = 5.0
"""Batches that were prepared beforehand are read away, for at most so long."""
LOADED, READ = "load", "read"


def read_alone(plan: Plan, logical: Any, say: Say) -> Iterator[dict[str, Any]]:
    """Say a row for loading the data, and one for reading a batch. Raises TrainerError."""
    from gpu_studio.trainer import devices, strategies
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.data.values import samples_in
    from gpu_studio.trainer.passes import passes_of
    from gpu_studio.trainer.session import cut_of

    with devices.on_host():
        spread = strategies.spread_over(plan.distribution, logical)
        say("loading the data")
        began = time.perf_counter()
        data = load_data(plan.data, plan.training.seed, Path())
        taken = time.perf_counter() - began
        splits = [split for split in (data.train, data.validation, data.test) if split is not None]
        counts = [samples_in(split) or 0 for split in splits]
        whole = 0 if data.train.stream else sum(counts)
        size = 0 if data.train.stream else data.bytes
        yield row_of(
            LOADED, ["host"], size, dtype="", seconds=[taken], samples=float(whole), bytes=size
        )
        cut = cut_of(plan, data, spread)
        parts = cut.replicas // spread.strategy.num_replicas_in_sync
        passes = passes_of(plan, data, cut, spread.reads_by)
        reader = BatchReader(spread.strategy, data.train, passes, parts)
        say("reading batches")
        reader.warm_up()
        yield row_of(READ, spread.replicas, cut.batch, dtype="", **reader.measured(say))


class BatchReader:
    """Reads batch after batch, pass after pass, as the training loop does."""

    def __init__(self, strategy: Any, split: Any, passes: Any, parts: int) -> None:
        """Read `split` by `passes`, each batch in so many `parts` one after another."""
        import tensorflow as tf

        from gpu_studio.trainer.progress import TrainingProgress

        self._strategy, self._stream, self._passes = strategy, split.stream, passes
        self._parts = parts
        self._at = TrainingProgress()
        self._read = tf.function(self._batches_of, autograph=False)
        self.batches = self.samples = 0
        self.ended = False

    def warm_up(self) -> None:
        """Read away what was prepared before anybody asked for it."""
        from gpu_studio.trainer.batches import PREFETCHED

        until = time.perf_counter() + WARM_UP_S
        while not self.ended and self.batches < 2 * PREFETCHED and time.perf_counter() < until:
            self.read(1)

    def measured(self, say: Say) -> dict[str, Any]:
        """Return the seconds of a batch, in each repeat, and its samples: the mean of all."""
        seconds: list[float] = []
        before, batches = self.samples, self.batches
        for _ in range(timing.REPEATS):
            if self.ended:
                break
            count, began = self.batches, time.perf_counter()
            while not self.ended and (spent := time.perf_counter() - began) < LEAST_S:
                self.read(self._some(spent, self.batches - count))
            if read := self.batches - count:
                seconds.append((time.perf_counter() - began) / read)
            say(f"reading batches: {self.batches}")
        read = self.batches - batches
        if not seconds:
            return {"why_not": "The data can be read once, and ended before they were timed."}
        return {"seconds": seconds, "samples": (self.samples - before) / read, "count": read}

    def _some(self, spent: float, read: int) -> int:
        """How many batches to read at once: what is left of the repeat, by what was seen of it."""
        return max(1, min(1000, int((LEAST_S - spent) * read / spent))) if read else 1

    def read(self, count: int) -> None:
        """Read at most so many batches; go on with the next pass where one ends."""
        import tensorflow as tf

        left = self._passes.left(self._at)
        if left is not None:
            count = min(count, left)
        stream = self._passes.steps_from(self._at)
        done, samples, over = self._read(stream, tf.constant(count * self._parts))
        read = int(done) // self._parts
        self.batches += read
        self.samples += int(samples)
        if self._stream is None:
            return  # arrays come without end
        self._at = self._at.after_steps(read, int(samples))
        if bool(over) or self._passes.left(self._at) == 0:
            self._passes.end()
            self.ended = self._stream.once
            self._at = self._at.in_new_pass(self._at.passes + 1)

    # Traced by TensorFlow.

    def _batches_of(self, stream: Any, count: Any) -> tuple[Any, Any, Any]:
        import tensorflow as tf

        from gpu_studio.trainer.whole_batches import as_part

        def goes_on(index: Any, _samples: Any, over: Any) -> Any:
            return tf.logical_and(index < count, tf.logical_not(over))

        def step(index: Any, samples: Any, _over: Any) -> tuple[Any, Any, Any]:
            given = self._local(as_part(next(stream)))
            every = [each for part in given for each in tf.nest.flatten(part)]
            with tf.control_dependencies(every):  # each part has arrived on its device
                weights = [tf.math.count_nonzero(part[3]) for part in given]
            with tf.device("CPU:0"):
                over = given[0][4][2] > 0 if given[0][4].shape.rank else tf.constant(False)
                return index + 1, samples + tf.add_n(weights), over

        with tf.device("CPU:0"):
            start = tf.constant(0), tf.constant(0, tf.int64), tf.constant(False)
        done, samples, over = tf.while_loop(goes_on, step, start)
        return done, samples, over

    def _local(self, batch: Any) -> list[Any]:
        """Return what each replica gets, as the tuple of its parts."""
        import tensorflow as tf

        found = [self._strategy.experimental_local_results(each) for each in tf.nest.flatten(batch)]
        replicas = range(len(found[0]))
        return [
            tf.nest.pack_sequence_as(batch, [each[place] for each in found]) for place in replicas
        ]
