"""The doctor's findings, and how similar ones are combined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from gpu_studio.common.cut_texts import LONGEST_LINE, cut
from gpu_studio.plan import listed

State = Literal["good", "warning", "bad"]

MARKS: Final[dict[State, str]] = {"good": "✔", "warning": "!", "bad": "✘"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `check` is its stable name for programs.

    `found` says in a sentence what was found. `mend` are lines to type, or to do by hand, each
    literal. `device` is the UUID or PCI address of the card concerned, `number` its number in the
    driver; empty and None if it is about the whole machine.
    """

    check: str
    state: State
    title: str
    found: str
    mend: tuple[str, ...] = ()
    device: str = ""
    number: int | None = None

    @property
    def shown(self) -> str:
        """What was found for a person, cut where it has no end.

        `mend` never is: a command that is cut does something else.
        """
        return cut(self.found, LONGEST_LINE)

    @property
    def mark(self) -> str:
        """✔, ! or ✘."""
        return MARKS[self.state]

    def as_json(self) -> dict[str, Any]:
        """The finding for programs."""
        return asdict(self) | {"mend": list(self.mend)}


def gathered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings for a person: equal ones of several cards are combined at the first."""
    together: dict[object, list[Finding]] = {}
    for each in findings:
        alone = each.number is None
        same = id(each) if alone else (each.check, each.state, each.found, each.mend, _kind(each))
        together.setdefault(same, []).append(each)
    return [_of_all(same) for same in together.values()]


def _of_all(same: Sequence[Finding]) -> Finding:
    if len(same) == 1:
        return same[0]
    numbers = [each.number for each in same if each.number is not None]
    in_a_row = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    names = f"{numbers[0]} to {numbers[-1]}" if in_a_row else listed(map(str, numbers))
    return replace(same[0], title=f"GPU {names}{_kind(same[0])}", device="")


def _kind(finding: Finding) -> str:
    """The part of a title after the card's number: ` (NVIDIA L4)`."""
    return finding.title.removeprefix(f"GPU {finding.number}")


def all_well(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """Whether nothing must be fixed; warnings are acceptable."""
    return all(finding.state != "bad" for finding in findings)
