"""One card in the sampler: its queries, which of them to skip, and whether it still answers.

`NvlinkRates` turns the counters of its links into rates. `Events` waits for the driver's events of
the cards: XIDs, the driver's own errors, memory errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from gpu_studio.contract.samples import MEASURED_NEXT, CardFacts, Happened, Instance
from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import (
    BUS_ID,
    FACTS,
    NAME,
    NAMELESS,
    TOTAL,
    UUID,
    Call,
    DriverQuestion,
    Unknown,
    answers,
    first_answer,
    instances_of,
)

NOT_IN_MIG = "not in MIG mode"


class DriverCalls:
    """Counts the queries to the driver."""

    def __init__(self) -> None:
        self.count = 0

    def ask(self, function: str, *arguments: Any) -> Any | Unknown:
        """Make one query."""
        self.count += 1
        return nvml.query(function, *arguments)


class Answerer:
    """A card or MIG instance that can be queried.

    `loss` is set once it stops answering altogether; from then on it is not queried any more.
    """

    def __init__(self, key: str, handle: Any, calls: DriverCalls, *, is_mig: bool = False) -> None:
        self.key = key
        self.handle = handle
        self.loss: Unknown | None = None
        self.is_mig = is_mig
        self._calls = calls
        self._settled: dict[str, Unknown] = {}

    def read(self, questions: Iterable[DriverQuestion]) -> dict[str, Any]:
        """The figures by name, and under "why" the reasons for unknown ones."""
        values: dict[str, Any] = {}
        why: dict[str, str] = {}
        for question in questions:
            answer = self.answer(question)
            if isinstance(answer, Unknown):
                why.update(dict.fromkeys(question.names, self._words(answer)))
            else:
                values.update(zip(question.names, answer, strict=True))
        why.update(
            {name: nvml.WHY[nvml.TOO_OLD] for name, value in values.items() if value is None}
        )
        return {**values, "why": why}

    def answer(self, question: DriverQuestion) -> tuple[Any, ...] | Unknown:
        """Its answer, as figures."""
        answer = self.answer_once(question.names[0], *question.calls)
        return answer if isinstance(answer, Unknown) else question.convert(answer)

    def answer_once(self, name: str, *calls: Call) -> Any | Unknown:
        """The answer to the query called `name`; one that can never succeed is not repeated."""
        settled = self.loss or self._settled.get(name)
        if settled is not None:
            return settled
        answer = first_answer(calls, self.ask)
        if isinstance(answer, Unknown) and answer.is_lasting:
            self._settled[name] = answer
        return answer

    def ask(self, call: Call) -> Any | Unknown:
        """Make one call, and record if the card or the driver is gone."""
        answer = self._calls.ask(call[0], self.handle, *call[1:])
        if isinstance(answer, Unknown) and (answer.is_card_gone or answer.is_driver_gone):
            self.loss = answer
        return answer

    def _words(self, answer: Unknown) -> str:
        return NOT_IN_MIG if self.is_mig and answer.code == nvml.NOT_SUPPORTED else answer.why


class SampledCard(Answerer):
    """A card that answers, with its facts and the MIG instances it is split into."""

    def __init__(self, index: int, handle: Any, calls: DriverCalls, bus_id: str = "") -> None:
        super().__init__("", handle, calls)
        reported = answers(self.ask, UUID, *([] if bus_id else [BUS_ID]), NAME)
        uuid, bus_id = reported.get("uuid", ""), bus_id or reported.get("bus_id", "")
        self.key = uuid or bus_id or f"nvml-{index}"
        self.facts = CardFacts(
            card=self.key,
            index=index,
            uuid=uuid,
            name=reported.get("name") or NAMELESS,
            bus_id=bus_id,
            **self.read(FACTS),
        )
        self.is_mig = bool(self.facts.mig)
        self.instances = self._instances() if self.is_mig else []
        self.facts = msgspec.structs.replace(
            self.facts, instances=[_reported(each) for each in self.instances]
        )

    @property
    def address(self) -> int:
        """The number by which an event names the card."""
        return nvml.address(self.handle)

    def _instances(self) -> list[Answerer]:
        return [
            Answerer(f"{self.key}/mig-{place}", handle, self._calls, is_mig=True)
            for place, handle in instances_of(self.ask).items()
        ]


def _reported(instance: Answerer) -> Instance:
    """A MIG instance as a sample's value; its own UUID becomes its key."""
    reported = answers(instance.ask, UUID, NAME)
    instance.key = reported.get("uuid", instance.key)
    total = instance.answer(TOTAL)
    return Instance(
        card=instance.key,
        name=reported.get("name", "MIG instance"),
        total_mib=None if isinstance(total, Unknown) else total[0],
    )


NAMES: Final = ("nvlink_sent_mib_s", "nvlink_received_mib_s")
EVERY_LINK: Final = 2**32 - 1
FIELDS: Final = [(138, EVERY_LINK), (139, EVERY_LINK)]
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX of all links together.

The payload, in KiB since the driver's start.
"""
RESTARTED: Final = "the card's counters began anew"
KIB_PER_MIB: Final = 1024


class NvlinkRates:
    """Remembers each card's counters until the next query."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, tuple[int, ...]]] = {}
        self._settled: dict[str, Unknown] = {}

    def forget(self) -> None:
        """Start over: the cards may be different ones."""
        self._before, self._settled = {}, {}

    def read(self, card: Answerer, now: float) -> dict[str, Any]:
        """The rates in MiB/s by name, and under "why" the reasons for unknown ones.

        `now` is of a monotonic clock, in seconds. A card without NVLink is queried once.
        """
        counts = self._settled.get(card.key) or _counts(card)
        if isinstance(counts, Unknown):
            if counts.is_lasting:
                self._settled[card.key] = counts
            self._before.pop(card.key, None)
            return {"why": dict.fromkeys(NAMES, counts.why)}
        before, self._before[card.key] = self._before.get(card.key), (now, counts)
        return _rates(before, now, counts)


def _rates(
    before: tuple[float, tuple[int, ...]] | None, now: float, counts: tuple[int, ...]
) -> dict[str, Any]:
    if before is None or now <= before[0]:
        return {"why": dict.fromkeys(NAMES, MEASURED_NEXT)}
    more = [new - old for new, old in zip(counts, before[1], strict=True)]
    if min(more) < 0:
        return {"why": dict.fromkeys(NAMES, RESTARTED)}
    seconds = now - before[0]
    return {name: kib / KIB_PER_MIB / seconds for name, kib in zip(NAMES, more, strict=True)} | {
        "why": {}
    }


def _counts(card: Answerer) -> tuple[int, ...] | Unknown:
    fields = card.answer_once("nvlink", ("nvmlDeviceGetFieldValues", FIELDS))
    if isinstance(fields, Unknown):
        return fields
    failed = next((field.nvmlReturn for field in fields if field.nvmlReturn), 0)
    if failed:
        return Unknown(nvml.WHY.get(failed, f"the driver answered with error {failed}"), failed)
    return tuple(int(field.value.ullVal) for field in fields)


CORRECTED, UNCORRECTED, XID = 0x1, 0x2, 0x8
WANTED = CORRECTED | UNCORRECTED | XID
MOST_AT_ONCE = 64
KINDS = {CORRECTED: "ecc_corrected", UNCORRECTED: "ecc_uncorrected", XID: "xid"}
ECC_WORDS = {
    "ecc_corrected": "an error in the card's memory was corrected",
    "ecc_uncorrected": "an error in the card's memory could not be corrected",
}
# From NVIDIA's catalogue of XID errors.
XIDS = {
    13: "a program used the card wrongly (graphics engine exception)",
    31: "a program used memory of the card that it does not have (page fault)",
    32: "the card was handed corrupted commands",
    38: "the driver's firmware failed",
    43: "the card stopped working on a program",
    45: "a program's work on the card was broken off",
    48: "an error in the card's memory could not be corrected",
    61: "the card's own controller stopped at a breakpoint",
    62: "the card's own controller halted",
    63: "a bad part of the card's memory was taken out of use",
    64: "a bad part of the card's memory could not be taken out of use",
    74: "a link between cards (NVLink) failed",
    79: "the card has fallen off the bus",
    92: "many errors in the card's memory were corrected",
    94: "an error in the card's memory was contained; restart the program that met it",
    95: "an error in the card's memory was not contained; the card needs a reset",
    119: "the card's system processor did not answer",
    120: "the card's system processor failed",
}


class Events:
    """The driver's event set for some cards.

    A driver without events reports none, and nothing fails.
    """

    def __init__(self, calls: DriverCalls) -> None:
        self._calls = calls
        self._set: Any = None
        self._keys: dict[int, str] = {}

    def watch(self, cards: Sequence[SampledCard]) -> None:
        """Watch these cards from now on, instead of the previous ones."""
        self.forget()
        if not cards:
            return
        made = self._calls.ask("nvmlEventSetCreate")
        if isinstance(made, Unknown):
            return
        self._set = made
        for card in cards:
            if self._register(card):
                self._keys[card.address] = card.key
        if not self._keys:
            self.forget()

    def forget(self) -> None:
        """Stop watching."""
        if self._set is not None:
            self._calls.ask("nvmlEventSetFree", self._set)
        self._set = None
        self._keys = {}

    def happened(self, time: float) -> Iterator[Happened]:
        """The events since the last call; never waits."""
        for _ in range(MOST_AT_ONCE if self._set is not None else 0):
            event = self._calls.ask("nvmlEventSetWait", self._set, 0)
            if isinstance(event, Unknown):
                return
            yield self._reported(event, time)

    def _register(self, card: SampledCard) -> bool:
        supported = self._calls.ask("nvmlDeviceGetSupportedEventTypes", card.handle)
        if isinstance(supported, Unknown) or not supported & WANTED:
            return False
        answer = self._calls.ask(
            "nvmlDeviceRegisterEvents", card.handle, supported & WANTED, self._set
        )
        return not isinstance(answer, Unknown)

    def _reported(self, event: Any, time: float) -> Happened:
        kind = KINDS.get(event.eventType, "xid")
        code = int(event.eventData) if kind == "xid" else 0
        words = (
            ECC_WORDS.get(kind)
            or f"XID {code}: {XIDS.get(code, 'see the NVIDIA catalogue of XID errors')}"
        )
        return Happened(
            time=time,
            card=self._keys.get(nvml.address(event.device), ""),
            kind=kind,
            code=code,
            words=words,
        )
