"""The driver as the sampler holds it: opened anew when a card is lost, and the cards recognised by their UUIDs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import NAMELESS, Unknown
from gpu_studio.hardware.pci import PciCard, bus_order
from gpu_studio.hardware.probe import NONE_FOUND
from gpu_studio.hardware.sampler.card import Calls, Card
from gpu_studio.hardware.samples import CardFacts, Cards
from gpu_studio.hardware.source import Source

ASLEEP = "asleep: it was not woken to ask"
UNLISTED = "lost: the driver no longer lists it"


class RenewError(Exception):
    """The driver was replaced under this process, which still has the old one's library: only a new one can ask."""


class Driver:
    """The cards of this machine. `cards` are those that answer, `facts` tell of all, of lost and sleeping ones too."""

    def __init__(self, source: Source) -> None:
        self.calls = Calls()
        self.cards: list[Card] = []
        self.facts: dict[str, CardFacts] = {}
        self.why = ""
        self._source = source
        self._is_open = False
        self._ever_open = False
        self._listed: list[PciCard] = []
        self._count = 0
        self._versions: dict[str, str | None] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every card that is not asleep answers, and there is one."""
        return not self.why and all(not facts.gone or facts.asleep for facts in self.facts.values())

    def open(self) -> None:
        """Open the driver, anew if it was open: all handles are made again, and cards known before are recognised.

        Raises RenewError if only another process can.
        """
        self.close()
        self.why = ""
        self._listed = self._source.pci_cards()
        asleep = [card for card in self._listed if card.asleep]
        found: list[CardFacts] = []
        if not asleep or len(asleep) < len(self._listed):
            found = self._found(asleep)
        found += [self._sleeper(card) for card in asleep]
        self._remember(found)

    def close(self) -> None:
        """Let go of the driver."""
        if self._is_open:
            self.calls.ask("nvmlShutdown")
        self._is_open = False
        self.cards = []

    def has_changed(self) -> bool:
        """Whether a card has fallen asleep, woken up, come or gone, as far as can be told without opening anew."""
        if self._source.pci_cards() != self._listed:
            return True
        return self._is_open and self.calls.ask("nvmlDeviceGetCount") != self._count

    def lose(self, card: Card) -> None:
        """Keep of a card that has stopped answering only what it was, and why it is gone. Raises RenewError."""
        loss = card.loss or Unknown(UNLISTED)
        self._renew_if_replaced(loss)
        self.cards.remove(card)
        self.facts[card.key] = msgspec.structs.replace(self.facts[card.key], gone=loss.why)

    def told(self, time: float) -> Cards:
        """All cards as a sample."""
        ordered = sorted(self.facts.values(), key=lambda facts: bus_order(facts.bus_id))
        return Cards(time=time, cards=ordered, why=self.why, **self._versions)

    def _found(self, asleep: list[PciCard]) -> list[CardFacts]:
        failure = self.calls.ask("nvmlInitWithFlags", nvml.NO_ATTACH if asleep else 0)
        if isinstance(failure, Unknown):
            return self._refused(failure)
        self._is_open = self._ever_open = True
        self._versions = {"driver": self._driver_version(), "cuda": self._cuda_version()}
        count = self.calls.ask("nvmlDeviceGetCount")
        if isinstance(count, Unknown):
            return self._refused(count)
        self._count = count
        if asleep:
            awake = [card.bus_id for card in self._listed if not card.asleep]
            return [self._by_bus_id(index, bus_id) for index, bus_id in enumerate(awake)]
        self.why = "" if count else NONE_FOUND
        return [self._by_index(index) for index in range(count)]

    def _refused(self, failure: Unknown) -> list[CardFacts]:
        self._renew_if_replaced(failure)
        self.why = failure.why
        return []

    def _renew_if_replaced(self, failure: Unknown) -> None:
        # At the start there is nothing to renew: then the machine has to be restarted, and the words say so.
        if failure.code == nvml.MISMATCH and self._ever_open:
            raise RenewError(failure.why)

    def _by_index(self, index: int) -> CardFacts:
        return self._card(index, self.calls.ask("nvmlDeviceGetHandleByIndex", index))

    def _by_bus_id(self, index: int, bus_id: str) -> CardFacts:
        return self._card(index, self.calls.ask("nvmlDeviceGetHandleByPciBusId", bus_id), bus_id)

    def _card(self, index: int, handle: object, bus_id: str = "") -> CardFacts:
        if isinstance(handle, Unknown):
            self._renew_if_replaced(handle)
            return self._silent(index, bus_id, handle.why)
        card = Card(index, handle, self.calls, bus_id)
        if card.loss:
            self._renew_if_replaced(card.loss)
            known = card.facts if card.facts.uuid else self._silent(index, bus_id, card.loss.why)
            return msgspec.structs.replace(known, gone=card.loss.why)
        self.cards.append(card)
        return card.facts

    def _silent(self, index: int, bus_id: str, why: str) -> CardFacts:
        """A card that does not say which it is: the one that had this number, if it was known."""
        for facts in self.facts.values():
            if (facts.bus_id == bus_id) if bus_id else (facts.index == index):
                return msgspec.structs.replace(facts, gone=why)
        return CardFacts(card=bus_id or f"nvml-{index}", index=index, name=NAMELESS, bus_id=bus_id, gone=why)

    def _sleeper(self, card: PciCard) -> CardFacts:
        for facts in self.facts.values():
            if facts.bus_id == card.bus_id:
                return msgspec.structs.replace(facts, gone=ASLEEP, asleep=True, index=None)
        name = "NVIDIA card, asleep"
        return CardFacts(card=card.bus_id, name=name, bus_id=card.bus_id, gone=ASLEEP, asleep=True)

    def _remember(self, found: Iterable[CardFacts]) -> None:
        """Cards seen before stay listed while they are away, unless they never said which they were."""
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
