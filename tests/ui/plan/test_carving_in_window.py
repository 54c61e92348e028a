"""Carving a card in the real window, by the mouse and by keys."""

from __future__ import annotations

import pytest
from made_machines import MIB_OF_80_GIB, ONE_LARGE_CARD
from plan_bench import drag
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gpu_studio.plan import loads
from gpu_studio.plan.carving import slices_of
from gpu_studio.ui.window.main_window import MainWindow

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(open_window, qtbot) -> MainWindow:
    made: MainWindow = open_window(machine=ONE_LARGE_CARD)
    qtbot.waitUntil(lambda: made.document.plan is not None)
    return made


def slices(window: MainWindow) -> tuple[int, ...]:
    assert window.document.plan is not None
    return tuple(slices_of(window.document.plan, "GPU:0", ONE_LARGE_CARD))


def test_that_a_card_is_carved_into_four_a_divider_moved_and_all_undone_and_redone(
    window: MainWindow, qtbot
) -> None:
    page = window.plan_page
    view = page.devices.list.views["GPU:0"]
    view.choice.setFocus()
    qtbot.keyClick(view.choice, Qt.Key.Key_Home)
    assert window.document.plan.devices.carve == ()
    seen = [slices(window)]
    qtbot.keyClicks(view.choice, "4")
    seen.append(slices(window))
    assert len(seen[-1]) == 4
    assert len(set(seen[-1])) == 1
    assert 0.9 * MIB_OF_80_GIB < sum(seen[-1]) < MIB_OF_80_GIB
    assert set(page.outlook.rows) == {"GPU:0", "GPU:1", "GPU:2", "GPU:3", "CPU:0"}
    first, second, *others = seen[-1]
    drag(view.bar, 0, view.bar.track.ends[0] - 4096)
    seen.append(slices(window))
    moved = first - seen[-1][0]
    assert 3584 <= moved <= 4608  # the pointer snaps
    assert seen[-1] == (first - moved, second + moved, *others)
    for before in reversed(seen[:-1]):
        QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
        assert slices(window) == before
    for after in seen[1:]:
        QTest.keyClick(window, Qt.Key.Key_Z, CTRL | SHIFT)
        assert slices(window) == after
    assert loads(page.workspace.open("File").written).devices.carve[0].slices_mib == seen[-1]


def test_that_a_carve_over_the_cards_memory_is_told_where_it_is_and_mended(
    window: MainWindow, qtbot
) -> None:
    page = window.plan_page
    page.devices.list.views["GPU:0"].choice.textActivated.emit("2 slices")
    text = page.workspace.open("File")
    size = str(slices(window)[0])
    text.text.setPlainText(text.written.replace(size, "60000"))
    card = page.workspace.open("Devices").card
    assert card.problem.isVisible()
    assert not window.actions_["train"].isEnabled()
    (concern,) = page.outlook.obstacles.views.values()
    qtbot.mouseClick(concern.button, Qt.MouseButton.LeftButton)
    assert not card.problem.isVisible()
    assert window.actions_["train"].isEnabled()
