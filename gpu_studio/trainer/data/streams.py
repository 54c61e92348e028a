"""Data that come batch by batch: a `tf.data.Dataset`, a `keras.utils.PyDataset`, a generator.

An element is `x`, `(x, y)` or `(x, y, sample_weight)`, as `fit` takes it; each is a structure of
arrays, and is passed on as it is. A stream is read pass by pass. Where the user's code draws its
random numbers from Python, NumPy or `tf.data`, a pass follows from the plan's seed and the number
of the pass: a resumed run finds its place again by passing over what was trained before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.common.figures import grouped
from gpu_studio.placement.plan_facts import UNKNOWN_LENGTH, WITHOUT_END
from gpu_studio.trainer.data.looked_at import runs_python, shuffles, to_look_at
from gpu_studio.trainer.data.trees import called, flat, leaves, mapped, packed
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError, TrainerError
from gpu_studio.trainer.user_code import UserFunction
from gpu_studio.trainer.user_code.telling import as_user_error, in_own_code, root_words

PEEKED = 2
"""Batches that are read beforehand, as Keras does, for their shapes, types and first targets."""
PEEKED_ROWS = 64
"""Samples that are read beforehand where they come one by one."""
PARTS = ("x", "y", "sample_weight")
NO_ROWS = "A batch of the data has no samples."
_WHAT = "Let it give x, (x, y) or (x, y, sample_weight), as Keras' fit takes it."


class Stream:
    """The elements of one split: batches, or samples one by one.

    `length` is the number of elements in a pass, None if unknown; `endless` says that a pass never
    ends. `classes` is their number, where the plan states it: the first targets need not show all.
    `first` holds what was peeked at, as (x, y, weights) with all rows one after another, and
    `rows` how many each peeked batch had; empty where samples come one by one. Making one raises
    DataError, or UserCodeError from the user's own code, where nothing usable comes.
    """

    kind = ""
    """In words, with its article."""
    once = False
    """Whether there is a single pass."""
    whole = True
    """Whether each epoch is a whole pass."""
    most = 0
    """Elements that each reading takes, if not all."""
    due = 0
    """Batches that are read until others read theirs, if not all."""
    in_turn = False
    """Whether a pass goes on where it was when the batches that were due had been read."""
    shuffled = False
    """Whether its batches are taken in another order in each pass."""
    resumes = (
        "the batches before are read again and passed over, if the first is the same as now; else "
        "the epoch starts anew"
    )
    """How a run goes on in the middle of an epoch, as the end of a sentence."""

    def __init__(self, function: UserFunction, seed: int) -> None:
        self.function, self._seed = function, seed
        self.length: int | None = None
        self.endless = False
        self.classes: int | None = None
        self._failure: BaseException | None = None

    def _peek_at(self, opened: Iterator[Any]) -> list[Any]:
        """Read the first elements, and learn from them. Returns them as they came."""
        came = self.function.guarded(lambda: list(islice(opened, 1)))
        if not came:
            raise self._refused("gives nothing", "Let it give at least one batch.")
        self.batched = self._is_batch(self._whole(came[0]))
        more = (PEEKED if self.batched else PEEKED_ROWS) - 1
        came += self.function.guarded(lambda: list(islice(opened, more)))
        found = [self._whole(each) for each in came]
        if not self.batched:
            self._refuse_shapes(found)
            found = [stacked(found)]
        for each in found:
            self._refuse_uneven(each)
        self._unlike = _unlike(found)
        self.rows = tuple(len(flat(each)[0]) for each in found) if self.batched else ()
        self.first: tuple[Any, Any, Any] = _joined(found)
        return came

    def steps(self, size: int) -> int | None:
        """Return the number of global batches in a pass, None if unknown or endless."""
        if self.length is None or self.batched:
            return self.length
        return -(-self.length // size)

    @property
    def batch(self) -> int | None:
        """The size of the first batch; None where samples come one by one."""
        return self.rows[0] if self.rows else None

    @property
    def size(self) -> int | None:
        """How many samples every batch has, if their types say so: what drops the remainder."""
        return None

    @property
    def spec(self) -> Any:
        """The types and shapes of a batch, None where an axis differs or is not known."""
        raise NotImplementedError

    @property
    def runs_python(self) -> bool:
        """Whether Python code makes its elements, which may draw from what others draw from."""
        raise NotImplementedError

    @property
    def varies(self) -> bool:
        """Whether samples come in several shapes, or in one that only reading them tells."""
        shapes = [each.shape for each in tf.nest.flatten(self.spec) if hasattr(each, "shape")]
        return any(each.rank is None or None in each.as_list()[1:] for each in shapes)

    @property
    def in_words(self) -> str:
        """What is known of it: `batches of 32, their number unknown`."""
        alone = self.length == 1
        what = f"{'sample' if alone else 'samples'}, one by one"
        if self.batch is not None:
            others = " and others" if len(set(self.rows)) > 1 else ""
            what = f"{'batch' if alone else 'batches'} of {self.batch}{others}"
        if self.endless:
            return f"{what}, {WITHOUT_END}"
        if self.length is None:
            return f"{what}, {UNKNOWN_LENGTH}"
        return f"{grouped(self.length)} {what}"

    def notes(self, batch_size: int) -> Iterator[str]:
        """What a run says of its stream: whose batches are trained on, and how it is resumed."""
        if self.batch is None:
            yield f"{self.function.name} gives samples one by one: {batch_size} are a batch."
        else:
            yield (
                f"{self.function.name} gives batches, of {self.batch} samples at first: "
                "training.batch_size does not count."
            )
        yield f"If it is resumed in the middle of an epoch, {self.resumes}."

    def begin(self, number: int, skipped: int) -> None:
        """Prepare pass `number` (from 0), whose first `skipped` elements were trained before."""

    def end(self) -> None:
        """Notice that a pass is over."""

    def pass_over(self, number: int) -> None:
        """Leave behind what so many passes leave, where other streams have a share in it."""

    def check(self) -> None:
        """Raises UserCodeError or DataError for what went wrong in the user's code meanwhile."""
        if isinstance(self._failure, TrainerError):
            raise self._failure
        if self._failure is not None:
            made = self.function
            raise as_user_error(self._failure, made.file, begins=made.line) from self._failure

    def _whole(self, element: Any) -> tuple[Any, Any, Any]:
        """Return what an element of the user's holds, as arrays."""
        parts = tuple(element) if isinstance(element, tuple | list) else (element,)
        if not 1 <= len(parts) <= len(PARTS):
            raise self._refused(f"gives {len(parts)} things at a time", _WHAT)
        x, y, weights = [*map(arrays_of, parts), (), ()][: len(PARTS)]
        if not flat(x):
            raise self._refused("gives no samples", _WHAT)
        for path, leaf in leaves((x, y, weights)):
            if leaf.dtype.hasobject:
                name = called(PARTS[int(path[0])], path[1:])
                raise self._refused(f"gives Python objects as {name}", "Give arrays of numbers.")
        return x, y, weights

    def _is_batch(self, element: Any) -> bool:
        return all(leaf.ndim for leaf in flat(element))

    def _refuse_shapes(self, elements: list[Any]) -> None:
        for number, each in enumerate(elements):
            for (path, one), (_, other) in zip(leaves(elements[0]), leaves(each), strict=True):
                if one.shape != other.shape:
                    name = called(PARTS[int(path[0])], path[1:])
                    raise self._refused(
                        f"gives samples of different shapes: {name} is {one.shape} first, and "
                        f"{other.shape} in sample {number}",
                        "Bring them to one shape, or batch them yourself, as padded_batch does.",
                    )

    def _refuse_uneven(self, batch: Any, begun: str = "") -> None:
        rows = {called(PARTS[int(path[0])], path[1:]): len(leaf) for path, leaf in leaves(batch)}
        if len(set(rows.values())) > 1:
            sizes = ", ".join(f"{name} {many}" for name, many in rows.items())
            begun = begun or f"{self.function.name}: the first batch has parts"
            advice = "Give each sample one target, and one weight if any."
            if len(flat(batch[0])) > 1:
                advice = (
                    "Give all parts batches of one size, also those of pipelines zipped to one."
                )
            raise self._wrong(f"{begun} that are not equally long: {sizes}", advice)

    def _refused(self, what: str, advice: str) -> DataError:
        return self._wrong(f"{self.function.name} returned {self.kind} that {what}", advice)

    def _wrong(self, what: str, advice: str) -> DataError:
        at = f"It begins in line {self.function.line} of {self.function.file}."
        return DataError(f"{what}.", [advice, at])

    def blame(self, error: BaseException) -> None:
        """Raises DataError if `error` came from this stream's pipeline, rather than from a step.

        Or from a step that could not take batches of different shapes.
        """
        said = root_words(error).rstrip(".")
        of_shapes = re.search(r"incompatible|shape|dimension", said, re.IGNORECASE)
        if self._unlike and of_shapes and isinstance(error, tf.errors.InvalidArgumentError):
            raise self._refused(
                f"gives batches of different shapes: {self._unlike}. The model does not take "
                f"both: {said}",
                "Bring them to one shape, or let the model take any: keras.Input((None, …)).",
            ) from error
        here = any(words in str(error) for words in ("IteratorGetNext", NO_ROWS))
        if not isinstance(error, tf.errors.OpError) or not here:
            return
        if NO_ROWS in said:
            raise self._refused(
                "gives a batch without samples", "Leave such batches out, as .filter does."
            ) from error
        if isinstance(error, tf.errors.OutOfRangeError):
            raise self._refused(
                "gave nothing when it was read again",
                "Let it give the same whenever it is read: return a function that yields.",
            ) from error
        if in_own_code(error) is None:
            raise self._wrong(
                f"The pipeline of {self.function.name} stopped: {said}",
                "Look at what it reads and how it makes a batch of it.",
            ) from error


def fits(found: Array, wanted: np.dtype[Any]) -> bool:
    """Whether all numbers keep their values as whole numbers of the type `wanted`.

    So do arrays of anything but whole numbers, which are not looked at.
    """
    if found.dtype.kind not in "iu" or np.can_cast(found.dtype, wanted) or not found.size:
        return True
    limits = np.iinfo(wanted)
    return int(found.min()) >= limits.min and int(found.max()) <= limits.max


def arrays_of(part: Any) -> Any:
    """Return a structure of arrays; a list of arrays is a tuple, None is nothing."""
    if part is None:
        return ()
    if isinstance(part, Mapping):
        return {name: arrays_of(each) for name, each in part.items()}
    if isinstance(part, tuple) or (isinstance(part, list) and any(map(_is_array, part))):
        return tuple(arrays_of(each) for each in part)
    found = np.asarray(part)
    if found.dtype.hasobject and all(isinstance(each, bytes) for each in found.flat):
        return found.astype(bytes)  # texts, as TensorFlow gives them
    if found.dtype.hasobject and all(isinstance(each, str) for each in found.flat):
        return found.astype(str)
    return found


def _is_array(each: Any) -> bool:
    return hasattr(each, "shape") or isinstance(each, Mapping | tuple)


def stacked(samples: list[Any]) -> Any:
    """Return samples that came one by one as a batch."""
    every = zip(*map(flat, samples), strict=True)
    return packed(samples[0], (np.stack(same) for same in every))


def _unlike(batches: list[Any]) -> str:
    """Say which part differs in shape between batches, but for their samples; empty if none."""
    for other in batches[1:]:
        for (path, one), (_, leaf) in zip(leaves(batches[0]), leaves(other), strict=True):
            if one.shape[1:] != leaf.shape[1:]:
                name = called(PARTS[int(path[0])], path[1:])
                return f"{name} is {one.shape} first, and {leaf.shape} then"
    return ""


def _joined(batches: list[Any]) -> Any:
    """Return the batches as one, or the first where their samples differ in shape."""
    every = [flat(each) for each in batches]
    if len({tuple(leaf.shape[1:] for leaf in each) for each in every}) > 1:
        return batches[0]
    joined = iter([np.concatenate(same) for same in zip(*every, strict=True)])
    return mapped(lambda _: next(joined), batches[0])


class DatasetStream(Stream):
    """A `tf.data.Dataset`. It is iterated as it stands, and nothing of it passes through Python."""

    kind = "a tf.data.Dataset"

    def __init__(self, function: UserFunction, seed: int, data: tf.data.Dataset) -> None:
        super().__init__(function, seed)
        self._data, self._begun, self._shuffles = data, 0, shuffles(data)
        self._number = 0
        self._refuse_composites()
        looked_at = to_look_at(data)
        self._is_ahead = self._shuffles and looked_at is data
        self._peek_at(iter(looked_at))
        many = int(data.cardinality())
        self.endless = many == tf.data.INFINITE_CARDINALITY
        self.length = many if many >= 0 else None

    @property
    def spec(self) -> Any:
        """As of `Stream`."""
        if self.batched:
            return self._data.element_spec
        return self._data.batch(1).element_spec

    @property
    def size(self) -> int | None:
        """As of `Stream`."""
        specs = [s for s in tf.nest.flatten(self._data.element_spec) if hasattr(s, "shape")]
        firsts = {s.shape[0] if s.shape.rank else None for s in specs}
        return firsts.pop() if self.batched and len(firsts) == 1 else None

    @property
    def runs_python(self) -> bool:
        """As of `Stream`."""
        return runs_python(self._data)

    def notes(self, batch_size: int) -> Iterator[str]:
        """As of `Stream`."""
        yield from super().notes(batch_size)
        if self._is_ahead:
            yield (
                "It is too large to be copied for a look at its first batches, which has shuffled "
                "it once: its first pass has the order of the second in fit."
            )

    def _refuse_composites(self) -> None:
        for spec in tf.nest.flatten(self._data.element_spec):
            if not isinstance(spec, tf.TensorSpec | tf.NoneTensorSpec):
                kind = type(spec).__name__.removesuffix("Spec")
                advice = "Make it dense in the pipeline: .to_tensor(), tf.sparse.to_dense."
                raise self._refused(f"gives {kind}s, which cannot be cut into parts", advice)

    def _is_batch(self, element: Any) -> bool:
        """As `fit` takes it: as batched, unless its shapes cannot be those of a batch."""
        specs = [s for s in tf.nest.flatten(self._data.element_spec) if hasattr(s, "shape")]
        firsts = {s.shape[0] if s.shape.rank else None for s in specs}
        return super()._is_batch(element) and (None in firsts or len(firsts) == 1)

    def begin(self, number: int, skipped: int) -> None:  # noqa: ARG002  (`elements` passes over)
        """Prepare the pass: what shuffles anew for each has shuffled as often as before."""
        self.pass_over(number)
        self._number = number
        self._begun += 1

    def end(self) -> None:
        """Shuffle at the end of a pass as `fit` does, before anything else is read."""
        self.pass_over(self._number + 1)

    def pass_over(self, number: int) -> None:
        """Shuffle as often as in so many passes. Streams may be parts of one that is shuffled."""
        while self._begun < self._shuffled_before(number):
            iter(self._data)
            self._begun += 1

    def _shuffled_before(self, number: int) -> int:
        """How often `fit` has made an iterator before this pass.

        At the end of each epoch whose length it knows it makes one that nobody reads, but where
        epochs are no whole passes.
        """
        known = self.whole and not self.endless and self.length is not None
        return 2 * number if known and self._shuffles else number

    def elements(self, skipped: int = 0) -> tf.data.Dataset:
        """Return the elements of one pass, anew whenever it is iterated."""
        return self._data.skip(skipped) if skipped else self._data

    def parts(self, *batch: Any) -> Any:
        """Return what a batch holds, as (x, y, sample weights).

        A pipeline with Python functions in it may not know how many axes come.
        """
        given = parts_of(*batch)
        every = zip(tf.nest.flatten(given), flat(self.first), strict=True)
        known = [
            # Each operation takes 0.4 ms of every iterator that is made.
            each if each.shape.rank == leaf.ndim else tf.ensure_shape(each, (None,) * leaf.ndim)
            for each, leaf in every
        ]
        return tf.nest.pack_sequence_as(given, known)


def parts_of(*element: Any) -> Any:
    """Return an element as (x, y, sample weights), `()` for what is not there."""
    given = [() if each is None else mapped(lambda leaf: leaf, each) for each in element]
    return tuple([*given, (), ()][: len(PARTS)])
