"""Run all checks on the facts, in the order in which a person would do them."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_studio.hardware.doctor import access_checks, card_checks, driver_checks, tensorflow_checks
from gpu_studio.hardware.doctor.facts import Facts
from gpu_studio.hardware.doctor.findings import Finding, State
from gpu_studio.hardware.identity import Identity, find, join
from gpu_studio.hardware.identity_variables import Effect, effect
from gpu_studio.hardware.topology_advice import advise


@dataclass(frozen=True, slots=True)
class ExaminedCards:
    """Every card under all its names, and the effect of the variables on them."""

    identities: tuple[Identity, ...]
    effect: Effect


def examine(facts: Facts) -> list[Finding]:
    """The findings: first the machine, then each card, their links, and the disk."""
    cards = identify(facts)
    found = [
        *_machine(facts, cards),
        *_each_card(facts, cards),
        _joined(facts),
        access_checks.disk_space(facts),
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
    if facts.survey.simulated:
        # Neither this machine's files nor its CUDA know simulated cards.
        reported = (
            driver_checks.simulation,
            driver_checks.card,
            driver_checks.driver,
            tensorflow_checks.tensorflow,
        )
        return [check(facts) for check in reported]
    return [
        driver_checks.card(facts),
        driver_checks.driver(facts),
        driver_checks.module(facts),
        driver_checks.wsl(facts),
        access_checks.container(facts),
        access_checks.nodes(facts),
        access_checks.shared_memory(facts),
        access_checks.variables(drivers, cards.effect),
        tensorflow_checks.tensorflow(facts),
        driver_checks.newer_cuda(facts) if facts.has_card else None,
        tensorflow_checks.libraries(facts),
        tensorflow_checks.cuda(facts),
    ]


def _each_card(facts: Facts, cards: ExaminedCards) -> list[Finding | None]:
    found: list[Finding | None] = []
    for card in facts.survey.cards:
        if not facts.survey.simulated:
            found.append(
                card_checks.seen(card, facts, find(cards.identities, card.seen), cards.effect.left)
            )
        found.extend(check(card, facts) for check in card_checks.CHECKS)
    return found


def _joined(facts: Facts) -> Finding | None:
    advice = advise(facts.survey.topology)
    if advice is None or len(facts.survey.topology.nodes) < 2:
        return None
    unknown = any(joint.peer is None for joint in facts.survey.topology.pairs())
    state: State = "warning" if unknown else "good"
    return Finding("joined", state, "Between the cards", " ".join(advice.words))
