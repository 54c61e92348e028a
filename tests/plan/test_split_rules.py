"""How samples are kept aside, as a plan says it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_samples import a_plan

from gpu_studio.plan import Data, Machine, PlanError, dumps, loads, validate
from gpu_studio.plan.data import SPLITS, may_validate
from gpu_studio.plan.remedies import mend_of

OWN = Data(file="own.npz")
WRONG = {
    "groups of a folder": (
        Data(folder="images", split="grouped"),
        "data.split",
        "says of which group",
    ),
    "groups of a built-in": (
        Data("digits", split="grouped"),
        "data.split",
        "choose random or stratified",
    ),
    "images in order": (
        Data(folder="images", split="ordered"),
        "data.split",
        "whole classes would be kept aside",
    ),
    "classes of numbers": (
        Data("regression", split="stratified"),
        "data.split",
        "choose random or ordered",
    ),
    "groups without use": (
        replace(OWN, groups="patient"),
        "data.groups",
        'only where data.split is "grouped"',
    ),
    "no name": (
        replace(OWN, split="grouped", groups=""),
        "data.groups",
        "give the name of the array",
    ),
}


def a_plan_with(data: Data):
    model = (
        replace(a_plan().model, name="linear", options={})
        if data.name == "regression"
        else a_plan().model
    )
    return replace(a_plan(), data=data, model=model)


@pytest.mark.parametrize("case", WRONG)
def test_that_a_split_that_cannot_be_made_is_told_with_what_to_do(case: str) -> None:
    data, field, words = WRONG[case]
    plan = a_plan_with(data)
    (problem,) = [each for each in validate(plan) if each.field.startswith("data")]
    assert problem.field == field
    assert words in problem.advice
    mend = mend_of(problem, plan, Machine())
    if case != "no name":
        assert mend is not None
        assert not [each for each in validate(mend.make(plan)) if each.field.startswith("data")]


@pytest.mark.parametrize("split", SPLITS)
def test_that_every_split_is_read_as_it_is_written(split: str) -> None:
    plan = a_plan_with(replace(OWN, split=split, groups="patient" if split == "grouped" else None))
    assert validate(plan) == []
    assert loads(dumps(plan)).data == plan.data


def test_that_a_split_that_there_is_none_of_is_refused_with_the_nearest() -> None:
    with pytest.raises(PlanError, match="did you mean stratified"):
        loads(dumps(a_plan()).replace('split = "random"', 'split = "stratifed"'))


def test_that_only_data_of_ones_own_may_bring_validation_samples() -> None:
    for data, validated in ((Data("digits"), False), (OWN, True), (Data(folder="images"), True)):
        assert may_validate(a_plan_with(replace(data, validation_fraction=0.0))) is validated
        assert may_validate(a_plan_with(data))
