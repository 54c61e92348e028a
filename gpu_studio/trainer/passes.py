"""The passes over the training samples: where the next step's are, and when a pass is over.

An epoch is a pass, unless the plan gives it a number of steps: then it goes on where the one before
ended, and is shorter where the data end before. The next pass begins with the epoch after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_studio.plan import Plan, Training
from gpu_studio.plan.catalogue import needs_length
from gpu_studio.plan.rules.start_rules import never_ends
from gpu_studio.trainer import batches
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.data import Dataset, Split
from gpu_studio.trainer.data.python_streams import PythonStream
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.meters import Call
from gpu_studio.trainer.progress import TrainingProgress


class Passes:
    """The training samples of a run, arrays or a stream, in the order of their steps."""

    def __init__(self, strategy: Any, split: Split, cut: Cut, seed: int, an_epoch: int) -> None:
        """`an_epoch` is the number of steps that the plan gives an epoch; 0 for a whole pass."""
        self._strategy, self._split, self._cut = strategy, split, cut
        self._seed, self._an_epoch = seed, an_epoch
        if split.stream is not None:
            split.stream.whole = not an_epoch
            split.stream.shuffled = split.stream.shuffled and cut.shuffled
        self._parts: Any = None
        self.gathers_rows = False
        """Whether gradients may be rows of a table, as many as a batch looks up."""
        self._open: list[Any] = []
        """The iterator over the pass under way, if it has begun: nothing else may hold it."""
        self._begun = False
        self._until = 0
        """How far the pass is read in the turn under way."""

    @property
    def steps_per_epoch(self) -> int | None:
        """The steps of an epoch, or of the longest; None if only the data know."""
        return self.left(TrainingProgress())

    @property
    def is_known(self) -> bool:
        """Whether it is known how many steps a pass has; else only the data know."""
        return _is_known(self._split, self._cut)

    @property
    def ends(self) -> bool:
        """Whether nothing follows the pass under way."""
        return self._split.stream is not None and self._split.stream.once

    def take_turns(self, held: Split | None) -> None:
        """Read nothing beyond the end of an epoch before `held` has been read to validate it.

        So it is where Python code makes both, and may draw both from the same random numbers. As
        `fit` does, if the code itself reads nothing ahead.
        """
        mine, other = self._split.stream, held and held.stream
        if self._an_epoch and mine and other and mine.runs_python and other.runs_python:
            mine.in_turn = True

    def begun(self, at: TrainingProgress) -> TrainingProgress:
        """Begin an epoch where it was left: in a new pass, if nothing is left of the one before."""
        stream = self._split.stream
        if not isinstance(stream, PythonStream) or not stream.in_turn or at.step_in_epoch:
            return at
        ended, self._open = self._open, []
        batches.let_go(ended)
        self._begun = self._begun and at.pass_steps == self._until  # else a callback ended it
        if not at.pass_steps or self.is_known or stream.endless:
            return at
        self._begin(stream, at)
        if stream.goes_on(self._cut.batch):
            return at
        stream.end()
        self._begun = False
        return at.in_new_pass(at.passes + 1)

    def left(self, at: TrainingProgress) -> int | None:
        """Return how many steps of the epoch are left at most; None if only the data know."""
        asked = self._an_epoch - at.step_in_epoch if self._an_epoch else None
        known = [each for each in (self._left_of_pass(at), asked) if each is not None]
        return max(0, min(known)) if known else None

    def alike(self, at: TrainingProgress, count: int) -> int:
        """Return how many of the next `count` steps may be one call.

        Between processes, those of batches of one size: TensorFlow gathers the rows of gradients
        there by collectives that have one shape in a call, and fails in another one.
        """
        if not self._strategy.extended._in_multi_worker_mode():  # noqa: SLF001 (no public name)
            return count
        if self._split.stream is not None:
            return 1 if self.gathers_rows else count
        return min(count, max(1, (self._cut.samples - at.pass_samples) // self._cut.batch))

    def _left_of_pass(self, at: TrainingProgress) -> int | None:
        if self._split.stream is None:
            return self._cut.steps(at.pass_samples)
        whole: int | None = self._split.stream.steps(self._cut.batch)
        return None if whole is None else whole - at.pass_steps

    def steps_from(self, at: TrainingProgress) -> Any:
        """Return an iterator over the parts of the steps from there on."""
        if not self._open:
            self._open = [batches.distribute(self._strategy, self._parts_from(at))]
        return self._open[0]

    def _parts_from(self, at: TrainingProgress) -> Any:
        split, cut, stream = self._split, self._cut, self._split.stream
        if stream is None:
            return batches.training_stream(
                split, cut, self._seed, at.passes, at.pass_samples, timed=True
            )
        self._begin(stream, at)
        given, whole = (cut.batch, cut.replicas), batches.is_default(self._strategy)
        if at.pass_steps and not isinstance(stream, PythonStream):
            return batches.stream_parts(stream, *given, at.pass_steps, cut.own, whole=whole)
        if self._parts is None:
            self._parts = batches.stream_parts(stream, *given, own=cut.own, whole=whole)
        return self._parts

    def _begin(self, stream: Any, at: TrainingProgress) -> None:
        if not self._begun:
            stream.begin(at.passes, at.pass_steps * (1 if stream.batched else self._cut.batch))
        self._begun = stream.in_turn
        if stream.in_turn:
            stream.due = self._an_epoch - at.step_in_epoch
            self._until = at.pass_steps + stream.due

    def after(self, at: TrainingProgress, call: Call) -> tuple[TrainingProgress, np.ndarray]:
        """Return the progress after a call, and how many samples each of its steps had."""
        steps = len(call.losses)
        if self._split.stream is None and call.sizes is not None:
            sizes = call.sizes
            over = at.pass_samples + int(sizes.sum()) >= self._cut.samples
        elif self._split.stream is None:
            starts = at.pass_samples + self._cut.batch * np.arange(steps)
            sizes = np.minimum(self._cut.batch, self._cut.samples - starts)
            over = at.pass_samples + int(sizes.sum()) >= self._cut.samples
        else:
            # The last batch says so only where nobody knew how many there are.
            sizes, over = call.batches[:, 0].astype(np.int64), call.over
            over = over or self._left_of_pass(at) == steps
        return at.after_steps(steps, int(sizes.sum()), pass_over=over), sizes

    def end(self) -> None:
        """Notice that a pass is over."""
        if self._split.stream is not None and self._open:
            self._split.stream.end()
            ended, self._open = self._open, []
            self._begun = False
            batches.let_go(ended)


class SplitReading:
    """A split that is read from its beginning whenever it is evaluated."""

    def __init__(self, strategy: Any, split: Split, cut: Cut, most: int) -> None:
        """`cut` is that of the split; `most` limits the batches that are read, unless it is 0."""
        self._strategy, self._split, self._cut, self._most = strategy, split, cut, most
        if (stream := split.stream) is not None:
            whole = stream.steps(cut.batch)
            stream.whole = not most or (whole is not None and most >= whole)
            stream.most = most * (1 if stream.batched else cut.batch)
            stream.due = most
        self._parts: Any = None
        self._over = False
        self._open: list[Any] = []
        self.done = 0

    @property
    def iterator(self) -> Any:
        """What the next batches are taken from; `begin` opens it."""
        return self._open[0]

    def begin(self, number: int) -> None:
        """Read from the beginning, for the `number`-th time (from 0) in the run."""
        stream, self.done, self._over = self._split.stream, 0, False
        if stream is not None:
            self._begin_stream(stream, number)
        elif not self._open:
            samples = min(self._cut.samples, self._most * self._cut.batch or self._cut.samples)
            self._cut = replace(self._cut, samples=samples)
            parts = batches.evaluation_stream(self._split, self._cut)
            self._open = [batches.distribute(self._strategy, parts)]

    def _begin_stream(self, stream: Any, number: int) -> None:
        ended, self._open = self._open, []
        batches.let_go(ended)
        stream.begin(number, 0)
        if self._parts is None:
            cut = self._cut
            whole, given = batches.is_default(self._strategy), (stream, cut.batch, cut.replicas)
            self._parts = batches.stream_parts(*given, own=cut.own, whole=whole, timed=False)
        self._open = [batches.distribute(self._strategy, self._parts)]

    @property
    def is_known(self) -> bool:
        """Whether it is known how many batches there are; else only the data know."""
        return _is_known(self._split, self._cut)

    @property
    def left(self) -> int | None:
        """How many batches are left; None if only the data know."""
        if self._over:
            return 0
        stream = self._split.stream
        whole = self._cut.steps() if stream is None else stream.steps(self._cut.batch)
        known = [each - self.done for each in (whole, self._most or None) if each is not None]
        return min(known) if known else None

    def sizes(self, call: Call) -> np.ndarray:
        """Return how many samples each batch of the call had."""
        starts = self._cut.batch * (self.done + np.arange(len(call.losses)))
        self.done += len(call.losses)
        if self._split.stream is None:
            sizes: np.ndarray = np.minimum(self._cut.batch, self._cut.samples - starts)
            return sizes
        self._over = call.over
        if self.left == 0:
            self._split.stream.end()
        return call.batches[:, 0].astype(np.int64)


def words_of_streams(training: Training, train: Split, held: Split | None) -> Iterator[str]:
    """What a run says of its streams before it begins."""
    if train.stream is not None:
        yield from train.stream.notes(training.batch_size)
        ends = not (train.stream.endless or train.stream.once or training.steps_per_epoch)
        if train.stream.length is None and ends:
            # Of batches whose size their types say, fit's means count that step's samples.
            smaller = "" if train.stream.size is None else ", and its means of the loss are smaller"
            yield (
                f"How many batches {train.stream.function.name} gives is not known before their "
                "end, where fit counts one step more: Adam and schedules are further there"
                f"{smaller}."
            )
    stream, asked = None if held is None else held.stream, training.validation_steps
    if stream is not None and stream.once and stream.batched and asked > len(stream.rows):
        first = len(stream.rows)
        yield (
            f"{stream.function.name} gives a generator to validate on, which no epoch can begin "
            f"anew: each validates with its first {first} batches and the next {asked - first}. "
            "fit also leaves out what it has read ahead, which no two starts have alike."
        )


def pass_over(
    held: Split | None, cut_for: Callable[[Split], Cut], training: Training, at: TrainingProgress
) -> None:
    """Leave behind what the epochs before a resume have read of what they validate with.

    It may be a part of the stream that is trained on, and shuffled with that.
    """
    if held is not None and held.stream is not None:
        SplitReading(None, held, cut_for(held), training.validation_steps)  # how much is read
        held.stream.pass_over(training.validations(at.epoch))


def _is_known(split: Split, cut: Cut) -> bool:
    return split.stream is None or split.stream.steps(cut.batch) is not None


def refuse_unended(name: str, split: Split | None, field: str, steps: int, passes: int) -> None:
    """Raises PlanRefused for a stream that cannot be read as often as the plan asks.

    `steps` is the plan's `field`, and `passes` are how many times the stream would be read.
    """
    stream = None if split is None else split.stream
    if stream is None:
        return
    if never_ends(endless=stream.endless, steps=steps):
        raise PlanRefused(
            f"{name} returned {stream.kind} that never ends, and {field} is 0: the end would never "
            "come.",
            [f"Set {field} to a number of batches.", "Or let the data end: leave out .repeat()."],
        )
    if stream.once and passes > 1 and not steps:
        raise PlanRefused(
            f"{name} returned {stream.kind}, which can be read once, and it would be read {passes} "
            "times.",
            [
                (
                    "Return the function that makes the generator, without calling it, or let "
                    f"{name.rpartition(':')[2]} itself yield the batches."
                ),
                "Or set training.epochs to 1.",
            ],
        )


def passes_of(plan: Plan, dataset: Dataset, cut: Cut, reads_by: Any) -> Passes:
    """Return the passes over the training samples, which the strategy `reads_by` hands out.

    Raises PlanRefused if they cannot be read as often as the plan asks, or if their length is
    needed and unknown.
    """
    _refuse_untrained(plan.training, dataset.name)
    training, name, epochs = plan.training, dataset.name, plan.training.trained_epochs
    asked = training.steps_per_epoch, training.validation_steps
    refuse_unended(name, dataset.train, "training.steps_per_epoch", asked[0], epochs)
    validations = training.validations(training.epochs)
    refuse_unended(name, dataset.validation, "training.validation_steps", asked[1], validations)
    refuse_unended(name, dataset.test, "the number of test batches", 0, 1)
    passes = Passes(reads_by, dataset.train, cut, training.seed, asked[0])
    schedule = training.schedule
    counts = schedule is not None and needs_length(schedule.name, schedule.options)
    if schedule is not None and counts and passes.steps_per_epoch is None:
        raise PlanRefused(
            f"The schedule {schedule.name} goes by the length of an epoch, and how many batches "
            f"{dataset.name} gives is known only once they have been read.",
            [
                "Set training.steps_per_epoch to their number.",
                "Or give the schedule its steps: training.schedule.options.every_steps.",
                "Or let the data know their number: tf.data.experimental.assert_cardinality.",
            ],
        )
    return passes


def _refuse_untrained(training: Training, name: str) -> None:
    """Raises PlanRefused where a script gives `fit` no epoch to train."""
    if training.trained_epochs < 1:
        before = training.initial_epoch
        given = f"epochs={training.epochs}" + (f" and initial_epoch={before}" if before else "")
        raise PlanRefused(
            f"{name} gives fit {given}: that trains nothing, and so does this run.",
            [f"Train up to an epoch of your own: --set training.epochs={before + 1}."],
        )


def nothing_left(epoch: int, epochs: int) -> tuple[str, str]:
    """Say that data which could be read once have been, after so many epochs, and what helps."""
    said = f"The data have ended, and so has the training: after {epoch} of {epochs} epochs."
    return said, "Return a function that yields the batches: it can be read again."


def ended_early(progress: TrainingProgress, asked: int) -> tuple[str, str]:
    """Say that the data ended before the steps that the plan gives an epoch, and what helps."""
    said = (
        f"The data ended after {progress.step_in_epoch} of the {asked} steps of epoch "
        f"{progress.epoch + 1}: it is shorter, and the next begins where the data begin."
    )
    return said, "Let the data repeat, as .repeat() does, or set training.steps_per_epoch to 0."
