"""TensorFlow's view of the devices, parsed from the answer of a trainer process.

The question is `python -m gpu_studio.trainer.ask devices`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gpu_studio.hardware.identity import Seen


class ViewError(ValueError):
    """An answer that does not contain TensorFlow's view."""


@dataclass(frozen=True, slots=True)
class Build:
    """What this TensorFlow was built for.

    `capabilities` are `sm_80` (machine code) and `compute_90` (PTX).
    """

    cuda: str = ""
    cudnn: str = ""
    capabilities: tuple[str, ...] = ()
    is_cuda: bool = False


@dataclass(frozen=True, slots=True)
class Physical:
    """A physical device of TensorFlow, `GPU:0`.

    TensorFlow gives a card's PCI address, but no UUID.
    """

    name: str
    card: str = ""
    bus_id: str = ""
    capability: tuple[int, int] | None = None

    @property
    def seen(self) -> Seen:
        """The device in the form used to match it with the driver's cards."""
        return Seen(int(self.name.rpartition(":")[2]), bus_id=self.bus_id, name=self.card)


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical device of TensorFlow. `limit_bytes` is the most that TensorFlow would use.

    None is unknown.
    """

    name: str
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CudaCard:
    """A card as CUDA numbers it."""

    ordinal: int
    uuid: str = ""
    bus_id: str = ""
    name: str = ""

    @property
    def seen(self) -> Seen:
        """The card in the form used to match it with the driver's."""
        return Seen(self.ordinal, self.uuid, self.bus_id, self.name)


@dataclass(frozen=True, slots=True)
class Cuda:
    """The CUDA of the driver (libcuda).

    `why_not` says in words why it cannot be used; `error` is CUDA's own name.
    """

    version: str = ""
    cards: tuple[CudaCard, ...] = ()
    error: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """A CUDA library that this TensorFlow loads: its path, or why it cannot be loaded."""

    name: str
    path: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class TensorFlowView:
    """TensorFlow in a trainer process. `errors` are its messages where it did not answer."""

    tensorflow: str
    keras: str = ""
    python: str = ""
    executable: str = ""
    build: Build = field(default_factory=Build)
    physical: tuple[Physical, ...] = ()
    logical: tuple[Logical, ...] = ()
    cuda: Cuda = field(default_factory=Cuda)
    libraries: tuple[Library, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[Physical, ...]:
        """The cards among the physical devices."""
        return tuple(device for device in self.physical if device.name.startswith("GPU:"))


def tensorflow_view(answer: Mapping[str, Any]) -> TensorFlowView:
    """The view in an answer to the question `devices`. Raises ViewError if it is none."""
    try:
        return msgspec.convert(answer, TensorFlowView)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ViewError(f"the answer does not tell what TensorFlow sees: {error}") from error
