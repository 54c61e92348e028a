from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.plan import Data, ModelSettings, Plan, validate
from gpu_studio.plan.catalogue import DATA
from gpu_studio.plan.edits.sources import (
    SOURCES,
    choose_source,
    given_sources,
    relative_path,
    set_source,
)

PLAN = Plan(
    model=ModelSettings("mlp", options={"hidden": [8]}),
    data=Data("digits", validation_fraction=0.2),
)


@pytest.mark.parametrize(
    ("part", "source"), [(part, source) for part, all_ in SOURCES.items() for source in all_]
)
def test_that_a_part_has_the_one_source_that_was_chosen(part: str, source: str) -> None:
    for plan in (
        PLAN,
        Plan(),
        Plan(model=ModelSettings("mlp", "a.keras"), data=Data("digits", "a.npz", "b")),
    ):
        assert given_sources(choose_source(plan, part, source), part) == (source,)


def test_that_the_options_go_with_their_source_and_the_fractions_stay() -> None:
    assert set_source(PLAN, "model", "name", "lenet").model == ModelSettings("lenet")
    assert set_source(PLAN, "model", "name", "mlp") == PLAN
    assert choose_source(PLAN, "data", "file").data == Data(file="", validation_fraction=0.2)


@pytest.mark.parametrize("data", DATA)
def test_that_the_built_in_model_chosen_fits_the_data(data: str) -> None:
    plan = choose_source(
        Plan(model=ModelSettings(file="a.keras"), data=Data(data)), "model", "name"
    )
    assert not [problem for problem in validate(plan) if problem.field.startswith("model")]


def test_that_a_file_beside_the_plan_is_called_relatively_and_others_by_their_whole_path(
    tmp_path: Path,
) -> None:
    inside, outside = tmp_path / "plans" / "models" / "a.keras", tmp_path / "a.keras"
    assert relative_path(inside, tmp_path / "plans") == "models/a.keras"
    assert relative_path(outside, tmp_path / "plans") == str(outside)
    assert relative_path(inside, None) == str(inside)
