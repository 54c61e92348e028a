"""The NVIDIA driver's library in pure Python: any number of cards, and any error of any call.

pynvml calls the functions of a library object by their C names, with `byref`s whose target is
`argument._obj`. So an object with those functions replaces the library, and everything above it is
the real code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pynvml

MIB = 1024 * 1024


@dataclass
class FakeCard:
    """One card. Sizes are in MiB.

    `errors` holds the error code of each C function that fails for this card.
    """

    uuid: str
    name: bytes = b"NVIDIA Fake 100"
    bus_id: bytes = b"00000000:01:00.0"
    total: int = 8192
    used: int = 512
    reserved: int = 200
    errors: Mapping[str, int] = field(default_factory=dict)


class FakeNvml:
    """The library.

    `errors` holds the codes of calls that fail for every card; `asked` the PCI addresses asked for.

    `running` counts how often it was started and not yet stopped. A function that it does not have
    is one that the driver is too old for."""

    def __init__(self, cards: list[FakeCard], errors: Mapping[str, int] | None = None) -> None:
        self.cards = cards
        self.errors = dict(errors or {})
        self.running = 0
        self.asked: list[str] = []
        self.functions: dict[str, Callable[..., int | None]] = {
            "nvmlInitWithFlags": self._start,
            "nvmlShutdown": self._stop,
            "nvmlDeviceGetCount_v2": self._count,
            "nvmlDeviceGetHandleByIndex_v2": self._by_index,
            "nvmlDeviceGetHandleByPciBusId_v2": self._by_bus_id,
            "nvmlDeviceGetUUID": self._uuid,
            "nvmlDeviceGetName": self._name,
            "nvmlDeviceGetPciInfo_v3": self._pci_info,
            "nvmlDeviceGetMemoryInfo": self._memory,
            "nvmlDeviceGetMemoryInfo_v2": self._memory_2,
        }

    def forget(self, function: str) -> None:
        """Become a driver that is too old for a function."""
        del self.functions[function]

    def __getattr__(self, name: str) -> Callable[..., int]:
        function = self.__dict__["functions"].get(name)
        if function is None:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            return (
                self.errors.get(name, 0)
                or self._error_of_card(name, arguments)
                or function(*arguments)
                or 0
            )

        return call

    def _error_of_card(self, name: str, arguments: tuple[Any, ...]) -> int:
        if not arguments or not isinstance(arguments[0], pynvml.c_nvmlDevice_t):
            return 0
        return self.card(arguments[0]).errors.get(name, 0)

    def _start(self, _flags: int) -> None:
        self.running += 1

    def _stop(self) -> None:
        self.running -= 1

    def _count(self, count: Any) -> None:
        count._obj.value = len(self.cards)

    def _by_index(self, index: Any, handle: Any) -> int:
        _pointer(handle._obj).value = index.value + 1
        card: FakeCard = self.cards[index.value]
        return card.errors.get("nvmlDeviceGetHandleByIndex_v2", 0)

    def _by_bus_id(self, bus_id: Any, handle: Any) -> int:
        wanted = bus_id.value.decode()
        self.asked.append(wanted)
        for number, card in enumerate(self.cards, start=1):
            if card.bus_id.decode().lower().endswith(wanted):
                _pointer(handle._obj).value = number
                return 0
        return int(pynvml.NVML_ERROR_NOT_FOUND)

    def _uuid(self, handle: Any, text: Any, _length: Any) -> None:
        text.value = self.card(handle).uuid.encode()

    def _name(self, handle: Any, text: Any, _length: Any) -> None:
        text.value = self.card(handle).name

    def _pci_info(self, handle: Any, info: Any) -> None:
        info._obj.busId = self.card(handle).bus_id

    def _memory(self, handle: Any, memory: Any) -> None:
        card = self.card(handle)
        memory._obj.total, memory._obj.used = card.total * MIB, (card.used + card.reserved) * MIB

    def _memory_2(self, handle: Any, memory: Any) -> None:
        card = self.card(handle)
        memory._obj.total, memory._obj.used = card.total * MIB, card.used * MIB
        memory._obj.reserved = card.reserved * MIB

    def card(self, handle: Any) -> FakeCard:
        number: int = _pointer(handle).value
        return self.cards[number - 1]


@contextmanager
def installed(library: FakeNvml) -> Iterator[FakeNvml]:
    """`library` in the place of the driver's own while the block runs."""
    before = pynvml.nvmlLib
    pynvml.nvmlLib = library
    pynvml._nvmlGetFunctionPointer_cache.clear()
    try:
        yield library
    finally:
        pynvml.nvmlLib = before
        pynvml._nvmlGetFunctionPointer_cache.clear()


def _pointer(handle: Any) -> Any:
    """A handle, which is a pointer to nothing known, as the number of its card: 1 for the first."""
    return ctypes.c_void_p.from_address(ctypes.addressof(handle))
