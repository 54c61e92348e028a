"""The remedy of a failure: from the button to the run's plan with the change made, and undo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_machines import TWO_CARDS
from made_runs import Script, make_run, tell
from PySide6.QtCore import Qt
from real_runs import fake_trainer

from gpu_studio.contract import events
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.plan import Plan, load, save, starter
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.train.outcome import MOST_MENDS, Outcome
from gpu_studio.ui.train.outcome_banner import OutcomeBanner

PLAN: Plan = replace(set_training(starter(TWO_CARDS), batch_size=64), name="too large")
HALF = SuggestedChange(text="Halve the batch: 32", field="training.batch_size", value=32)
MIXED = SuggestedChange(text="Mixed precision", field="training.mixed_precision", value=True)


def failed_run(runs: Path, *mends: SuggestedChange) -> RunDirectory:
    """A run that told of a failure with these ways out."""
    run = make_run(runs, Script(name=PLAN.name, epochs=1, trained=0.1))
    save(PLAN, run.plan_file)
    message = "Out of memory on GPU:1, in the layer dense: there was no room for another 256 MiB."
    suggestions = ["Make training.batch_size smaller.", "Give the device more."]
    tell(
        run,
        events.Failed(
            message=message,
            suggestions=suggestions,
            device="GPU:1",
            layer="dense",
            mends=list(mends),
        ),
    )
    return run


@pytest.fixture
def window(open_window, runs: Path, qtbot):
    """The window with the failed run shown."""
    shown = open_window(trainer=fake_trainer())
    shown.show_run(failed_run(runs, HALF, MIXED))
    qtbot.waitUntil(lambda: len(shown.train_page.outcome.mends.buttons) == 2)
    return shown


def test_that_a_mend_opens_the_run_s_plan_with_the_change_as_one_step_to_undo(
    window, qtbot
) -> None:
    before = window.document.plan
    half, _ = window.train_page.outcome.mends.buttons
    assert half.isVisible()
    assert window.train_page.outcome.suggestions.text() == "•  Give the device more."
    qtbot.mouseClick(half, Qt.MouseButton.LeftButton)
    assert window.page == "plan"
    assert window.document.path is None
    assert window.document.plan == set_training(PLAN, batch_size=32)
    assert "halve the batch: 32" in window.actions_["undo"].text()
    window.actions_["undo"].trigger()
    assert window.document.plan == PLAN
    window.actions_["undo"].trigger()
    assert window.document.plan == before


def test_that_mending_the_plan_that_is_open_asks_nothing_though_it_is_in_no_file(
    window, qtbot, tmp_path
) -> None:
    file = tmp_path / "large.plan.toml"
    save(replace(PLAN, name="before"), file)
    window.plan_files.change_to(file)
    window.document.replace(PLAN, "rename")
    assert window.document.dirty
    window.show_page("train")
    qtbot.mouseClick(window.train_page.outcome.mends.buttons[0], Qt.MouseButton.LeftButton)
    assert window.findChildren(Question) == []
    assert window.page == "plan"
    assert window.document.plan == set_training(PLAN, batch_size=32)
    assert window.document.path == file
    assert load(file).name == "before"
    window.actions_["undo"].trigger()
    assert window.document.plan == PLAN


def test_that_a_mend_is_reached_and_pressed_by_keys_alone(window, qtbot) -> None:
    page = window.train_page
    mixed = page.outcome.mends.buttons[1]
    mixed.setFocus(Qt.FocusReason.TabFocusReason)
    assert mixed.hasFocus()
    assert mixed.accessibleName() == "Mixed precision: open the run's plan with this change made"
    qtbot.keyClick(mixed, Qt.Key.Key_Space)
    assert window.document.plan == set_training(PLAN, mixed_precision=True)


def test_that_another_outcome_takes_the_mends_away(qtbot) -> None:
    banner = OutcomeBanner()
    qtbot.addWidget(banner)
    banner.show_outcome(Outcome("failed", mends=(HALF, MIXED)))
    assert [button.text() for button in banner.mends.buttons] == [HALF.text, MIXED.text]
    with qtbot.waitSignal(banner.change_pressed) as pressed:
        banner.mends.buttons[0].click()
    assert pressed.args == [HALF]
    banner.show_outcome(Outcome("stopped", tone="plain"))
    assert banner.mends.buttons == []
    assert banner.mends.isHidden()


def test_that_a_change_that_no_plan_of_this_version_can_hold_is_not_offered(
    open_window, runs, qtbot
) -> None:
    shown = open_window(trainer=fake_trainer())
    unknown = SuggestedChange(text="Use holograms", field="training.holograms", value=True)
    shown.show_run(failed_run(runs, unknown, MIXED))
    qtbot.waitUntil(lambda: bool(shown.train_page.outcome.mends.buttons))
    assert [button.text() for button in shown.train_page.outcome.mends.buttons] == [MIXED.text]


def test_that_no_more_mends_are_shown_than_a_person_can_choose_from(
    open_window, runs, qtbot
) -> None:
    shown = open_window(trainer=fake_trainer())
    shown.show_run(
        failed_run(
            runs,
            *(
                SuggestedChange(text=str(n), field="training.batch_size", value=n)
                for n in range(8, 16)
            ),
        )
    )
    qtbot.waitUntil(lambda: bool(shown.train_page.outcome.mends.buttons))
    assert len(shown.train_page.outcome.mends.buttons) == MOST_MENDS
