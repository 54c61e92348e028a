"""What the user should see to before training.

Obstacles prevent training; warnings say what will go differently than expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpu_studio.hardware.links import link_cautions
from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.known_problems import MisplacedLayers, Refusal
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Problem
from gpu_studio.plan.cautions import cautions
from gpu_studio.plan.mending import Caution, Remedy
from gpu_studio.plan.problems import Unnamed
from gpu_studio.plan.remedies import mends_of
from gpu_studio.runs.own_code import code_of
from gpu_studio.runs.sources import ConsentProblem
from gpu_studio.ui.plan.plan_view import PlanView

MOST = 8
"""So many problems are shown; those that follow from them go with them."""


@dataclass(frozen=True, slots=True)
class PlanConcern:
    """One of them. `key` identifies it across plans, `field` is the plan's field if there is one.

    An obstacle may be a Python file, `code`, that its user has not allowed. What was `refused` can
    be asked about again once it was fixed elsewhere; `details` is the traceback that came with it,
    `source` the user's file that it came from. What is `awaited` is no mistake: it only has to be
    named still.
    """

    key: str
    text: str
    why: str = ""
    field: str = ""
    mend: Remedy | None = None
    code: Path | None = None
    refused: bool = False
    details: str = ""
    source: Path | None = None
    awaited: bool = False
    others: tuple[Remedy, ...] = ()
    """Further ways out, besides the `mend`."""
    waits: bool = False
    """It ends by itself once others have ended, and can be waited for in the queue."""

    @property
    def action(self) -> str:
        """What can be done about it, as a button says it; empty where that is not known."""
        if self.mend is not None:
            return self.mend.label
        if self.code is not None:
            return "Allow…"
        return "Try again" if self.refused else ""

    def by_other(self, place: int) -> PlanConcern:
        """The same concern, with one of the `others` as its remedy."""
        return replace(self, mend=self.others[place], others=())

    @property
    def said(self) -> str:
        """The whole text in one line."""
        return " ".join(each for each in (self.field, self.text, self.why) if each)


class Obstacles:
    """The problems of the plan that prevent training, each with its remedies.

    Remedies are searched once: each is tried on the plan, and facts come and go.
    """

    def __init__(self) -> None:
        self._seen: PlanView | None = None
        self._problems: tuple[PlanConcern, ...] = ()

    def of(self, view: PlanView) -> tuple[PlanConcern, ...]:
        """The obstacles of this plan."""
        if self._seen is None or _looked_at(self._seen) != _looked_at(view):
            self._seen, self._problems = view, tuple(_problems(view))
        return self._problems


def _looked_at(view: PlanView) -> tuple[Any, ...]:
    return view.problems, view.plan, view.machine


def warnings(
    view: PlanView, facts: PlanFacts | None, topology: Topology | None
) -> tuple[PlanConcern, ...]:
    """Return the warnings about a plan that can run; none for a plan that cannot."""
    if view.problems:
        return ()
    plan, machine = view.plan, view.machine
    found = (
        *_known(view, facts),
        *link_cautions(plan, machine, topology),
        *cautions(plan, machine),
    )
    return (*_not_looked_at(facts), *(_concern(caution) for caution in _without_repeats(found)))


def _not_looked_at(facts: PlanFacts | None) -> Iterator[PlanConcern]:
    """A warning that there was no memory to inspect the plan.

    The plan can be trained all the same.
    """
    why, advice = facts.not_looked_at if facts else ("", ())
    if why:
        yield PlanConcern(
            "not looked at",
            f"The plan could not be looked at: {why}",
            " ".join(advice),
            refused=True,
        )


def _known(view: PlanView, facts: PlanFacts | None) -> tuple[Caution, ...]:
    if facts is None:
        return ()
    # Imported only once something is known: it imports numpy, which would delay the window's start.
    from gpu_studio.placement.cautions import cautions_with

    return cautions_with(view.plan, view.machine, facts)


def _problems(view: PlanView) -> Iterator[PlanConcern]:
    shown = view.problems[:MOST]
    mends = mends_of(shown, view.plan, view.machine)
    for place, (problem, mend) in enumerate(zip(shown, mends, strict=True)):
        earlier = sum(each.field == problem.field for each in shown[:place])
        yield _standing(problem, f"{problem.field} {earlier}", mend, view)
    if len(view.problems) > MOST:
        yield PlanConcern("more", f"{len(view.problems) - MOST} more come after these")


def _standing(problem: Problem, key: str, mend: Remedy | None, view: PlanView) -> PlanConcern:
    """Return a problem as an obstacle; `mend` is the remedy of the plan's own rules."""
    if isinstance(problem, Refusal):
        source = code_of(view.plan, problem.field, view.base)
        return PlanConcern(
            key,
            problem.received,
            problem.advice,
            problem.field,
            refused=True,
            details=problem.details,
            source=source,
        )
    if isinstance(problem, MisplacedLayers):
        mend = problem.mend
    code = problem.path if isinstance(problem, ConsentProblem) else None
    awaited = isinstance(problem, Unnamed)
    said = "is still to be named" if awaited else f"is {problem.received}"
    return PlanConcern(key, said, problem.advice, problem.field, mend, code, awaited=awaited)


def _without_repeats(found: tuple[Caution, ...]) -> Iterator[Caution]:
    """Of two warnings with the same remedy, keep the graver one."""
    labels: set[str] = set()
    for caution in found:
        label = caution.mend.label if caution.mend else ""
        if not label or label not in labels:
            yield caution
        labels.add(label)


def _concern(caution: Caution) -> PlanConcern:
    return PlanConcern(
        caution.name,
        caution.text,
        caution.why,
        mend=caution.mend,
        others=caution.others,
        waits=caution.waits,
    )
