"""What the doctor finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

State = Literal["good", "warning", "bad"]

MARKS: Final[dict[State, str]] = {"good": "✔", "warning": "!", "bad": "✘"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `check` is its name for programs, and does not change with the words.

    `found` says in a sentence what is there. `mend` are lines to type, or to do by hand, each as it stands. `device`
    is the UUID or PCI address of the card in question; empty if it is about the whole machine.
    """

    check: str
    state: State
    title: str
    found: str
    mend: tuple[str, ...] = ()
    device: str = ""

    @property
    def mark(self) -> str:
        """✔, ! or ✘."""
        return MARKS[self.state]

    def as_json(self) -> dict[str, Any]:
        """The finding for programs."""
        return asdict(self) | {"mend": list(self.mend)}


def all_well(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """Whether nothing must be mended; warnings are well enough."""
    return all(finding.state != "bad" for finding in findings)
