"""The sampler's driver session: reopened when a card is lost.

Cards are recognised by their UUIDs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from gpu_studio.contract.samples import CardFacts, Cards
from gpu_studio.hardware import nvml
from gpu_studio.hardware.host import PciCard, in_bus_order
from gpu_studio.hardware.nvml import NAMELESS, Unknown
from gpu_studio.hardware.probe import NONE_FOUND
from gpu_studio.hardware.sampler.card import DriverCalls, SampledCard
from gpu_studio.hardware.source import MachineSource

ASLEEP = "asleep: it was not woken to ask"
RESTING = "idle: left alone, so that it can fall asleep"
SILENT = "the driver does not answer when it is asked for this card"
UNLISTED = "lost: the driver no longer lists it"


class RenewError(Exception):
    """The driver was replaced under this process, which has the old library loaded: restart it."""


class Driver:
    """The cards of this machine. `cards` are those that answer.

    `facts` also cover lost and sleeping ones.
    """

    def __init__(self, source: MachineSource) -> None:
        self.calls = DriverCalls()
        self.cards: list[SampledCard] = []
        self.facts: dict[str, CardFacts] = {}
        self.why = ""
        self.resting: frozenset[str] = frozenset()
        """PCI addresses of cards that are not to be asked, because that would keep them awake."""
        self.left_out: frozenset[int] = frozenset()
        """NVML's indices of cards that the driver hangs at when it is asked for them."""
        self.about: Callable[[int], None] = lambda _index: None
        """Called with the index of each card before it is asked."""
        self.listed: list[PciCard] = []
        self._source = source
        self._is_open = False
        self._ever_open = False
        self._count = 0
        self._versions: dict[str, str | None] = {}

    @property
    def is_whole(self) -> bool:
        """Whether there is a card, and every card that is not asleep answers."""
        return not self.why and all(not facts.gone or facts.asleep for facts in self.facts.values())

    def open(self) -> None:
        """Open or reopen the driver: all handles are recreated, and known cards recognised.

        Raises RenewError if only a new process can.
        """
        self.close()
        self.why = ""
        self.listed = self._source.pci_cards()
        asleep = [card for card in self.listed if self._is_left_alone(card)]
        found: list[CardFacts] = []
        if not asleep or len(asleep) < len(self.listed):
            found = self._found(asleep)
        found += [self._sleeper(card) for card in asleep]
        self._remember(found)

    def close(self) -> None:
        """Release the driver."""
        if self._is_open:
            self.calls.ask("nvmlShutdown")
        self._is_open = False
        self.cards = []

    def has_changed(self) -> bool:
        """Whether a card fell asleep, woke, came or went, as far as visible without reopening."""
        if self._source.pci_cards() != self.listed:
            return True
        return self._is_open and self.calls.ask("nvmlDeviceGetCount") != self._count

    def lose(self, card: SampledCard) -> None:
        """Keep only the identity of a card that stopped answering, and why. Raises RenewError."""
        loss = card.loss or Unknown(UNLISTED)
        self._renew_if_replaced(loss)
        self.cards.remove(card)
        self.facts[card.key] = msgspec.structs.replace(self.facts[card.key], gone=loss.why)

    def reported(self, time: float) -> Cards:
        """All cards as a sample."""
        ordered = in_bus_order(self.facts.values(), lambda facts: facts.bus_id)
        driver, cuda = self._versions.get("driver"), self._versions.get("cuda")
        return Cards(time=time, cards=ordered, why=self.why, driver=driver, cuda=cuda)

    def _found(self, asleep: list[PciCard]) -> list[CardFacts]:
        failure = nvml.start(self.calls.ask("nvmlInitWithFlags", nvml.NO_ATTACH if asleep else 0))
        if isinstance(failure, Unknown):
            return self._refused(failure)
        self._is_open = self._ever_open = True
        self._versions = {"driver": self._driver_version(), "cuda": self._cuda_version()}
        count = self.calls.ask("nvmlDeviceGetCount")
        if isinstance(count, Unknown):
            return self._refused(count)
        self._count = count
        if asleep:
            awake = [card.bus_id for card in self.listed if not self._is_left_alone(card)]
            return [self._by_bus_id(index, bus_id) for index, bus_id in enumerate(awake)]
        self.why = "" if count else NONE_FOUND
        return self._placed([self._by_index(index) for index in range(count)])

    def _placed(self, found: list[CardFacts]) -> list[CardFacts]:
        """Give cards without an address those that the kernel lists and no other card has."""
        taken = {facts.bus_id for facts in found}
        free = iter([card.bus_id for card in self.listed if card.bus_id not in taken])
        if sum(not facts.bus_id for facts in found) != len(self.listed) - len(taken - {""}):
            return found
        return [
            facts if facts.bus_id else msgspec.structs.replace(facts, bus_id=next(free))
            for facts in found
        ]

    def _is_left_alone(self, card: PciCard) -> bool:
        return card.asleep or card.bus_id in self.resting

    def _refused(self, failure: Unknown) -> list[CardFacts]:
        self._renew_if_replaced(failure)
        self.why = failure.why
        return []

    def _renew_if_replaced(self, failure: Unknown) -> None:
        # At the start a new process would not help: as the message says, restart the machine.
        if failure.code == nvml.MISMATCH and self._ever_open:
            raise RenewError(failure.why)

    def _by_index(self, index: int) -> CardFacts:
        if index in self.left_out:
            return self._silent(index, "", SILENT)
        self.about(index)
        return self._card(index, self.calls.ask("nvmlDeviceGetHandleByIndex", index))

    def _by_bus_id(self, index: int, bus_id: str) -> CardFacts:
        if index in self.left_out:
            return self._silent(index, bus_id, SILENT)
        self.about(index)
        return self._card(index, self.calls.ask("nvmlDeviceGetHandleByPciBusId", bus_id), bus_id)

    def each(self) -> Iterator[SampledCard]:
        """The cards that answer, each announced before it is asked."""
        for card in self.cards:
            self.about(card.facts.index or 0)
            yield card

    def _card(self, index: int, handle: object, bus_id: str = "") -> CardFacts:
        if isinstance(handle, Unknown):
            self._renew_if_replaced(handle)
            return self._silent(index, bus_id, handle.why)
        card = SampledCard(index, handle, self.calls, bus_id)
        if card.loss:
            self._renew_if_replaced(card.loss)
            known = card.facts if card.facts.uuid else self._silent(index, bus_id, card.loss.why)
            return msgspec.structs.replace(known, gone=card.loss.why)
        self.cards.append(card)
        return card.facts

    def _silent(self, index: int, bus_id: str, why: str) -> CardFacts:
        """A card that does not identify itself: the one that had this index, if it was known."""
        for facts in self.facts.values():
            if (facts.bus_id == bus_id) if bus_id else (facts.index == index):
                return msgspec.structs.replace(facts, gone=why)
        return CardFacts(
            card=bus_id or f"nvml-{index}", index=index, name=NAMELESS, bus_id=bus_id, gone=why
        )

    def _sleeper(self, card: PciCard) -> CardFacts:
        gone = ASLEEP if card.asleep else RESTING
        for facts in self.facts.values():
            if facts.bus_id == card.bus_id:
                return msgspec.structs.replace(facts, gone=gone, asleep=True, index=None)
        name = "NVIDIA card, asleep"
        return CardFacts(card=card.bus_id, name=name, bus_id=card.bus_id, gone=gone, asleep=True)

    def _remember(self, found: Iterable[CardFacts]) -> None:
        """Keep listing cards while they are away, unless they never identified themselves."""
        now = {facts.card: facts for facts in found}
        places = {facts.bus_id for facts in now.values() if facts.bus_id}
        for key, facts in self.facts.items():
            if key not in now and facts.uuid and facts.bus_id not in places:
                gone = self.why or UNLISTED
                now[key] = msgspec.structs.replace(facts, gone=gone, asleep=False, index=None)
        self.facts = now

    def _driver_version(self) -> str | None:
        answer = self.calls.ask("nvmlSystemGetDriverVersion")
        return None if isinstance(answer, Unknown) else str(answer)

    def _cuda_version(self) -> str | None:
        answer = self.calls.ask("nvmlSystemGetCudaDriverVersion")
        return None if isinstance(answer, Unknown) else f"{answer // 1000}.{answer % 1000 // 10}"
