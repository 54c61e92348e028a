"""What the workers' machines lack stands under "What will happen", and is looked at again."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from edited_part import FOUR_CORES, click, in_window
from training_runs import small_plan

from gpu_studio.plan import Plan, Problem
from gpu_studio.ui.plan.cluster_examination import ClusterExamination
from gpu_studio.ui.plan.outlook_card import OutlookCard
from gpu_studio.ui.plan.plan_view import PlanView

WORKERS = "distribution.strategy=multi_worker"


@pytest.fixture
def card(qtbot, theme, tmp_path: Path) -> OutlookCard:
    card = OutlookCard(theme)
    examination = ClusterExamination(tmp_path, card)
    card.set_examination(examination)
    return in_window(qtbot, card)


def show(card: OutlookCard, plan: Plan, *problems: Problem) -> ClusterExamination:
    view = PlanView(plan, FOUR_CORES, problems)
    examination = card.findChild(ClusterExamination)
    assert examination is not None
    examination.follow(None if problems else view.absolute)
    card.show_view(view)
    return examination


def told(card: OutlookCard) -> dict[str, str]:
    views = {**card.obstacles.views, **card.warnings.views}
    return {key: view.concern.text for key, view in views.items() if key.startswith("cluster")}


def test_that_what_must_be_mended_stands_in_the_way_until_it_is(qtbot, card) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        plan = small_plan(WORKERS, "cluster.trusted_network=true", f"cluster.port={port}")
        show(card, plan)
        qtbot.waitUntil(lambda: any("cannot listen" in text for text in told(card).values()))
        assert card.heading.text() == "One thing stands in the way."
        (obstacle,) = card.obstacles.views.values()
        assert "cluster.port = 0" in obstacle.concern.why
        assert obstacle.button.text() == "Try again"
    click(qtbot, obstacle.button)
    qtbot.waitUntil(lambda: not card.obstacles.views)
    assert not card.heading.isVisible()


def test_that_who_can_reach_the_workers_is_a_warning_or_that_all_is_well(
    qtbot, card, monkeypatch
) -> None:
    monkeypatch.setattr("gpu_studio.hosts.agent.default_address", lambda: "10.0.0.7")
    monkeypatch.setattr("gpu_studio.hosts.agent.free_memory", lambda: 1 << 36)
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.1, 0.1))
    monkeypatch.setattr("gpu_studio.hosts.agent.free_on_disk", lambda folder: 1 << 40)
    for name in ("http_proxy", "https_proxy", "ftp_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    show(card, small_plan(WORKERS))
    qtbot.waitUntil(lambda: any("10.0.0.7" in text for text in told(card).values()))
    assert len(told(card)) == 1
    examination = show(card, small_plan(WORKERS, "cluster.trusted_network=true"))
    qtbot.waitUntil(lambda: examination.is_well)
    assert told(card) == {}


def test_that_a_plan_of_one_process_or_with_problems_is_not_examined(qtbot, card) -> None:
    examination = show(card, small_plan(WORKERS))
    qtbot.waitUntil(lambda: bool(examination.findings))
    show(card, small_plan())
    assert examination.findings == ()
    show(card, small_plan(WORKERS), Problem("training.epochs", "0", "give 1 or more"))
    assert examination.findings == ()
    assert told(card) == {}
