"""What a person should know of a model of his own, and of the numbers that a model gets of the data."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.placement.plan_facts import SCALED_AGAIN, PlanFacts
from gpu_studio.plan import Plan
from gpu_studio.plan.mending import Caution, Mend, changing
from gpu_studio.plan.pixels import BRIGHTEST
from gpu_studio.plan.splitting import STRATIFY

FAINT = 16
"""Of 255. Bytes that go no higher are digits of 17 shades, or black and white as 0 and 1, and hardly photographs."""


def own_ways(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """What a model of the user's own does otherwise here than its author may think."""
    for note in facts.model.notes if facts.model else ():
        scales = note.name == SCALED_AGAIN
        if not (scales and _are_as_they_are(plan)):
            yield Caution(note.name, note.text, note.why, _as_they_are(plan, facts) if scales else None)


def faint_bytes(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """Bytes of pictures that are so small that, divided by 255, they say nothing to a model."""
    data = facts.data
    if data is None or not data.pixels or _are_as_they_are(plan):
        return
    highest = round(data.highest * BRIGHTEST)
    if 0 < highest <= FAINT:
        text = f"The bytes of {data.name} go no higher than {highest}, and a model gets them divided by {BRIGHTEST}."
        why = f"It learns little from numbers in 0…{data.highest:.2g}."
        yield Caution("faint bytes", text, why, _as_they_are(plan, facts))


def lacking_classes(plan: Plan, facts: PlanFacts) -> Iterator[Caution]:
    """Splits without samples of classes that others have: the gravest first, and all as one caution."""
    data = facts.data
    if data is None or not data.notes or data.split != plan.data.split:
        return
    told = " ".join(data.notes)
    what, _, means = told.replace(f" {STRATIFY}", "").partition(". ")
    if STRATIFY in told:
        mend = changing("Split by class", "data", split="stratified", groups=None)
        yield Caution("lacking classes", f"{what}.", f"{means} {STRATIFY}", mend)
    else:
        yield Caution("lacking classes", f"{what}.", means)


def _as_they_are(plan: Plan, facts: PlanFacts) -> Mend | None:
    """The mend that gives a model bytes as they are, where the plan has a say about them."""
    if facts.data is None or not facts.data.pixels or not (plan.data.file or plan.data.folder):
        return None
    highest = BRIGHTEST if facts.data.highest * BRIGHTEST > FAINT else round(facts.data.highest * BRIGHTEST)
    return changing(f"Give it 0…{highest}", "data", options={**plan.data.options, "scale": "none"})


def _are_as_they_are(plan: Plan) -> bool:
    """Whether the plan says so: what is known is then of the plan as it was before."""
    return plan.data.options.get("scale") == "none"
