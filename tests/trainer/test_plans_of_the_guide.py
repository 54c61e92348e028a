"""Every plan that the guide shows trains, with the code that it shows beside it, a few steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import warm_members
from training_runs import running
from written_code import Written

from gpu_studio.common.guide import guide
from gpu_studio.contract import events
from gpu_studio.plan import Plan, loads, with_settings

pytestmark = pytest.mark.slow

FENCED = re.compile(r"^```(toml|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\w+\.py)\n")
FEW = ("training.epochs=2", "training.steps_per_epoch=2", "training.validation_steps=1")
"""All else stays as the guide has it."""


def shown(kind: str) -> list[tuple[str, str]]:
    """What the guide shows in one language, each with its page."""
    pages = guide().pages.items()
    return [(page, text) for page, all_ in pages for of, text in FENCED.findall(all_) if of == kind]


PLANS = {
    f"{page}: {loads(text).name}": loads(text)
    for page, text in shown("toml")
    if "version = " in text and "[[axes]]" not in text
}


@pytest.fixture
def folder(written: Written, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder, with the code of the guide that names its file."""
    for _, code in shown("python"):
        if named := NAMED.match(code):
            written(code, named[1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_trains(plan: Plan, folder: Path) -> None:
    two = ("cluster.workers=2",) if plan.cluster is not None else ()
    trainer = warm_members.command() if two else None
    with running(
        with_settings(plan, (*FEW, *two)), folder / "runs", warm=not two, trainer=trainer
    ) as run:
        done = run.finish()
    assert done.code == 0, (done.of(events.Failed), done.log)
    assert len(done.losses) == 4
    assert done.one(events.Finished).reason == "completed"


@pytest.mark.parametrize("name", PLANS)
def test_that_a_plan_of_the_guide_trains(name: str, folder: Path) -> None:
    assert_trains(PLANS[name], folder)
