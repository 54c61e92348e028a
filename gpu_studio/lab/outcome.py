"""What follows from a study: its one figure, and the plan that its verdict chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gpu_studio.common.figures import metric
from gpu_studio.lab.study import HELD, SEED, Point, Study, called, plan_with
from gpu_studio.lab.templates import PACE_ONLY
from gpu_studio.lab.verdict import PointGroup, StudyVerdict, devices_in_words
from gpu_studio.plan import Plan

_ENOUGH: Final = "1 is enough"


def figure_of(study: Study, groups: Sequence[PointGroup], verdict: StudyVerdict) -> str:
    """The one figure of a study, for lists: `1.9 × on 2`, `512`; empty before there is one."""
    chosen = next((each for each in groups if each.label == verdict.chosen and each.rates), None)
    if chosen is None:
        return ""
    if study.template.startswith("scaling") and chosen.x:
        first = min(
            (each for each in groups if each.rates and each.x), key=lambda each: each.x or 0
        )
        if chosen is first:
            return _ENOUGH if chosen.x == 1 else ""
        return f"{chosen.rate / first.rate:.2g} × on {int(chosen.x)}"
    if study.template == "sweep" and chosen.losses:
        return metric(chosen.loss)
    if study.template == "strategies":
        return f"fastest: {chosen.label}"
    return short_label(study, chosen.label)


def short_label(study: Study, label: str) -> str:
    """The label of a group without the name of the axis, where there is one axis beside seeds."""
    axes = [axis for axis in study.axes if axis.name != SEED]
    name = called(axes[0].name) if len(axes) == 1 else ""
    return label.removeprefix(f"{name} ")


def words_of_plan(study: Study, verdict: StudyVerdict, points: Sequence[Point]) -> str:
    """What the verdict's plan is called: `Plan with two devices`; empty if it chose none."""
    point = _point(verdict, points)
    if point is None:
        return ""
    if study.template.startswith("scaling") and point.x:
        return f"Plan with {devices_in_words(int(point.x))}"
    if study.template == "batch":
        return f"Plan with batch {short_label(study, point.group)}"
    return "Plan of the fastest" if study.template == "strategies" else "Plan of the best"


def chosen_plan(
    study: Study, plan: Plan, verdict: StudyVerdict, points: Sequence[Point]
) -> Plan | None:
    """`plan` as the verdict has it; None if it chose nothing.

    What the study only shortened so that the pace could be measured stays as in `plan`, and so does
    the seed.
    """
    point = _point(verdict, points)
    if point is None:
        return None
    shortened = PACE_ONLY if study.template != "sweep" else ()
    fields: dict[str, Any] = {
        key: value for key, value in study.fields.items() if key not in shortened
    }
    if study.held:
        fields["training.batch_scope"] = HELD[study.held]
    for choice in point.choices:
        fields |= {key: value for key, value in choice.fields.items() if key != SEED}
    return replace(plan_with(plan, fields), name=plan.name)


def _point(verdict: StudyVerdict, points: Sequence[Point]) -> Point | None:
    return next((each for each in points if each.group == verdict.chosen), None)
