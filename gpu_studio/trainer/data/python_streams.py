"""Streams that Python code of the user's own makes while a run is under way."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from itertools import chain, count, islice
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.trainer.data.streams import (
    PARTS,
    PEEKED,
    DatasetStream,
    Stream,
    arrays_of,
    fits,
    stacked,
)
from gpu_studio.trainer.data.trees import called, flat, leaves, mapped
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError
from gpu_studio.trainer.user_code import UserFunction, pulling
from gpu_studio.trainer.user_code.places import place_of
from gpu_studio.trainer.user_code.stream_kinds import (
    SPLITS,
    is_dataset,
    is_sequence,
    is_stream,
    opener,
)
from gpu_studio.trainer.user_code.telling import kind_in_words

# Keeps the order of a pass apart from every other use of the plan's seed.
_ORDER = 0x0DE2


class PythonStream(Stream):
    """Elements that Python code makes while a run is under way, one by one."""

    def __init__(self, function: UserFunction, seed: int, split: int = 0) -> None:
        """`split` is the place of the split in `SPLITS`: each draws random numbers of its own."""
        super().__init__(function, seed)
        self._split = split
        self._number = self._skipped = 0
        self._under_way: Iterator[Any] | None = None
        self._left_at: Any = None

    @property
    def runs_python(self) -> bool:
        """As of `Stream`."""
        return True

    def _learn(self, came: list[Any]) -> None:
        found = [self._whole(each) for each in came]
        self._paths = [path for path, _ in leaves(found[0])]
        every = zip(*(flat(each) for each in found), strict=True)
        specs = iter([_spec(same, batched=self.batched) for same in every])
        self._spec = mapped(lambda _: next(specs), found[0])

    @property
    def spec(self) -> Any:
        """The types and shapes of a batch."""
        if self.batched:
            return self._spec
        return mapped(lambda each: tf.TensorSpec([None, *each.shape], each.dtype), self._spec)

    def begin(self, number: int, skipped: int) -> None:
        """Prepare the pass, which begins once it is iterated."""
        self._number, self._skipped = number, skipped
        self._under_way = self._left_at = None

    def batches(self, size: int) -> Iterator[tuple[Any, bool]]:
        """Yield each batch of the pass that was begun, and whether it is known to end it.

        Samples that come one by one are put together to batches of `size`. Where nobody knows how
        many batches there are, one is read ahead, but none that is not yet due.
        """
        whole = self._due_of(self._rest_of_pass(size))
        if self.endless or self.steps(size) is not None:
            yield from ((batch, False) for _, batch in whole)
            return
        held = list(islice(whole, 1))
        for each in whole:
            yield held.pop()[1], False
            held.append(each)
        yield from ((batch, number != self.due) for number, batch in held)

    def _rest_of_pass(self, size: int) -> Iterator[Any]:
        if self._under_way is None or not self.in_turn:
            self._under_way = self._pulled() if self.batched else _gathered(self._pulled(), size)
        return self._under_way

    def _due_of(self, rest: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the batches that are due, by their numbers from 1 on.

        Others may draw random numbers before the next are due, but not where this goes on: a
        resumed run does not know theirs.
        """
        if self._left_at is not None:
            _go_on_drawing(self._left_at)
        for number, batch in enumerate(islice(rest, self.due or None), 1):
            if self.in_turn and number == self.due and not self._draws_on:
                self._left_at = _drawn()
            yield number, batch

    @property
    def _draws_on(self) -> bool:
        """Whether it draws on where whatever else draws random numbers has left off."""
        return False

    def goes_on(self, size: int) -> bool:
        """Whether the pass has more batches, after those that were due and have been read."""
        rest = self._rest_of_pass(size)
        if self._left_at is not None:
            _go_on_drawing(self._left_at)
        try:
            more = list(islice(rest, 1))
        except Exception:
            self.check()
            raise
        self._under_way, self._left_at = chain(more, rest), self._left_at and _drawn()
        return bool(more)

    def _set_seeds(self) -> None:
        """Let the code draw the random numbers of the pass that was begun."""
        set_seeds(self._seed, self._number, self._split)

    def _read(self) -> Iterator[Any]:
        """Return the elements of the pass that was begun, without those to be skipped."""
        raise NotImplementedError

    _without_empty = "Leave it out."

    def _place_of(self, number: int) -> int:
        """Return by what number the user knows an element of the pass, counted from 0."""
        return number

    def _pulled(self) -> Iterator[Any]:
        """Yield the elements of the pass, and keep the exception that ends them."""
        try:
            with pulling():
                self._set_seeds()
                elements = self._read()
            for number in count(self._skipped):
                with pulling():
                    found = next(elements, _END)
                if found is _END:
                    return
                yield self._checked(found, number)
        except Exception as error:
            self._failure = error
            raise

    def _checked(self, element: Any, number: int) -> Any:
        found = self._whole(element)
        what = "batch" if self.batched else "sample"
        begun = f"{self.function.name}: {what} {self._place_of(number)} has"
        if [path for path, _ in leaves(found)] != self._paths:
            raise self._wrong(f"{begun} other parts than those before", "Give all alike.")
        arrays = []
        for (path, leaf), spec in zip(leaves(found), flat(self._spec), strict=True):
            if not spec.shape.is_compatible_with(leaf.shape):
                name = called(PARTS[int(path[0])], path[1:])
                before = tuple(spec.shape)
                advice = f"Give {name} the same shape in all, but for the number of samples."
                raise self._wrong(
                    f"{begun} {name} of shape {leaf.shape}, and those before have {before}", advice
                )
            kept = _typed(leaf, spec)
            if kept is None:
                name = called(PARTS[int(path[0])], path[1:])
                raise self._wrong(
                    f"{begun} {name} of type {leaf.dtype}, and those before have "
                    f"{spec.dtype.name}, which does not hold it",
                    f"Give {name} the same type in all, as astype does.",
                )
            arrays.append(kept)
        if self.batched:
            self._refuse_uneven(found, f"{begun} parts")
            if not len(arrays[0]):
                raise self._wrong(f"{begun} no samples", self._without_empty)
        ordered = iter(arrays)
        return mapped(lambda _: next(ordered), found)


_END = object()


def _gathered(samples: Iterator[Any], size: int) -> Iterator[Any]:
    while found := list(islice(samples, size)):
        yield stacked(found)


def _spec(same: tuple[Array, ...], *, batched: bool) -> tf.TensorSpec:
    """Return the type and shape of arrays: an axis on which they differ has no fixed size."""
    shapes = list(zip(*(each.shape for each in same), strict=True))
    shape = [axis[0] if len(set(axis)) == 1 else None for axis in shapes]
    kind = same[0].dtype
    dtype = tf.string if kind.kind in "OSU" else tf.as_dtype(kind)
    return tf.TensorSpec([None, *shape[1:]] if batched else shape, dtype)


def _typed(leaf: Array, spec: tf.TensorSpec) -> Array | None:
    """Return an array in the type of those before it, None if that would change its values.

    Floats lose digits only.
    """
    if spec.dtype == tf.string:
        return leaf
    wanted = np.dtype(spec.dtype.as_numpy_dtype)
    whole = leaf.dtype.kind in "iu" and wanted.kind in "iu"
    keeps = fits(leaf, wanted) if whole else np.can_cast(leaf.dtype, wanted, "same_kind")
    return leaf.astype(wanted, copy=False) if keeps else None


class GeneratorStream(PythonStream):
    """A generator, or whatever else can be iterated; or a function that makes one for each pass."""

    kind = "a generator"

    def __init__(
        self,
        function: UserFunction,
        seed: int,
        value: Any,
        again: Callable[[], Any] | None,
        split: int = 0,
    ) -> None:
        """`again` begins reading anew; `value` is read where it is None, once."""
        super().__init__(function, seed, split)
        self.once, self._again = again is None, again
        opened = value
        if again is not None:
            self.kind = f"{kind_in_words(value)} of batches"
            set_seeds(seed, 0, split)
            opened = function.guarded(again)
        if not isinstance(opened, Iterator):
            raise self._refused(
                f"gave {kind_in_words(opened)}", "Let it be a generator: a function that yields."
            )
        came = self._peek_at(opened)
        self._learn(came)
        self._first, self._rest, self._taken = came, opened, 0
        self._at_text = _drawn()
        self._drawn_so_far: Any = None  # where the next ones go on to draw

    @property
    def _draws_on(self) -> bool:
        """As of `PythonStream`: what a script gives `fit` draws on where its text has left it."""
        return self._again is None and bool(self.function.begins)

    def _set_seeds(self) -> None:
        """As of `PythonStream`."""
        if self._reads_next_ones and not self._draws_on:
            if self._drawn_so_far is None:
                set_seeds(self._seed, 0, self._split)
            else:
                _go_on_drawing(self._drawn_so_far)
        elif not self._draws_on:
            super()._set_seeds()
        elif self._at_text is not None and not self.most:  # a model has been made meanwhile
            _go_on_drawing(self._at_text)
            self._at_text = None

    def _read(self) -> Iterator[Any]:
        if self._again is not None:
            return islice(self._again(), self._skipped, None)
        if self._reads_next_ones:
            return self._next_ones()
        # The peeked at must not be lost where nothing begins anew.
        first, self._first = self._first, []
        stop = self._skipped + self.most if self.most else None
        return islice(chain(first, self._rest), self._skipped, stop)

    @property
    def _reads_next_ones(self) -> bool:
        return self._again is None and self.most > 0 and self.batched

    def _next_ones(self) -> Iterator[Any]:
        """What `fit` validates with in an epoch: the first that it looked at, and the next ones.

        It also leaves out what it has read ahead by then, which no two starts have alike.
        """
        new = max(0, self.most - len(self._first))
        due, self._taken = self._number * new - self._taken, (self._number + 1) * new
        next(islice(self._rest, due, due), None)  # those of the epochs before a resume
        # A copy of those, which a step might compute on in place.
        yield from map(deepcopy, self._first[: self.most])
        for each in islice(self._rest, new):
            self._drawn_so_far = _drawn()
            yield each


class SequenceStream(PythonStream):
    """A `keras.utils.PyDataset`: batches by their numbers, shuffled for training as `fit` does."""

    kind = "a PyDataset"
    resumes = "it goes on with the next batch by its number"

    def __init__(self, function: UserFunction, seed: int, data: Any, split: int) -> None:
        super().__init__(function, seed, split)
        self._data, self._trains, self._ended = data, not split, 0
        self.shuffled = self._trains
        many = function.guarded(lambda: data.num_batches)
        self.endless = many is None
        self.length = None if many is None else int(many)
        peeked = range(PEEKED if many is None else min(PEEKED, int(many)))
        self._learn(self._peek_at(data[index] for index in peeked))

    def _is_batch(self, element: Any) -> bool:  # noqa: ARG002
        return True

    def begin(self, number: int, skipped: int) -> None:
        """Prepare the pass: ends have been reported as often as by `fit`.

        It tells one before it begins, and before each validation.
        """
        super().begin(number, skipped)
        while self._ended < 1 + number * (1 if self._trains else 2):
            self.end()
        set_seeds(self._seed, number, self._split)
        self.function.guarded(self._data.on_epoch_begin)

    def end(self) -> None:
        """Tell that a pass is over."""
        set_seeds(self._seed, self._ended, self._split)
        self._ended += 1
        self.function.guarded(self._data.on_epoch_end)

    _without_empty = "Leave it out: its __len__ counts the batches that have samples."

    def _place_of(self, number: int) -> int:
        return number if self.length is None else int(self._whole_order(self.length)[number])

    def _whole_order(self, length: int) -> Array:
        if not self.shuffled:
            return np.arange(length)
        seeds = [_ORDER, self._seed, self._number]
        return np.random.Generator(np.random.PCG64(seeds)).permutation(length)

    def _order(self) -> Iterator[int]:
        if self.length is None:
            return count(self._skipped)
        return iter(self._whole_order(self.length)[self._skipped :].tolist())

    def _read(self) -> Iterator[Any]:
        workers = int(self._data.workers)
        if workers <= 1:
            return (self._data[index] for index in self._order())
        return self._read_ahead(workers)

    def _read_ahead(self, workers: int) -> Iterator[Any]:
        """Make batches in threads, also where processes were asked for; their order stays."""
        most = max(workers, int(self._data.max_queue_size))
        ahead: deque[Future[Any]] = deque()
        pool = ThreadPoolExecutor(workers, thread_name_prefix="batches")
        try:
            for index in self._order():
                ahead.append(pool.submit(self._data.__getitem__, index))
                if len(ahead) >= most:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _drawn() -> Any:
    """Where Python's and NumPy's random numbers are."""
    return random.getstate(), np.random.get_state()


def _go_on_drawing(drawn: Any) -> None:
    random.setstate(drawn[0])
    np.random.set_state(drawn[1])


def set_seeds(seed: int, number: int, split: int = 0) -> None:
    """Set the seeds of Python's and NumPy's random numbers for a pass over a split."""
    # The first number keeps these draws apart from every other use of the seed, the last one
    # those of a split apart from what is trained on.
    numbers = [0x57EA, seed, number, *([split] if split else [])]
    drawn = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    random.seed(drawn)
    np.random.seed(drawn)


def streams_of(function: UserFunction, found: Mapping[str, Any], seed: int) -> dict[str, Stream]:
    """Return the stream of each split of what a data function returned.

    The user's folder stays the current one: code that runs later opens files by relative names,
    too. Raises DataError, and UserCodeError from the user's own code.
    """
    os.chdir(place_of(function.folder))
    return {split: _named_stream(function, split, each, seed) for split, each in found.items()}


def _named_stream(function: UserFunction, split: str, value: Any, seed: int) -> Stream:
    """Return a stream; what is refused of another than the training's names the split."""
    try:
        return _stream(function, split, value, seed)
    except DataError as error:
        if split == SPLITS[0]:
            raise
        message = f"Of the {split} data: {error.message}"
        raise DataError(message, error.suggestions, error.mends) from error


def _stream(function: UserFunction, split: str, value: Any, seed: int) -> Stream:
    if is_dataset(value):
        return DatasetStream(function, seed, value)
    if is_sequence(value):
        return SequenceStream(function, seed, value, SPLITS.index(split))
    if is_stream(value):
        return GeneratorStream(function, seed, value, opener(value), SPLITS.index(split))
    # Arrays beside a stream, as `validation_data` of `fit` may be.
    arrays = mapped(_as_fit_has_it, function.guarded(lambda: arrays_of(value)))
    slices = function.guarded(lambda: tf.data.Dataset.from_tensor_slices(arrays))
    return DatasetStream(function, seed, slices)


def _as_fit_has_it(array: Array) -> Array:
    """Return an array with its floats as float32: those of a stream stay what they are."""
    return array.astype(np.float32) if array.dtype.kind == "f" else array
