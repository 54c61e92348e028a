"""Totals of a recording: energy, throttling, idle time, peaks of each card, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gpu_studio.common.regular_files import opened
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract.samples import (
    AnySample,
    CardFacts,
    Cards,
    Fast,
    SampleError,
    SamplerStarted,
    Slow,
    decode,
)
from gpu_studio.hardware.card_account import LONGEST_GAP as LONGEST_GAP
from gpu_studio.hardware.card_account import CardAccount, CardTotals

LONGEST_LINE: Final = 4 * 1024 * 1024
LONGEST_RECORDING: Final = 1024 * 1024 * 1024
"""Bytes, four times as many as a recorder ever writes: what comes after them is not read."""
# The other kinds have no figures to add up, and the processes alone are most of a recording.
_WANTED: Final = tuple(
    f'{{"sample":"{kind}"'.encode() for kind in ("started", "cards", "fast", "slow")
)
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MachineTotals:
    """The totals of every recorded card and MIG instance, by its key in the samples.

    `why` says why there is none.
    """

    cards: dict[str, CardTotals] = field(default_factory=dict)
    driver: str | None = None
    cuda: str | None = None
    simulated: str = ""
    why: str = ""

    @property
    def known(self) -> dict[str, CardFacts]:
        """The known totals, by the same keys."""
        return {key: card.facts for key, card in self.cards.items()}


def account(recording: Path, counted: Sequence[Span] | None = None) -> MachineTotals | None:
    """Add up a recording (`hardware.jsonl`); None if there is none.

    `counted` are the spans (begin, end; seconds since 1970, UTC) in which an inactive card counts
    as idle; by default the whole recording. Lines that hold no sample, such as half a line, are
    skipped. Raises OSError if it cannot be read.
    """
    accounts = _Accounts(counted)
    try:
        for line in lines_of(recording):
            if line.startswith(_WANTED):
                with suppress(SampleError):
                    accounts.take(decode(line))
    except FileNotFoundError:
        return None
    return accounts.totals()


class _Accounts:
    """All cards of a recording."""

    def __init__(self, counted: Sequence[Span] | None) -> None:
        self._spans = counted
        self._cards: dict[str, CardAccount] = {}
        self._reported = Cards(time=0.0, cards=[])
        self._simulated = ""
        self._clock = SteadyClock()

    def take(self, sample: AnySample | None) -> None:
        """Process a sample."""
        time = self._clock.at(sample.time, sample.steady) if sample is not None else 0.0
        match sample:
            case Fast():
                for quick in sample.cards:
                    self._of(quick.card).fast(time, quick)
            case Slow():
                for slow in sample.cards:
                    self._of(slow.card).slow(time, slow)
            case Cards():
                self._reported = sample
                for facts in _with_instances(sample.cards):
                    self._of(facts.card).facts = facts
            case SamplerStarted():
                self._simulated = sample.simulated

    def totals(self) -> MachineTotals:
        """Return the totals."""
        cards = {key: card.totals() for key, card in self._cards.items()}
        return MachineTotals(
            cards, self._reported.driver, self._reported.cuda, self._simulated, self._reported.why
        )

    def _of(self, card: str) -> CardAccount:
        found = self._cards.get(card)
        if found is None:
            found = self._cards[card] = CardAccount(CardFacts(card=card), self._overlap)
        return found

    def _overlap(self, begin: float, end: float) -> float:
        if self._spans is None:
            return end - begin
        return sum(max(0.0, min(end, until) - max(begin, since)) for since, until in self._spans)


def _with_instances(cards: Sequence[CardFacts]) -> Iterator[CardFacts]:
    for card in cards:
        yield card
        for part in card.instances:
            yield CardFacts(
                card=part.card,
                uuid=part.card,
                name=part.name,
                total_mib=part.total_mib,
                gone=card.gone,
            )


def lines_of(recording: Path, *, follow: bool = False) -> Iterator[bytes]:
    """Yield the whole lines of a recording, without lines longer than any sample.

    `follow` is as in `regular_files`. Raises OSError.
    """
    with opened(recording, follow=follow) as file:
        cut = False
        while (line := file.readline(LONGEST_LINE)) and file.tell() <= LONGEST_RECORDING:
            whole = line.endswith(b"\n")
            if whole and not cut:
                yield line
            cut = not whole
