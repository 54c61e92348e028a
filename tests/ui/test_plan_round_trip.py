"""Any plan on the page: shown in every tab, it stays what it was, and its text reads back as the same plan."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from plan_strategies import plans
from PySide6.QtWidgets import QApplication

from gpu_studio.plan import Plan, loads
from gpu_studio.ui.main_window import MainWindow

PLANS = 1000


@pytest.mark.slow
def test_that_page_to_text_to_page_is_the_identity_for_a_thousand_plans(open_window, qtbot) -> None:
    window: MainWindow = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    workspace = window.plan_page.workspace
    file = workspace.editor("File")
    names = [workspace.tabs.tabText(index) for index in range(workspace.tabs.count())]
    tabs = cycle(name for name in names if name != "File")
    seen: list[Plan] = []

    @settings(max_examples=PLANS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(plans())
    def shown(plan: Plan) -> None:
        window.document.begin(plan, Path("any.plan.toml"))
        workspace.open(next(tabs))
        QApplication.processEvents()
        assert window.document.plan == plan
        workspace.open("File")
        again = loads(file.text.toPlainText())
        assert again == plan
        window.document.begin(again, Path("again.plan.toml"))
        assert window.document.plan == plan
        assert not window.document.undo_stack.canUndo()
        seen.append(plan)

    shown()
    assert len(seen) >= PLANS
