from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from gpu_studio.ui.kit.icons import icon, pixmap
from gpu_studio.ui.kit.theme import DARK, ICONS, LIGHT, Tokens, mix, state_colour

BOTH = pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)


def colours_of(drawn: QPixmap | QImage) -> set[str]:
    """The colours that cover what they are on."""
    image = drawn.toImage() if isinstance(drawn, QPixmap) else drawn
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
    for scale, size in ((1.0, 20), (1.25, 16), (2.0, 20), (3.0, 16)):
        drawn = icon("play", DARK).pixmap(QSize(size, size), scale)
        assert (drawn.width(), drawn.devicePixelRatio()) == (size * scale, scale)
        assert DARK.text in colours_of(drawn)


@BOTH
def test_that_an_icon_is_faint_where_it_is_disabled_and_looks_the_same_when_painted(
    qapp: QApplication, tokens: Tokens
) -> None:
    faint = mix(tokens.muted, tokens.surface, 0.6)
    for mode, colour in ((QIcon.Mode.Normal, tokens.text), (QIcon.Mode.Disabled, faint)):
        drawn = icon("play", tokens).pixmap(QSize(20, 20), 1.0, mode)
        painted = QImage(20, 20, QImage.Format.Format_ARGB32_Premultiplied)
        painted.fill(0)
        painter = QPainter(painted)
        icon("play", tokens).paint(painter, painted.rect(), mode=mode)
        painter.end()
        assert colour in colours_of(drawn)
        assert painted == drawn.toImage().convertToFormat(painted.format())


def test_that_an_icon_keeps_its_shape_in_the_middle_of_a_wide_place(qapp: QApplication) -> None:
    wide = QImage(60, 20, QImage.Format.Format_ARGB32_Premultiplied)
    wide.fill(0)
    painter = QPainter(wide)
    icon("play", DARK).paint(painter, wide.rect())
    painter.end()
    drawn = icon("play", DARK).pixmap(QSize(20, 20), 1.0).toImage()
    assert wide.copy(20, 0, 20, 20) == drawn.convertToFormat(wide.format())
    assert colours_of(wide.copy(0, 0, 20, 20)) | colours_of(wide.copy(40, 0, 20, 20)) == set()


def test_that_an_icon_is_drawn_when_it_is_first_looked_at_and_only_once(qapp: QApplication) -> None:
    pixmap.cache_clear()
    icon.cache_clear()
    made = icon("play", DARK)
    assert (made.isNull(), pixmap.cache_info().misses) == (False, 0)
    for _ in range(2):
        made.pixmap(QSize(20, 20), 1.0)
    assert pixmap.cache_info().misses == 1


def test_that_a_changed_copy_of_an_icon_outlives_it(qapp: QApplication) -> None:
    icon.cache_clear()
    copy = QIcon(icon("play", DARK))
    copy.setIsMask(True)
    icon.cache_clear()
    gc.collect()
    assert not copy.pixmap(QSize(24, 24), 1.0).isNull()
