"""The drawing of the topology on the screen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from made_topologies import bridged_pairs, cube_mesh, joined, switched, without_peers
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QImage
from PySide6.QtWidgets import QApplication, QToolTip

from gpu_studio.hardware.topology import Joint, Topology
from gpu_studio.ui.devices.topology_pane import STYLES, TopologyDrawing
from gpu_studio.ui.devices.topology_picture import TopologyLayout, picture_of, sentences
from gpu_studio.ui.kit.theme import font

SIXTEEN = joined(
    16,
    lambda a, b: Joint(a, b, "PIX" if a // 2 == b // 2 else "SYS", 12, 3, peer=True),
    lambda a: a // 8,
)
ALL = {
    "1": joined(1, Joint),
    "2": without_peers(),
    "4": bridged_pairs(),
    "8": cube_mesh(),
    "16": SIXTEEN,
}


@pytest.fixture
def drawing(qtbot, theme) -> TopologyDrawing:
    made = TopologyDrawing(theme)
    qtbot.addWidget(made)
    made.resize(320, 240)
    made.show()
    return made


def shown(drawing: TopologyDrawing, topology: Topology) -> QImage:
    drawing.show_topology(topology)
    drawing.resize(drawing.width(), drawing.sizeHint().height())
    return drawing.grab().toImage()


@pytest.mark.parametrize("cards", ALL)
def test_that_every_card_and_word_has_its_room_at_the_smallest_width(drawing, cards) -> None:
    topology = ALL[cards]
    image = shown(drawing, topology)
    layout = TopologyLayout(picture_of(topology), drawing.width())
    number = QFontMetricsF(font("strong")).horizontalAdvance("15")
    boxes = [layout.node(column) for column in range(int(cards))]
    assert all(box.width() + 6 >= number for box in boxes)
    assert all(one.right() < other.left() for one, other in pairwise(boxes))
    assert boxes[-1].right() <= image.width()
    assert layout.height == image.height()


def test_that_a_card_has_the_colour_of_its_place_in_the_window(drawing, theme) -> None:
    drawing.show_topology(without_peers(), (3, 1))
    drawing.resize(320, drawing.sizeHint().height())
    image, layout = drawing.grab().toImage(), TopologyLayout(picture_of(without_peers()), 320)
    for column, place in ((0, 3), (1, 1)):
        box = layout.node(column)
        edge = [
            image.pixelColor(int(box.center().x()), round(box.top()) + step).name()
            for step in (-1, 0, 1)
        ]
        assert theme.tokens.device_colour(place) in edge


def test_that_it_is_painted_once_until_topology_theme_or_size_change(drawing, theme) -> None:
    shown(drawing, switched())
    renders = drawing.renders
    for _ in range(5):
        drawing.grab()
        drawing.show_topology(switched())
    assert drawing.renders == renders
    theme.set_mode("dark")
    drawing.grab()
    assert drawing.renders == renders + 1
    drawing.show_topology(cube_mesh())
    drawing.grab()
    assert drawing.renders == renders + 2


def test_that_the_ways_are_told_apart_without_colour() -> None:
    assert len(set(STYLES.values())) == len(STYLES)


def test_that_every_link_can_be_read_aloud_and_reached_by_keyboard(drawing) -> None:
    drawing.show_topology(cube_mesh())
    assert drawing.accessibleName() == "How 8 cards are joined"
    assert drawing.accessibleDescription() == " ".join(sentences(cube_mesh()))
    assert drawing.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_that_a_card_under_the_pointer_tells_its_links(drawing) -> None:
    shown(drawing, bridged_pairs())
    middle = QPoint(round(TopologyLayout(picture_of(bridged_pairs()), drawing.width()).x(1)), 5)
    QApplication.sendEvent(
        drawing, QHelpEvent(QEvent.Type.ToolTip, middle, drawing.mapToGlobal(middle))
    )
    assert QToolTip.text().count("GPU1") == 3
    QToolTip.hideText()


def test_that_without_cards_it_takes_no_room(drawing) -> None:
    drawing.show_topology(Topology())
    assert drawing.sizeHint().height() == 0
