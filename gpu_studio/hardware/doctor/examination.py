"""The doctor's examination: collect the facts, run all checks on them, and report.

The checks run in the order in which a person would do them. The report tells the findings,
every card under all its names, and the links between cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import msgspec

from gpu_studio.common.processes import module_command
from gpu_studio.contract import JSON_ERRORS
from gpu_studio.hardware.asking import NoAnswerError, answer_of
from gpu_studio.hardware.doctor import card_checks, machine_checks
from gpu_studio.hardware.doctor.facts import Facts, Survey, ViewError, system, tensorflow_view
from gpu_studio.hardware.doctor.findings import Finding, State, all_well, gathered
from gpu_studio.hardware.identity import Effect, Identity, effect, find, join
from gpu_studio.hardware.topology import advise, as_text

COMMAND = tuple(module_command("gpu_studio.hardware.doctor.survey"))


def take_survey(timeout: float = 15.0, command: Sequence[str] = COMMAND) -> Survey:
    """The driver's answers. Takes slightly more than `timeout` seconds at most; raises nothing."""
    try:
        return msgspec.json.decode(answer_of(command, timeout), type=Survey)
    except NoAnswerError as error:
        return Survey(why_no_answer=str(error))
    except JSON_ERRORS as error:
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
    """The report for programs: findings, cards, variables, topology, advice and TensorFlow."""
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
    rows = finding_lines(gathered(report.findings), width)
    topology = report.facts.survey.topology
    if len(topology.nodes) > 1:
        rows += ["", as_text(topology)]
    return "\n".join([*rows, "", ending(report.findings)])


def finding_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Each finding in a terminal of `width` columns: mark, title, what was found, what to type."""
    titles = max((len(finding.title) for finding in findings), default=0)
    return [
        line
        for finding in findings
        for line in _lines(finding, titles, max(width - titles - 4, 30))
    ]


def _lines(finding: Finding, titles: int, width: int) -> list[str]:
    first, *rest = wrap(finding.shown, width)
    # A command to type stays on one line, so that it can be copied.
    below = (f"{'':{titles + 4}}{line}" for line in (*rest, *finding.mend))
    return [f"{finding.mark} {finding.title:<{titles}}  {first}", *below]


def ending(findings: Sequence[Finding]) -> str:
    """Whether something must be mended, in a sentence."""
    bad = sum(finding.state == "bad" for finding in findings)
    if bad:
        return f"{bad} thing{'s' if bad > 1 else ''} must be mended (✘)."
    warnings = sum(finding.state == "warning" for finding in findings)
    return "Nothing must be mended." if warnings else "All is well."


@dataclass(frozen=True, slots=True)
class ExaminedCards:
    """Every card under all its names, and the effect of the variables on them."""

    identities: tuple[Identity, ...]
    effect: Effect


def examine(facts: Facts) -> list[Finding]:
    """The findings: first the machine, then each card, their links, the disk, and logging out."""
    cards = identify(facts)
    machine = [finding for finding in _machine(facts, cards) if finding is not None]
    found = [
        *machine,
        *_each_card(facts, cards, explained=not all_well(machine)),
        _joined(facts),
        machine_checks.disk_space(facts),
        machine_checks.logging_out(facts),
    ]
    return [finding for finding in found if finding is not None]


def identify(facts: Facts) -> ExaminedCards:
    """Every card that the driver, CUDA or TensorFlow sees, as one record."""
    view = facts.tensorflow
    identities = join(
        [card.seen for card in facts.survey.cards],
        [card.seen for card in view.cuda.cards] if view else [],
        [gpu.seen for gpu in view.gpus if gpu.bus_id] if view else [],
    )
    # A variable hides cards that the driver has: its numbers refer to those.
    drivers = tuple(one for one in identities if one.nvml_index is not None)
    return ExaminedCards(identities, effect(facts.system.variables, drivers))


def _machine(facts: Facts, cards: ExaminedCards) -> list[Finding | None]:
    drivers = tuple(one for one in cards.identities if one.nvml_index is not None)
    if facts.survey.practice:
        # They need neither the driver nor CUDA.
        return [machine_checks.practice(facts), card_checks.tensorflow(facts)]
    if facts.survey.simulated:
        # Neither this machine's files nor its CUDA know simulated cards.
        reported = (
            machine_checks.simulation,
            machine_checks.card,
            machine_checks.driver,
            card_checks.tensorflow,
        )
        return [check(facts) for check in reported]
    return [
        machine_checks.card(facts),
        machine_checks.driver(facts),
        machine_checks.module(facts),
        machine_checks.wsl(facts),
        machine_checks.container(facts),
        machine_checks.nodes(facts),
        machine_checks.shared_memory(facts),
        machine_checks.variables(drivers, cards.effect),
        card_checks.tensorflow(facts),
        machine_checks.newer_cuda(facts) if facts.has_card else None,
        card_checks.libraries(facts),
        card_checks.cuda(facts),
    ]


def _each_card(facts: Facts, cards: ExaminedCards, *, explained: bool) -> Iterator[Finding | None]:
    checks = card_checks.OF_PRACTICE if facts.survey.practice else card_checks.CHECKS
    for card in facts.survey.cards:
        own = [finding for check in checks if (finding := check(card, facts)) is not None]
        if not facts.survey.simulated:
            yield card_checks.seen(
                card,
                facts,
                find(cards.identities, card.seen),
                cards.effect.left,
                explained=explained or not all_well(own),
            )
        yield from own


def _joined(facts: Facts) -> Finding | None:
    advice = advise(facts.survey.topology)
    if advice is None or len(facts.survey.topology.nodes) < 2:
        return None
    unknown = any(joint.peer is None for joint in facts.survey.topology.pairs())
    state: State = "warning" if unknown else "good"
    return Finding("joined", state, "Between the cards", " ".join(advice.words))
