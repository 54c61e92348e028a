"""Every plan that the guide shows trains, with the code that it shows beside it, a few steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import warm_members
from long_proofs import in_short
from made_images import two_classes
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


WHOLE = [
    (page, loads(text))
    for page, text in shown("toml")
    if "version = " in text and "[[axes]]" not in text
]
SHORT = ("placement: layers on two devices", "data: a table of homes")
PLANS = {f"{page}: {plan.name}": plan for page, plan in WHOLE}


@pytest.fixture
def folder(written: Written, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the code of the guide that names its file, and the data that plans name."""
    for _, code in shown("python"):
        if named := NAMED.match(code):
            written(code, named[1])
    two_classes(tmp_path / "images", each=100)
    homes = (f"{40 + number},{number % 5},{9.5 * number},1" for number in range(200))
    (tmp_path / "homes.csv").write_text("\n".join(["size,rooms,price,trust", *homes]))
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


@pytest.mark.parametrize("name", in_short(PLANS, SHORT, __file__))
def test_that_a_plan_of_the_guide_trains(name: str, folder: Path) -> None:
    assert_trains(PLANS[name], folder)


def test_that_each_plan_of_the_guide_has_a_name_of_its_own_on_its_page() -> None:
    assert len(PLANS) == len(WHOLE)
