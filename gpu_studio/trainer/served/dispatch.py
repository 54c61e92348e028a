"""Hands work to TensorFlow's coordinator, and says what of it has been done, as it is done.

The coordinator gives each piece to a worker that is free, and to another one if that is lost
meanwhile. Its results are waited for one by one; here they are waited for together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import tensorflow as tf

AGAIN_S = 0.05
"""So long after a result could not be copied it is looked for again."""


class Dispatch:
    """Pieces of work under way, at most `most` of them."""

    def __init__(self, coordinator: Any, most: int) -> None:
        self.most = most
        self._coordinator = coordinator
        self._waiting = ThreadPoolExecutor(most, thread_name_prefix="waits")
        self._under_way: dict[Future[Any], None] = {}

    def __len__(self) -> int:
        """How many pieces are under way."""
        return len(self._under_way)

    def give(self, function: Any, arguments: tuple[Any, ...]) -> Future[Any]:
        """Have a worker call this function; return what will have come of it.

        Raises what went wrong in one that was given before.
        """
        value = self._coordinator.schedule(function, args=arguments)
        made = self._waiting.submit(fetched, value)
        self._under_way[made] = None
        return made

    def done(self) -> Iterator[Any]:
        """What came of those that are done, of one at least.

        Raises what went wrong in one.
        """
        ready, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        for each in [one for one in self._under_way if one in ready]:
            del self._under_way[each]
            yield self.result(each)

    def result(self, of: Future[Any]) -> Any:
        """What came of one; waits for it. Raises what went wrong in it."""
        self._under_way.pop(of, None)
        try:
            return of.result()
        except Exception:
            # The cause, if this one was only given up because another had gone wrong.
            self._coordinator.join()
            raise


def fetched(value: Any) -> Any:
    """What came of a piece of work. Raises what went wrong in it.

    Whoever comes first copies it from its worker, the coordinator or this thread. Where
    that worker is lost just then, the coordinator gives the work to another one:
    nothing is wrong until it has given it up, which only the value itself tells.
    """
    while True:
        try:
            return value.fetch()
        except tf.errors.OpError as error:
            if error is value._get_error():  # noqa: SLF001
                raise
            time.sleep(AGAIN_S)
