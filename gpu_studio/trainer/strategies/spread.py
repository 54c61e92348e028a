"""The result of setting up a plan's strategy on the devices of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from gpu_studio.plan import DeviceLike, Distribution, Placed, Strategy


@dataclass(frozen=True, slots=True)
class Served:
    """How a step is done where servers hold the variables.

    `coordinator` is TensorFlow's, which hands the work to so many `workers`. Their updates are
    `together`: all of them share each step; else each does a step by itself.
    """

    coordinator: Any
    workers: int
    together: bool

    @property
    def parts(self) -> int:
        """Into how many parts the samples of a step are cut."""
        return self.workers if self.together else 1


@dataclass(frozen=True, slots=True)
class Spread:
    """A strategy of `tf.distribute`, and what was decided for it.

    `replicas` are logical names. Where layers are placed, `placement` says how, and `replicas` are
    the devices that hold them. The model is made on `made_on`, as far as the strategy puts nothing
    elsewhere; on TensorFlow's own choice, the first device, if it is None. Where servers hold the
    variables, `served` says by whom a step is done. What `reads_plainly` takes batches as they are
    read, with nothing to hand out or to send ahead.
    """

    name: str
    strategy: Any
    replicas: tuple[str, ...]
    made_on: str | None
    all_reduce: str | None = None
    parameter_device: str | None = None
    placement: Placed | None = None
    served: Served | None = None
    reads_plainly: bool = False

    @property
    def shares(self) -> int:
        """How many replicas share the samples of a step."""
        shares: int = self.strategy.num_replicas_in_sync
        return self.served.parts if self.served else shares

    @contextmanager
    def making(self) -> Iterator[None]:
        """While this is entered, a model is made where the strategy wants it."""
        with tf.device(self.made_on), self.strategy.scope():
            yield

    @property
    def reads_by(self) -> Any:
        """The strategy that hands out samples: of servers, this process hands them out itself."""
        plainly = self.served or self.reads_plainly
        return tf.distribute.get_strategy() if plainly else self.strategy


def replicas_of(
    strategy: Strategy, chosen: Distribution, devices: Sequence[DeviceLike]
) -> tuple[str, ...]:
    """Return the names of those of these devices that hold the model or a part of it."""
    return strategy.replica_devices(chosen, [device.name for device in devices])
