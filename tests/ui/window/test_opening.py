"""What opening a window costs: nothing is done twice for the same plan, machine and facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpu_studio.plan import Data
from gpu_studio.ui.plan import outlook_card, plan_facts, readiness
from gpu_studio.ui.plan.devices_card import DevicesCard
from gpu_studio.ui.plan.plan_view import PlanView

Calls = list[tuple[Any, ...]]


@pytest.fixture
def calls_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Calls]:
    """Follow the calls of a function by its name in a module: what each was given."""

    def followed(module: Any, name: str) -> Calls:
        calls: Calls = []
        function = getattr(module, name)

        def called(*given: Any) -> Any:
            calls.append(given)
            return function(*given)

        monkeypatch.setattr(module, name, called)
        return calls

    return followed


def as_objects(calls: Calls) -> list[tuple[int, ...]]:
    """Which objects each call was given."""
    return [tuple(map(id, given)) for given in calls]


@pytest.fixture
def answered(open_window, qtbot) -> Callable[[], Any]:
    """Open a window with its starter plan, and wait until all is known of the plan."""

    def opened() -> Any:
        window = open_window()
        qtbot.waitUntil(lambda: window.facts.facts is not None and not window.facts.asking)
        assert window.facts.facts.model is not None
        return window

    return opened


def test_that_opening_a_window_validates_its_plan_once_for_all_that_is_known_of_it(
    answered, calls_of
) -> None:
    validated = calls_of(readiness, "validate")
    known = calls_of(readiness, "known_problems")
    answered()
    # Once before anything is known: no facts, no problems of theirs.
    assert len(validated) == 1 + len(known)
    facts = [id(given[1]) for given in known]
    assert 1 <= len(facts) == len(set(facts))


def test_that_opening_a_window_writes_its_plan_out_once_to_ask_about_it(answered, calls_of) -> None:
    written = calls_of(plan_facts, "_followed")
    answered()
    assert len(written) == 1


def test_that_opening_a_window_draws_the_outlook_once_for_all_that_is_known(
    answered, calls_of
) -> None:
    warned = calls_of(outlook_card, "warnings")
    answered()
    drawn = as_objects(warned)
    assert 2 <= len(drawn) == len(set(drawn))


def test_that_a_plan_that_names_a_file_is_written_out_again_as_the_file_may_have_changed(
    answered, calls_of, tmp_path
) -> None:
    window = answered()
    written = calls_of(plan_facts, "_followed")
    data = Data(table=str(tmp_path / "table.csv"))
    window.document.replace(replace(window.document.plan, data=data), "name a table")
    window.facts.known_of(window.document.absolute)
    before = len(written)
    window.facts.known_of(window.document.absolute)
    assert len(written) == before + 1


def test_that_cards_are_filled_before_they_are_seen(answered, monkeypatch) -> None:
    seen: list[bool] = []
    show_view = DevicesCard.show_view

    def shown(card: DevicesCard, view: PlanView) -> None:
        seen.append(card.isVisible())
        show_view(card, view)

    monkeypatch.setattr(DevicesCard, "show_view", shown)
    window = answered()
    assert seen[0] is False
    assert window.plan_page.devices.isVisible()
