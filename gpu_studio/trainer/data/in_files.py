"""Pictures, masks and texts that stay in their files: arrays that are read as they are asked for.

They stand where a NumPy array stands in a `Split` and are indexed by rows alone. A step's samples
are read within TensorFlow's graph, by as many threads as there are cores.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.common.figures import grouped, size
from gpu_studio.common.safe_files import read_regular
from gpu_studio.plan.data import BRIGHTEST
from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError

_AT_ONCE = 256
"""Files that are read together where all are gone through."""
_LONGEST_TEXT = 1 << 28


class FilesAsArray:
    """An array with a row for each file."""

    def __init__(self, paths: Sequence[str], shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        """A row has this `shape`, and numbers or texts of this `kind`."""
        self.paths = tuple(paths)
        self.shape, self.dtype = (len(self.paths), *shape), kind

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes that it would take in memory."""
        return self.size * self.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of a number, or of the longest text."""
        return self.dtype.itemsize

    def __getitem__(self, rows: Any) -> Array:
        """Read these rows: a slice, or an array of their numbers. Raises DataError."""
        places = np.atleast_1d(np.arange(len(self))[rows])
        return self.rows([self.paths[place] for place in places], places)

    def read(self) -> Array:
        """Read all of it into memory. Raises DataError."""
        return self[:]

    def rows(self, paths: Sequence[str], places: Array) -> Array:
        """Return the rows of these files, which are at these places. Raises DataError."""
        raise NotImplementedError

    def in_graph(self, places: Any) -> Any:
        """Return the rows at these places (int64) as a tensor, where TensorFlow traces a step."""
        import tensorflow as tf

        with tf.device("CPU:0"):
            names = tf.gather(tf.constant(self._names), places)
        return self.read_in_graph(names)

    @cached_property
    def _names(self) -> list[bytes]:
        return [os.fsencode(path) for path in self.paths]

    def read_in_graph(self, names: Any) -> Any:
        """Return the rows of the files with these names, a tensor of strings."""
        raise NotImplementedError

    def blame(self, error: BaseException) -> None:
        """Raises DataError if `error` came from a file that cannot be read any more."""
        import tensorflow as tf

        said = str(error)
        if not isinstance(error, tf.errors.OpError) or "IteratorGetNext" not in said:
            return
        if isinstance(error, (tf.errors.ResourceExhaustedError, tf.errors.CancelledError)):
            return  # which no file is to blame for
        named = [place for place, path in enumerate(self.paths) if path in said]
        if named:
            self[np.array(named[:1])]
        for first in range(0, len(self), _AT_ONCE):
            self[first : first + _AT_ONCE]

    @property
    def said(self) -> str:
        """Say that they are not in memory, and what that costs."""
        return (
            f"The {grouped(len(self))} {self.word} take {size(self.nbytes)}, which does not fit "
            f"into the memory that is free: they stay in their files, and each batch is {self.done}"
            " anew in every epoch. Order, shuffling and resuming are as in memory."
        )

    word, done = "files", "decoded"


class PictureFiles(FilesAsArray):
    """Pictures: uint8 (n, height, width, channels)."""

    word = "images"

    def __init__(self, paths: Sequence[str], shape: tuple[int, int, int]) -> None:
        super().__init__(paths, shape, np.dtype(np.uint8))
        self._each = shape

    def rows(self, paths: Sequence[str], places: Array) -> Array:  # noqa: ARG002
        """Decode these files."""
        # Imported when there is something to read: other questions about data need no TensorFlow.
        from gpu_studio.trainer.data.image_reading import read_images

        return read_images(paths, self._each)

    def check(self) -> None:
        """Look at each file's beginning. Raises DataError for the first that is no image."""
        from gpu_studio.trainer.data.image_headers import check_header

        for path in dict.fromkeys(self.paths):  # a table may name one many times
            check_header(path)

    def read_in_graph(self, names: Any) -> Any:
        """Decode the files within the graph."""
        from gpu_studio.trainer.data.image_reading import decoded_in_graph

        return decoded_in_graph(names, self._each)


class MaskFiles(FilesAsArray):
    """Masks as targets: uint8 (n, height, width), the class of each pixel."""

    word = "masks"

    def __init__(
        self, paths: Sequence[str], images: Sequence[str], size_of_each: tuple[int, int]
    ) -> None:
        """`images` are the pictures that the masks are of."""
        super().__init__(paths, size_of_each, np.dtype(np.uint8))
        self._images, self._each, self.divided = tuple(images), size_of_each, False

    def look(self) -> None:
        """Go through all, to know whether 255 stands for 1. Raises DataError."""
        pieces = (self[first : first + _AT_ONCE] for first in range(0, len(self), _AT_ONCE))
        self.divided = all(np.isin(piece, (0, BRIGHTEST)).all() for piece in pieces)

    def rows(self, paths: Sequence[str], places: Array) -> Array:
        """Decode these files."""
        from gpu_studio.trainer.data.image_reading import read_mask_pixels

        found = read_mask_pixels(paths, [self._images[place] for place in places], self._each)
        return np.floor_divide(found, BRIGHTEST, out=found) if self.divided else found

    def read_in_graph(self, names: Any) -> Any:
        """Decode the files within the graph."""
        from gpu_studio.trainer.data.image_reading import masks_in_graph

        found = masks_in_graph(names, self._each)
        return found // BRIGHTEST if self.divided else found


class TextFiles(FilesAsArray):
    """Texts as bytes, (n,)."""

    word, done = "texts", "read"

    def __init__(self, paths: Sequence[str], longest: int) -> None:
        super().__init__(paths, (), np.dtype(f"S{max(1, longest)}"))

    def rows(self, paths: Sequence[str], places: Array) -> Array:  # noqa: ARG002
        """Read these files."""
        texts = []
        for path in paths:
            try:
                texts.append(read_regular(Path(path), _LONGEST_TEXT, follow=True))
            except OSError as error:
                raise unread(path, error) from error
        return np.array(texts, self.dtype)

    def read_in_graph(self, names: Any) -> Any:
        """Read the files within the graph."""
        from gpu_studio.trainer.data.image_reading import texts_in_graph

        return texts_in_graph(names)


def unread(path: str, error: OSError) -> DataError:
    """The error for a file that cannot be read."""
    return DataError(
        f"{path} cannot be read: {error.strerror or error}.",
        ["Look whether you may read the file, or take it out of the folder."],
    )
