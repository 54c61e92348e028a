"""One card as the sampler keeps it: how to ask it, what need not be asked again, and whether it still answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import NAMELESS, Unknown
from gpu_studio.hardware.pci import plain_bus_id
from gpu_studio.hardware.sampler.questions import FACTS, TOTAL, Call, Question
from gpu_studio.hardware.samples import CardFacts, Instance

NOT_IN_MIG = "not in MIG mode"


class Calls:
    """How many questions the driver was asked."""

    def __init__(self) -> None:
        self.count = 0

    def ask(self, function: str, *arguments: Any) -> Any | Unknown:
        """Ask one."""
        self.count += 1
        return nvml.query(function, *arguments)


class Answerer:
    """A card, or a MIG instance of one, that questions can be put to.

    `loss` is set once it stops answering altogether; from then on nothing more is asked of it.
    """

    def __init__(self, key: str, handle: Any, calls: Calls, *, is_mig: bool = False) -> None:
        self.key = key
        self.handle = handle
        self.loss: Unknown | None = None
        self.is_mig = is_mig
        self._calls = calls
        self._settled: dict[str, Unknown] = {}

    def read(self, questions: Iterable[Question]) -> dict[str, Any]:
        """The figures by name, and under "why" the reasons of those that are not known."""
        values: dict[str, Any] = {}
        why: dict[str, str] = {}
        for question in questions:
            answer = self.answer(question)
            if isinstance(answer, Unknown):
                why.update(dict.fromkeys(question.names, self._words(answer)))
            else:
                values.update(zip(question.names, answer, strict=True))
        why.update({name: nvml.WHY[nvml.TOO_OLD] for name, value in values.items() if value is None})
        return {**values, "why": why}

    def answer(self, question: Question) -> tuple[Any, ...] | Unknown:
        """What it answers, as figures."""
        answer = self.answer_once(question.names[0], *question.calls)
        return answer if isinstance(answer, Unknown) else question.convert(answer)

    def answer_once(self, name: str, *calls: Call) -> Any | Unknown:
        """What the driver answers to the question called `name`; one that it will never answer is not asked twice."""
        settled = self.loss or self._settled.get(name)
        if settled is not None:
            return settled
        answer = self._first_answer(calls)
        if isinstance(answer, Unknown) and answer.is_lasting:
            self._settled[name] = answer
        return answer

    def ask(self, call: Call) -> Any | Unknown:
        """Make one call, and take note if the card or the driver is gone."""
        answer = self._calls.ask(call[0], self.handle, *call[1:])
        if isinstance(answer, Unknown) and (answer.is_card_gone or answer.is_driver_gone):
            self.loss = answer
        return answer

    def _first_answer(self, calls: Iterable[Call]) -> Any | Unknown:
        answer: Any = Unknown("")
        for call in calls:
            answer = self.ask(call)
            if not isinstance(answer, Unknown) or answer.code != nvml.TOO_OLD:
                break
        return answer

    def _words(self, answer: Unknown) -> str:
        return NOT_IN_MIG if self.is_mig and answer.code == nvml.NOT_SUPPORTED else answer.why


class Card(Answerer):
    """A card that answers, with its facts and the MIG instances it is split into."""

    def __init__(self, index: int, handle: Any, calls: Calls, bus_id: str = "") -> None:
        super().__init__("", handle, calls)
        uuid = self._text("nvmlDeviceGetUUID")
        bus_id = bus_id or self._bus_id()
        self.key = uuid or bus_id or f"nvml-{index}"
        self.facts = CardFacts(
            card=self.key,
            index=index,
            uuid=uuid,
            name=self._text("nvmlDeviceGetName") or NAMELESS,
            bus_id=bus_id,
            **self.read(FACTS),
        )
        self.is_mig = bool(self.facts.mig)
        self.instances = list(self._instances()) if self.is_mig else []
        self.facts = msgspec.structs.replace(self.facts, instances=[_told(each) for each in self.instances])

    @property
    def address(self) -> int:
        """The number by which an event names the card."""
        return nvml.address(self.handle)

    def _text(self, function: str) -> str:
        answer = self.ask((function,))
        return "" if isinstance(answer, Unknown) else answer

    def _bus_id(self) -> str:
        answer = self.ask(("nvmlDeviceGetPciInfo",))
        if isinstance(answer, Unknown):
            return ""
        text = answer.busId
        return plain_bus_id(text.decode("ascii", "replace") if isinstance(text, bytes) else text)

    def _instances(self) -> Iterable[Answerer]:
        most = self.ask(("nvmlDeviceGetMaxMigDeviceCount",))
        for index in range(0 if isinstance(most, Unknown) else most):
            handle = self.ask(("nvmlDeviceGetMigDeviceHandleByIndex", index))
            if not isinstance(handle, Unknown):
                yield Answerer(f"{self.key}/mig-{index}", handle, self._calls, is_mig=True)


def _told(instance: Answerer) -> Instance:
    """A MIG instance in the words of samples; its own UUID becomes its key."""
    uuid, name = instance.ask(("nvmlDeviceGetUUID",)), instance.ask(("nvmlDeviceGetName",))
    if not isinstance(uuid, Unknown):
        instance.key = uuid
    total = instance.answer(TOTAL)
    return Instance(
        card=instance.key,
        name="MIG instance" if isinstance(name, Unknown) else name,
        total_mib=None if isinstance(total, Unknown) else total[0],
    )
