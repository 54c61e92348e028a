"""The keys of a plan as the guide tells them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from gpu_studio.common.guide import anchor_of, guide
from gpu_studio.plan import STRATEGIES, Plan
from gpu_studio.plan.catalogue import DATA, MODELS, SCHEDULES
from gpu_studio.plan.keys import all_keys
from gpu_studio.plan.values import Named

ROOT = Path(__file__).resolve().parents[2]


def keys_of(cls: Any, path: str = "") -> Iterator[str]:
    """Every key of a plan by the types of its values alone."""
    for each in fields(cls):
        hint, key = get_type_hints(cls)[each.name], f"{path}{each.name}"
        inner = [one for one in (hint, *parts_of(hint)) if is_dataclass(one) and one is not Named]
        if not inner:
            yield key
        for one in inner:
            yield from keys_of(one, f"{key}.NAME." if "Mapping" in str(hint) else f"{key}.")


def parts_of(hint: Any) -> Iterator[Any]:
    for part in get_args(hint):
        yield part
        yield from parts_of(part)


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """What `make guide` runs."""
    spec = importlib.util.spec_from_file_location("guide_pages", ROOT / "packaging/guide.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_that_every_key_of_a_plan_is_told_and_no_other():
    told = [key.path for key in all_keys()]
    assert sorted(told) == sorted(keys_of(Plan))


def test_that_each_key_says_what_it_is_and_when_to_change_it():
    for key in all_keys():
        home = "cluster_values" if key.path.startswith("cluster.") else "key_words"
        assert key.text, f"{key.path} has no words: give it some in plan/{home}.py"
        assert key.kind, key.path
        assert key.default, key.path
        assert key.when.endswith("."), key.path


def test_that_the_pages_made_from_the_rules_have_every_key_strategy_and_built_in():
    anchors = {section.anchor for section in guide().sections("options")}
    assert {anchor_of(key.path) for key in all_keys()} <= anchors
    anchors = {section.anchor for section in guide().sections("built-ins")}
    for name in (*MODELS, *DATA, *SCHEDULES, *(f"Strategy {each}" for each in STRATEGIES)):
        assert anchor_of(name) in anchors


@pytest.mark.parametrize("name", ["options", "built-ins", "shortcuts"])
def test_that_a_page_that_is_made_from_the_program_is_not_old(pages, name):
    assert guide().pages[name] == pages.PAGES[name](), "old: write it anew with `make guide`"
