"""Small parts of the window: how its pages stand beside the rail, and which drops it takes."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.ui.action_set import ActionSet
from gpu_studio.ui.control.plan_files import SUFFIX
from gpu_studio.ui.menus import more_button
from gpu_studio.ui.models.plan.resuming import Resuming
from gpu_studio.ui.widgets.page import Page
from gpu_studio.ui.widgets.resuming_strip import ResumingStrip


def beside(rail: QWidget, notice: QWidget, pages: QWidget) -> QWidget:
    """The rail, and beside it the notice over the pages."""
    whole, right = QWidget(), QVBoxLayout()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(0)
    right.addWidget(notice)
    right.addWidget(pages, 1)
    right.setSpacing(0)
    row.addWidget(rail)
    row.addLayout(right, 1)
    return whole


def complete(plan_page: Page, resuming: Resuming, actions: ActionSet) -> None:
    """Put on the Plan page what is the window's: the strip of a run that is resumed, and the menu beside Train."""
    plan_page.column.insertWidget(1, ResumingStrip(resuming, actions["cancel_resuming"]))
    plan_page.add_button(more_button(actions))


def room() -> QStackedWidget:
    """An empty place for a page, which may be made later."""
    place = QStackedWidget()
    place.setObjectName("page")
    return place


def dropped_plan(event: QDropEvent) -> Path | None:
    """The one plan file that is dragged, if that is what is dragged."""
    urls = event.mimeData().urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if path.name.endswith((SUFFIX, ".toml")) else None
