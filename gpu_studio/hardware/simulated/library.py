"""The NVIDIA driver's library in pure Python, with simulated cards.

pynvml calls the functions of a library object by their C names, with `byref`s whose target is
`argument._obj`. So an object with those functions replaces the library, and every query takes the
real path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from gpu_studio.hardware.host import PciCard, plain_bus_id
from gpu_studio.hardware.simulated.cards import (
    CARD_FUNCTIONS,
    CardFunction,
    InstanceOf,
    handle_of,
    put_handle,
    set_handle,
)
from gpu_studio.hardware.simulated.profiles import Profile, SimulatedCard

SUCCESS, UNINITIALISED, INVALID, NOT_FOUND, TIMEOUT = 0, 1, 2, 6, 10
XID = 0x8


class SimulatedLibrary:
    """The library. Functions in `errors` fail: a C function's name alone, or with a card's index.

    `away` holds the indices of cards that are absent just now, `may_sleep` of those that sleep when
    no process has them open; `xids` are events that were not collected yet; `calls` counts the
    calls; `running` how often it was started and not stopped. `on_cards` answers about one card.
    """

    def __init__(
        self,
        profile: Profile,
        clock: Callable[[], float] = time.monotonic,
        began: float | None = None,
        on_cards: Mapping[str, CardFunction] = CARD_FUNCTIONS,
    ) -> None:
        self.profile = profile
        self._on_cards = on_cards
        self.errors: dict[str | tuple[str, int], int] = {}
        self.away: set[int] = set()
        self.asleep = {place for place, card in enumerate(profile.cards) if card.asleep}
        self.may_sleep = set(self.asleep)
        self.xids: list[tuple[int, int]] = []
        self.calls = 0
        self.running = 0
        self._clock = clock
        self._began = clock() if began is None else began
        self._functions: Mapping[str, Callable[..., int | None]] = {
            "nvmlInitWithFlags": self._start,
            "nvmlShutdown": self._stop,
            "nvmlSystemGetDriverVersion": self._driver,
            "nvmlSystemGetCudaDriverVersion": self._cuda,
            "nvmlSystemGetCudaDriverVersion_v2": self._cuda,
            "nvmlDeviceGetCount_v2": self._count,
            "nvmlDeviceGetHandleByIndex_v2": self._by_index,
            "nvmlDeviceGetHandleByPciBusId_v2": self._by_bus_id,
            "nvmlDeviceGetHandleByUUID": self._by_uuid,
            "nvmlDeviceGetIndex": self._index,
            "nvmlEventSetCreate": lambda _events: SUCCESS,
            "nvmlDeviceRegisterEvents": lambda _handle, _kinds, _events: SUCCESS,
            "nvmlEventSetWait_v2": self._event,
            "nvmlEventSetFree": lambda _events: SUCCESS,
        }

    def pci_cards(self) -> list[PciCard]:
        """The cards as the kernel would list them."""
        places = range(len(self.profile.cards))
        return [
            PciCard(
                plain_bus_id(self.profile.cards[place].bus_id),
                place in self.asleep,
                place in self.may_sleep,
            )
            for place in places
            if place not in self.away
        ]

    def __getattr__(self, name: str) -> Callable[..., int]:
        function = self.__dict__["_functions"].get(name)
        on_card = self.__dict__["_on_cards"].get(name)
        if function is None and on_card is None:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.calls += 1
            error = self.errors.get(name, SUCCESS)
            if not error and on_card is not None:
                return self._on_card(name, on_card, *arguments)
            return error or (function(*arguments) if function else SUCCESS) or SUCCESS

        return call

    def _on_card(self, name: str, function: CardFunction, handle: Any, *arguments: Any) -> int:
        where = handle_of(handle)
        place = where.place if isinstance(where, InstanceOf) else where
        card = self.profile.cards[place]
        error = self.errors.get((name, place), card.errors.get(name, SUCCESS))
        if not self.running:
            return UNINITIALISED
        seconds = max(self._clock() - self._began, 0.0)
        return error or function(card, where, seconds, *arguments) or SUCCESS

    def _start(self, _flags: int) -> None:
        self.running += 1

    def _stop(self) -> None:
        self.running -= 1

    def _driver(self, text: Any, _length: Any) -> None:
        text.value = self.profile.driver.encode()

    def _cuda(self, version: Any) -> None:
        version._obj.value = self.profile.cuda  # noqa: SLF001

    def _count(self, count: Any) -> None:
        count._obj.value = len(self._present())  # noqa: SLF001

    def _by_index(self, index: Any, handle: Any) -> int:
        present = self._present()
        if index.value >= len(present):
            return INVALID
        return self._handle("nvmlDeviceGetHandleByIndex_v2", present[index.value], handle)

    def _by_bus_id(self, bus_id: Any, handle: Any) -> int:
        wanted = bus_id.value.decode()
        return self._find(
            "nvmlDeviceGetHandleByPciBusId_v2",
            lambda card: plain_bus_id(card.bus_id) == wanted,
            handle,
        )

    def _by_uuid(self, uuid: Any, handle: Any) -> int:
        wanted = uuid.value.decode()
        return self._find("nvmlDeviceGetHandleByUUID", lambda card: card.uuid == wanted, handle)

    def _find(self, function: str, fits: Callable[[SimulatedCard], bool], handle: Any) -> int:
        for place in self._present():
            if fits(self.profile.cards[place]):
                return self._handle(function, place, handle)
        return NOT_FOUND

    def _handle(self, function: str, place: int, handle: Any) -> int:
        set_handle(handle, place)
        return self.errors.get(
            (function, place), self.profile.cards[place].errors.get(function, SUCCESS)
        )

    def _index(self, handle: Any, index: Any) -> int:
        where = handle_of(handle)
        if where not in self._present():
            return INVALID
        index._obj.value = self._present().index(where)  # noqa: SLF001
        return SUCCESS

    def _event(self, _events: Any, data: Any, _timeout: Any) -> int:
        if not self.xids:
            return TIMEOUT
        place, code = self.xids.pop(0)
        event = data._obj  # noqa: SLF001
        put_handle(event, place, type(event).device.offset)
        event.eventType, event.eventData = XID, code
        return SUCCESS

    def _present(self) -> list[int]:
        return [place for place in range(len(self.profile.cards)) if place not in self.away]
