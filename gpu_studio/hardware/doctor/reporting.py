"""The doctor's report: findings, every card under all its names, and the links between cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import msgspec

from gpu_studio.common.own_processes import module_command
from gpu_studio.hardware.asking import NoAnswerError, answer_of
from gpu_studio.hardware.doctor.examination import ExaminedCards, examine, identify
from gpu_studio.hardware.doctor.facts import Facts, Survey
from gpu_studio.hardware.doctor.findings import Finding, all_well, gathered
from gpu_studio.hardware.doctor.system import system
from gpu_studio.hardware.tensorflow_view import ViewError, tensorflow_view
from gpu_studio.hardware.topology import as_text
from gpu_studio.hardware.topology_advice import advise

COMMAND = tuple(module_command("gpu_studio.hardware.doctor.survey"))


def take_survey(timeout: float = 15.0, command: Sequence[str] = COMMAND) -> Survey:
    """The driver's answers. Takes slightly more than `timeout` seconds at most; raises nothing."""
    try:
        return msgspec.json.decode(answer_of(command, timeout), type=Survey)
    except NoAnswerError as error:
        return Survey(why_no_answer=str(error))
    except msgspec.MsgspecError as error:
        return Survey(
            why_no_answer=f"asking the NVIDIA driver failed (the answer is no survey: {error})"
        )


NEVER_ASKED = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The doctor's findings, and the facts on which they are based."""

    facts: Facts
    findings: tuple[Finding, ...]
    cards: ExaminedCards

    @property
    def well(self) -> bool:
        """Whether nothing must be fixed."""
        return all_well(self.findings)


def gather(
    runs: Path | None,
    tensorflow: Mapping[str, Any] | None,
    why_not: str = NEVER_ASKED,
    timeout: float = 15.0,
) -> Facts:
    """Collect the facts; a separate process queries the driver, for at most `timeout` seconds.

    `tensorflow` is the answer to the question `devices`, or None and `why_not` the reason; `runs`
    is the runs' folder.
    """
    survey = take_survey(timeout)
    if tensorflow is None:
        return Facts(system(runs), survey, None, why_not)
    try:
        return Facts(system(runs), survey, tensorflow_view(tensorflow))
    except ViewError as error:
        return Facts(system(runs), survey, None, str(error))


def judge(facts: Facts) -> Report:
    """Judge the facts."""
    return Report(facts, tuple(examine(facts)), identify(facts))


def as_json(report: Report) -> dict[str, Any]:
    """The report for programs.

    `well`, `findings`, `cards`, `variables`, `topology`, `advice`, `tensorflow`.
    """
    topology, view = report.facts.survey.topology, report.facts.tensorflow
    advice = advise(topology)
    return {
        "well": report.well,
        "findings": [finding.as_json() for finding in report.findings],
        "cards": [
            asdict(card) | {"tensorflow_name": card.tensorflow_name}
            for card in report.cards.identities
        ],
        "variables": {
            "visible": report.facts.system.variables.visible,
            "words": list(report.cards.effect.words),
        },
        "topology": asdict(topology),
        "advice": asdict(advice) if advice else None,
        "tensorflow": asdict(view) if view else None,
    }


def lines(report: Report, width: int = 100) -> str:
    """The report for a terminal of `width` columns: mark, title and finding.

    Below it what to type.
    """
    findings = gathered(report.findings)
    titles = max((len(finding.title) for finding in findings), default=0)
    rows = [
        line
        for finding in findings
        for line in _lines(finding, titles, max(width - titles - 4, 30))
    ]
    topology = report.facts.survey.topology
    if len(topology.nodes) > 1:
        rows += ["", as_text(topology)]
    return "\n".join([*rows, "", _ending(report)])


def _lines(finding: Finding, titles: int, width: int) -> list[str]:
    first, *rest = wrap(finding.found, width)
    # A command to type stays on one line, so that it can be copied.
    below = (f"{'':{titles + 4}}{line}" for line in (*rest, *finding.mend))
    return [f"{finding.mark} {finding.title:<{titles}}  {first}", *below]


def _ending(report: Report) -> str:
    bad = sum(finding.state == "bad" for finding in report.findings)
    if bad:
        return f"{bad} thing{'s' if bad > 1 else ''} must be mended (✘)."
    warnings = sum(finding.state == "warning" for finding in report.findings)
    return "Nothing must be mended." if warnings else "All is well."
