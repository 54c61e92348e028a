"""Small parts of the window: how its pages stand beside the rail, and what stands on them that is the window's."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from gpu_studio.ui.action_set import ActionSet
from gpu_studio.ui.control.disk_changes import DiskChanges
from gpu_studio.ui.menus import more_button
from gpu_studio.ui.models.plan.resuming import Resuming
from gpu_studio.ui.widgets.disk_strip import DiskStrip
from gpu_studio.ui.widgets.notice import Notice
from gpu_studio.ui.widgets.page import Page
from gpu_studio.ui.widgets.resuming_strip import ResumingStrip

SMALLEST = QSize(1024, 680)
USUAL = QSize(1280, 800)
FRAME = QSize(16, 48)
"""What a window manager puts around a window, at most: before the window is shown nobody can tell."""


def usual_size(window: QWidget) -> QSize:
    """How large the window is when it is opened first: with its frame it fits the screen, unless that is very small."""
    return USUAL.boundedTo(window.screen().availableGeometry().size() - FRAME).expandedTo(SMALLEST)


def beside(rail: QWidget, notice: Notice, pages: QWidget) -> QWidget:
    """The rail, and beside it the pages with the notice over their corner."""
    whole = QWidget()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(0)
    row.addWidget(rail)
    row.addWidget(pages, 1)
    notice.float_over(pages)
    return whole


def complete(plan_page: Page, resuming: Resuming, disk: DiskChanges, actions: ActionSet) -> None:
    """Put on the Plan page what is the window's: strips of a resumed run and a changed file, the menu beside Train."""
    plan_page.column.insertWidget(1, DiskStrip(disk))
    plan_page.column.insertWidget(1, ResumingStrip(resuming, actions["cancel_resuming"]))
    plan_page.add_button(more_button(actions))


def room() -> QStackedWidget:
    """An empty place for a page, which may be made later."""
    place = QStackedWidget()
    place.setObjectName("page")
    return place
