from __future__ import annotations

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QApplication

from gpu_studio.ui.kit.icons import icon, pixmap
from gpu_studio.ui.kit.theme import DARK, ICONS, LIGHT, Tokens, mix, state_colour

BOTH = pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)


def colours_of(drawn: QPixmap) -> set[str]:
    """The colours that cover what they are on."""
    image = drawn.toImage()
    every = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return {colour.name() for colour in every if colour.alpha() > 250}


@BOTH
def test_that_every_state_has_an_icon_that_is_drawn_in_its_colour(
    qapp: QApplication, tokens: Tokens
) -> None:
    for state, name in ICONS.items():
        wanted = state_colour(state, tokens)
        image = pixmap(name, wanted).toImage()
        solid = {
            image.pixelColor(x, y).name()
            for x in range(20)
            for y in range(20)
            if image.pixelColor(x, y).alpha() > 250
        }
        assert wanted in solid, name


def test_that_an_icon_is_sharp_at_twice_the_scale(qapp: QApplication) -> None:
    assert pixmap("play", DARK.text, 2.0).width() == 40
    drawn = icon("play", DARK).pixmap(QSize(20, 20), 2.0)
    assert (drawn.width(), drawn.devicePixelRatio()) == (40, 2.0)
    assert DARK.text in colours_of(drawn)


@BOTH
def test_that_an_icon_is_faint_where_it_is_disabled(qapp: QApplication, tokens: Tokens) -> None:
    faint = mix(tokens.muted, tokens.surface, 0.6)
    for mode, colour in ((QIcon.Mode.Normal, tokens.text), (QIcon.Mode.Disabled, faint)):
        assert colour in colours_of(icon("play", tokens).pixmap(QSize(20, 20), 1.0, mode))
