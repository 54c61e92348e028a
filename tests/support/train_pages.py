"""The Train page by itself, in its usual size."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train.train_page import TrainPage


def opened(qtbot: QtBot, theme: ThemeManager, settings: Settings | None = None) -> TrainPage:
    """A page that is seen; at the end of the test it lets go of its run."""
    page = TrainPage(theme, settings)
    qtbot.addWidget(page, before_close_func=TrainPage.close_run)
    page.resize(1196, 746)
    with qtbot.waitExposed(page):
        page.show()
    return page
