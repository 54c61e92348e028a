"""Any plan on the page.

Shown in every tab, it stays what it was, and its text reads back as the same plan.
"""

from __future__ import annotations

from itertools import count, cycle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from long_proofs import examples
from plan_strategies import plans
from PySide6.QtWidgets import QApplication

from gpu_studio.plan import Plan, loads
from gpu_studio.ui.window.main_window import MainWindow

PLANS = examples(200)
PAINTED = 8
"""One plan in so many is laid out and painted as well, and what was read is shown again.

The first takes longer than all else together, and what is shown again is equal to what was shown.
"""
RARE = "line\u2028end, paragraph\u2029end, no\u00a0break, \ufdd0"

# The same plans every time, and a plan that fails is told as it is: to shrink it would take
# minutes.
the_same = settings(
    max_examples=PLANS,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
def test_that_page_to_text_to_page_is_the_identity_for_many_plans(open_window, qtbot) -> None:
    window: MainWindow = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    workspace = window.plan_page.workspace
    file = workspace.editor("File")
    names = [workspace.tabs.tabText(index) for index in range(workspace.tabs.count())]
    tabs = cycle(name for name in names if name != "File")
    shown = count()

    @the_same
    @example(Plan(name=RARE))
    @given(plans())
    def show(plan: Plan) -> None:
        window.document.begin(plan, Path("any.plan.toml"))
        workspace.open(next(tabs))
        painted = next(shown) % PAINTED == 0
        if painted:
            QApplication.processEvents()
        assert window.document.plan == plan
        assert not window.document.undo_stack.canUndo()
        workspace.open("File")
        again = loads(file.written)
        assert again == plan
        if painted:
            window.document.begin(again, Path("again.plan.toml"))
            assert window.document.plan == plan
            assert not window.document.undo_stack.canUndo()

    show()
    assert next(shown) >= PLANS
