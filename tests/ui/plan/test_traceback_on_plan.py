"""The traceback of a function that failed is one click away on the Plan page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from edited_part import KNOWN, Held, Reported, click, in_window
from made_machines import WITHOUT_CARDS
from plan_part import OnMachine
from plan_samples import a_plan
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts
from gpu_studio.plan import ModelSettings
from gpu_studio.ui.kit.dialogs import TraceDialog
from gpu_studio.ui.plan.model_tab import ModelTab
from gpu_studio.ui.plan.outlook_card import OutlookCard

SAID = "own.py stopped in line 12 with RuntimeError: no"
TRACE = 'Traceback (most recent call last):\n  File "own.py", line 12, in build\nRuntimeError: no\n'
REFUSED = PlanFacts(
    KNOWN.data, ModelFacts(model_error=SAID, advice=("Look at line 12.",), details=TRACE)
)
PLAN = replace(a_plan(), model=ModelSettings(python="/nowhere/own.py:build"))


def dialog(parent: QWidget) -> TraceDialog:
    (found,) = parent.window().findChildren(TraceDialog)
    return found


def test_that_it_is_read_copied_and_its_file_opened_from_what_stands_in_the_way(
    qtbot, theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = in_window(qtbot, OutlookCard(theme))
    OnMachine(card, PLAN, WITHOUT_CARDS).show(PLAN, REFUSED)
    (obstacle,) = card.obstacles.views.values()
    click(qtbot, obstacle.more)
    shown = dialog(card)
    assert shown.details.toPlainText() == TRACE.rstrip()
    click(qtbot, shown.copy)
    assert QGuiApplication.clipboard().text() == f"{SAID}.\n\n{TRACE.rstrip()}"
    opened: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: bool(opened.append(url.toLocalFile()))
    )
    click(qtbot, shown.open_file)
    assert opened == ["/nowhere/own.py"]
    assert shown.remark.text() == "Nothing here opens it. It is /nowhere/own.py"
    shown.close()
    QApplication.processEvents()


def test_that_what_a_terminal_would_show_bold_is_plain_text(qtbot, theme) -> None:
    card = in_window(qtbot, OutlookCard(theme))
    bold = replace(KNOWN.model, model_error=SAID, details=f"{TRACE}\x1b[1mNo \x1b[0msuch layer")
    OnMachine(card, PLAN, WITHOUT_CARDS).show(PLAN, PlanFacts(KNOWN.data, bold))
    (obstacle,) = card.obstacles.views.values()
    click(qtbot, obstacle.more)
    shown = dialog(card)
    assert shown.details.toPlainText() == f"{TRACE}No such layer"
    shown.close()
    QApplication.processEvents()


def test_that_the_tab_offers_it_too_and_only_where_there_is_one(qtbot, theme) -> None:
    tab, reader = in_window(qtbot, ModelTab(theme)), Reported()
    Held(tab, PLAN, Path("/nowhere"))
    tab.set_facts(reader)
    reader.tell(REFUSED)
    click(qtbot, tab.bar.more)
    assert dialog(tab).details.toPlainText() == TRACE.rstrip()
    dialog(tab).close()
    reader.tell(PlanFacts(KNOWN.data, ModelFacts(model_error="The shapes do not match")))
    assert tab.bar.more.isHidden()
    reader.tell(KNOWN)
    assert tab.bar.more.isHidden()
